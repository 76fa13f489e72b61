"""A small month with everything that is hard to show, and the command line as a test calls it."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from pipelines import cli, ledger, reading
from pipelines.reading import Month
from tests import ledger_cases as cases
from tests.lakes import record

DARK = "arn:aws:eks:eu-central-1:111111111111:cluster/dark"
DIRECT = {"resource_kind": "other", "split_source": None}


@dataclass(frozen=True)
class Said:
    """What a command said, and how it ended."""

    code: int
    out: str
    err: str


def said(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Said:
    """Run one command in this process."""
    code = cli.call([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return Said(code, captured.out, captured.err)


def month_of(
    rows: Sequence[cases.Row], *rules: cases.Row, findings: Sequence[cases.Row] = ()
) -> Month:
    """Return the month of these normalised rows, as a command would read it."""
    con = cases.ledger(rows, *rules, findings=findings)
    ledger.build(con)
    return month_in(con)


def month_in(con: duckdb.DuckDBPyConnection) -> Month:
    """Return the month of a ledger that is built."""
    errors = con.sql("FROM findings SELECT count_if(severity = 'error')").fetchall()[0][0]
    configuration = {
        "report": {"cost_view": "effective", "charge_basis": "provider"},
        "operator": [{"team": "platform", "cluster": ["*"]}],
    }
    told = {"status": "findings" if errors else "ok", "configuration": configuration}
    return reading.month(con, record("20261106T060000000000Z-abcdef").model_copy(update=told))


def small_month() -> Month:
    """Two clusters: one in cents with all seven kinds, one in yen that nobody split."""
    return month_of(
        [
            cases.workload("payments", "3.005", provider_idle_cost=Decimal(2)),
            cases.workload("search", "1"),
            cases.workload(None, "0.5", resource_kind="memory"),
            cases.idle("2"),
            cases.charge("0.25", row_kind="idle", reason="empty_node", cause="empty_node"),
            cases.charge("0.1", row_kind="headroom", reason="placeholder_pods"),
            cases.charge("0.2", row_kind="system_overhead", reason="system_namespace"),
            cases.charge("73", row_kind="cluster_fee", reason="control_plane", **DIRECT),
            cases.charge("-0.3", row_kind="shared", reason="network", **DIRECT),
            cases.charge("0.4", row_kind="unattributed", reason="unknown_owner", **DIRECT),
            cases.charge(
                "1234567",
                row_kind="unattributed",
                reason="no_split_source",
                cluster_id=DARK,
                cluster_name=None,
                billing_currency="JPY",
                **DIRECT | {"resource_kind": "compute"},
            ),
            cases.outside("15.5", "tax"),
            cases.outside("-0.25", "discount"),
        ],
        cases.rule("idle-2026", "proportional", "idle", "headroom"),
    )
