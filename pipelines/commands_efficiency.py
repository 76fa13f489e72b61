"""The command `efficiency`: find the month, then tell what was requested and what was used."""

from pathlib import Path

from pipelines import common, queries, reading, show_efficiency
from pipelines.objects_efficiency import Efficiency


def efficiency(period: str, config: Path | None, lake: Path | None, *, as_json: bool) -> None:
    """Tell what each team and workload requested, used and left unused, and what that cost."""
    opened = common.open_lake(config, lake)
    record = opened.newest(common.this_month(period))
    con = opened.connect(record)
    rows = reading.rows(con, queries.read("read/efficiency"))
    common.answer(
        lambda: Efficiency.model_validate({"billing_period": record.billing_period, "rows": rows}),
        lambda: show_efficiency.page(reading.month(con, record), rows),
        as_json=as_json,
    )
