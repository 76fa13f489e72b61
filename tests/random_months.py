"""A drawn account and what was decided about it, written down as files that a month can read."""

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from fixtures.aws.rows import Row
from fixtures.aws.writers import Export, cur2_parquet, write_json
from tests.random_clusters import Account, Dice, account
from tests.random_rules import Decisions, decisions

MONTH = "2026-10"
HAIR = 0.001
"""In quanta."""


@dataclass(frozen=True)
class Case:
    """One account and what was decided about it."""

    account: Account
    decisions: Decisions

    def write(self, folder: Path) -> Path:
        """Write exports, inventories, metric files and `leerlauf.toml`; return that file."""
        charges, splits = (
            [_settled(row) for row in rows]
            for rows in (self.account.bill.charges, self.account.bill.splits)
        )
        half = len(splits) // 2
        export = Export(folder / "exports", "billing", "random", "0d9f3c6e-random")
        cur2_parquet(export, [charges, splits[:half], splits[half:]])
        for name, found in self.decisions.inventories.items():
            if name.endswith(".json"):
                write_json(folder / name, found)
            else:
                columns = ("date", "__name__", "node", "provider_id", "resource", "value")
                _write_table(folder / name, columns, found)
        for name, lines in self.decisions.metrics.items():
            _write_table(folder / name, ("date", "cluster", "team", "metric", "value"), lines)
        file = folder / "leerlauf.toml"
        file.write_text(toml(self.decisions.document), encoding="utf-8")
        return file


def case(dice: Dice) -> Case:
    """Draw a case."""
    drawn = account(dice)
    return Case(drawn, decisions(dice, drawn))


def _settled(row: Row) -> Row:
    """Round amounts that lie within a hair of half a quantum: engines may round them either way."""
    return {
        name: round(value, 12)
        if isinstance(value, float) and abs(abs(value) * 1e12 % 1 - 0.5) < HAIR
        else value
        for name, value in row.items()
    }


def _write_table(file: Path, columns: tuple[str, ...], lines: list[dict[str, str]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8", newline="") as text:
        writer = csv.DictWriter(text, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def toml(document: Mapping[str, Any]) -> str:
    """Return a document of tables and lists of tables as TOML."""
    parts = []
    for name, value in document.items():
        tables = value if isinstance(value, list) else [value]
        head = f"[[{name}]]" if isinstance(value, list) else f"[{name}]"
        for table in tables:
            lines = [f"{key} = {_value(entry)}" for key, entry in table.items()]
            parts.append("\n".join([head, *lines]))
    return "\n\n".join(parts) + "\n"


def _value(entry: Any) -> str:
    if isinstance(entry, date):
        return entry.isoformat()
    if isinstance(entry, dict):
        return "{ " + ", ".join(f"{key} = {_value(one)}" for key, one in entry.items()) + " }"
    if isinstance(entry, list):
        return "[" + ", ".join(map(_value, entry)) + "]"
    return json.dumps(entry)
