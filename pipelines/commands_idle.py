"""The command `idle`: find the month, then tell why capacity stood idle."""

from pathlib import Path

from pipelines import common, queries, reading, show_idle
from pipelines.levers import lever
from pipelines.objects_idle import Idle
from pipelines.reading import Row


def idle(period: str, config: Path | None, lake: Path | None, *, as_json: bool) -> None:
    """Tell how much stood idle, why, where, when, and which lever belongs to each cause."""
    opened = common.open_lake(config, lake)
    record = opened.newest(common.this_month(period))
    con = opened.connect(record)
    common.answer(
        lambda: answer(record.billing_period, reading.rows(con, queries.read("read/idle"))),
        lambda: show_idle.page(
            reading.month(con, record),
            reading.rows(con, queries.read("read/idle_parts")),
            common.at(config, lake),
        ),
        as_json=as_json,
    )


def answer(period: str, rows: list[Row]) -> Idle:
    """Return the idle of a month, each row with its lever."""
    levers = ({"lever": lever(row["cause"], row["resource_kind"])} for row in rows)
    return Idle.model_validate(
        {
            "billing_period": period,
            "rows": [row | more for row, more in zip(rows, levers, strict=True)],
        }
    )
