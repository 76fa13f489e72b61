"""What `leerlauf check` says of metric files: whether they can be read and hold the month."""

from pathlib import Path

import polars as pl

from pipelines import figures, metrics
from pipelines.checked import Checked
from pipelines.config import Config
from pipelines.decisions import AllocationRule
from pipelines.doctor_sources import of_problem
from pipelines.errors import ConfigurationError
from pipelines.periods import first_day, next_month
from transforms.errors import InputError

CHECK, EXPECTED = "metrics", "values of the month by day, cluster and team"


def examine_metrics(config: Config, month: str) -> list[Checked]:
    """Return the answers about the metric files of allocation rules; none without any."""
    if all(rule.metric_file is None for rule in config.allocation_rules):
        return []
    try:
        read = metrics.of_rules(config)
    except (ConfigurationError, InputError) as error:
        return [of_problem(CHECK, error)]
    day = pl.col("charge_date")
    values = read.values.filter(day >= first_day(month), day < next_month(month))
    held = f"{figures.count(len(read.files), 'file')}, {figures.count(len(values), 'value')}"
    filled = set(values.get_column("position"))
    lacking = [
        _lacking(rule, rule.metric_file, month)
        for position, rule in enumerate(config.allocation_rules)
        if rule.metric_file is not None and position not in filled
    ]
    return [Checked(CHECK, "ok", f"{held} of {month}", EXPECTED), *lacking]


def _lacking(rule: AllocationRule, file: Path, month: str) -> Checked:
    return Checked(
        check=CHECK,
        status="warning",
        actual=f"allocation rule {rule.id}: no value of {month}",
        expected=EXPECTED,
        hint=f"add it to {file.name}; the rule falls back to {rule.falls_back_to}",
    )
