"""A drawn account and what was decided about it, written down as files that a month can read."""

import csv
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from fixtures.aws.doubles import added
from fixtures.aws.rows import DAY, Row, Span
from fixtures.aws.writers import Export, cur2_parquet, write_json
from tests.random_clusters import Account, Dice, account
from tests.random_rules import Decisions, decisions

MONTH = "2026-10"
HAIR = 0.001
"""In quanta."""
SAME_OF_A_DAY = (
    "line_item_resource_id",
    "line_item_line_item_type",
    "line_item_usage_type",
    "split_line_item_parent_resource_id",
)
"""What rows of one row of a daily export share."""


@dataclass(frozen=True)
class Case:
    """One account and what was decided about it."""

    account: Account
    decisions: Decisions

    def write(self, folder: Path) -> Path:
        """Write exports, inventories, metric files and `leerlauf.toml`; return that file."""
        charges, splits = (
            [_settled(row) for row in (by_day(rows) if self.account.is_daily else rows)]
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


def by_day(rows: Sequence[Row]) -> list[Row]:
    """Return hourly rows as a daily export has them: added up, and without a ratio."""
    found: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        day = row["line_item_usage_start_date"].date()
        found[day, *(row.get(name) for name in SAME_OF_A_DAY)].append(row)
    return [_added(of_day) for of_day in found.values()]


def _added(rows: Sequence[Row]) -> Row:
    """Add up what is a number; what one hour does not tell, the day does not."""
    start = rows[0]["line_item_usage_start_date"].replace(hour=0)
    span = Span(start, start + DAY)
    numbers = {name for row in rows for name, value in row.items() if isinstance(value, float)}
    sums = {
        name: None
        if any(row.get(name) is None for row in rows)
        else added(float(row[name]) for row in rows)
        for name in numbers
    }
    return {
        **rows[0],
        **sums,
        "line_item_usage_start_date": span.start,
        "line_item_usage_end_date": span.end,
        "identity_time_interval": span.text,
        "split_line_item_split_usage_ratio": None,
    }


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
