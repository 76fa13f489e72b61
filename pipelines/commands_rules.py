"""The commands `rules` and `variance`: find the months, then tell."""

from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from pipelines import common, machine_rules, show_rules, show_variance, two_months
from pipelines import config as configuration
from pipelines.calendar_of_rules import entries


def rules(config: Path | None, lake: Path | None, *, as_json: bool) -> None:
    """Tell which rules apply when: those of the file, or without one those of the newest run."""
    file = config or Path(configuration.FILE)
    if config is not None or file.exists():
        read, origin = configuration.load(file), str(file)
    else:
        record = common.open_lake(config, lake).newest()
        read = configuration.from_document(record.configuration)
        origin = f"the newest run, of {record.billing_period}"
    found, today = entries(read), datetime.now(UTC).date()
    year, at = read.report.fiscal_year_start, common.at(config, lake)
    common.answer(
        partial(machine_rules.rules, found),
        lambda: show_rules.calendar(found, origin, today, year, at),
        as_json=as_json,
    )


def variance(
    older: str, newer: str, config: Path | None, lake: Path | None, *, as_json: bool
) -> None:
    """Tell why each team's figure moved from one month to a later one."""
    months = common.this_month(older), common.this_month(newer)
    compared = two_months.compared(common.open_lake(config, lake), *months)
    common.answer(
        partial(machine_rules.variance, compared),
        partial(show_variance.page, compared),
        as_json=as_json,
    )
