"""What `leerlauf check` says of metric files: whether they can be read and hold the month."""

import polars as pl

from pipelines import figures, metrics
from pipelines.checked import Checked
from pipelines.config import Config
from pipelines.doctor_sources import of_problem
from pipelines.errors import ConfigurationError
from pipelines.periods import first_day, next_month
from transforms.errors import InputError

CHECK = "metrics"


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
    filled = set(values.get_column("position"))
    held = f"{figures.count(len(read.files), 'file')}, {figures.count(len(values), 'value')}"
    expected = "values of the month by day, cluster and team"
    return [
        Checked(CHECK, "ok", f"{held} of {month}", expected),
        *(
            Checked(
                CHECK,
                "warning",
                f"allocation rule {rule.id}: no value of {month}",
                expected,
                f"add it to {rule.metric_file.name}; the rule falls back to "
                f"{rule.fallback or 'none'}",
            )
            for position, rule in enumerate(config.allocation_rules)
            if rule.metric_file is not None and position not in filled
        ),
    ]
