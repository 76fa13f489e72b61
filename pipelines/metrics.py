"""The metric files that allocation rules name: what distributes where method = 'metric'."""

import csv
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from pipelines import headers
from pipelines.config import Config
from pipelines.decisions import AllocationRule
from pipelines.errors import ConfigurationError
from pipelines.exports import reading, scan
from pipelines.hashes import sha256_of
from pipelines.mistakes import choice
from pipelines.periods import first_day, next_month
from pipelines.record import InputFile
from pipelines.separators import refuse_longer_rows, refuse_semicolons
from transforms.errors import InputError, doubled
from transforms.inventory import shown
from transforms.metrics import COLUMNS, read
from transforms.schema import DAY, MONEY, TEXT
from transforms.sliced import Finding, of_month

METRIC_VALUES = {
    "position": pl.Int32(),
    "charge_date": DAY,
    "cluster": TEXT,
    "team": TEXT,
    "value": MONEY,
}
"""The relation `metric_values`; position is that of the rule which reads the value."""

_KEPT = [name for name in METRIC_VALUES if name != "position"]

FORMS = (".csv", ".csv.gz", ".parquet")


@dataclass(frozen=True)
class Metrics:
    """What the metric files of a configuration hold: METRIC_VALUES, and the files read."""

    values: pl.DataFrame
    files: tuple[InputFile, ...]


def of_rules(config: Config) -> Metrics:
    """Read each metric file once, and give each rule the metric it names.

    Raises ConfigurationError where a file or a metric is not there, InputError where a file
    cannot be read.
    """
    files: dict[Path, pl.DataFrame] = {}
    chosen = [pl.DataFrame(schema=METRIC_VALUES)]
    for position, rule in enumerate(config.allocation_rules):
        path = rule.metric_file
        if path is None:
            continue
        if path not in files:
            files[path] = _values(path, _key(rule, "metric_file"))
        values = _chosen(files[path], rule, path)
        chosen.append(values.select(pl.lit(position, pl.Int32).alias("position"), *_KEPT))
    return Metrics(pl.concat(chosen), tuple(_as_input(path) for path in sorted(files)))


def unknown_clusters(
    config: Config, values: pl.DataFrame, clusters: Iterable[tuple[str, str | None]], month: str
) -> list[Finding]:
    """Return a warning for each rule whose metric file has rows of other clusters than the month.

    values: METRIC_VALUES; clusters: ids and names of those in `month` (YYYY-MM). Rows that are
    dated in another month are none of its.
    """
    held = set(clusters)
    known = {name for cluster in held for name in cluster if name}
    day = pl.col("charge_date")
    strange = values.filter(
        day >= first_day(month), day < next_month(month), ~pl.col("cluster").is_in(known)
    )
    found = []
    for position, rule in enumerate(config.allocation_rules):
        rows = strange.filter(position=position)
        if rule.metric_file is not None and not rows.is_empty():
            where = f"allocation rule {rule.id}, {rule.metric_file.name}"
            found.append(_unknown(rows, where, held, month))
    return found


def _unknown(
    rows: pl.DataFrame, where: str, clusters: Iterable[tuple[str, str | None]], month: str
) -> Finding:
    """Return the warning about METRIC_VALUES of clusters that are not in the month."""
    names = sorted(name or one for one, name in clusters)
    days = rows.get_column("charge_date").unique().sort()
    return of_month(
        month,
        "metric_cluster_unknown",
        "warning",
        where=f"{where}: {shown(rows.get_column('cluster').unique().sort().to_list())}",
        expected=f"name or id of a cluster of {month}",
        actual=f"rows: {rows.height}, days: {len(days)}, {days[0]} to {days[-1]}; "
        "they count for nothing",
        hint=f"clusters of the month: {shown(names) or 'none'}",
    )


def _as_input(path: Path) -> InputFile:
    return InputFile(name=str(path), size=path.stat().st_size, sha256=sha256_of(path))


def _chosen(values: pl.DataFrame, rule: AllocationRule, path: Path) -> pl.DataFrame:
    """Return the values of the metric that a rule names, or of the only one there is."""
    names = values.get_column("metric").unique().sort().to_list()
    wanted = rule.metric or (names[0] if len(names) == 1 else None)
    if wanted not in names:
        raise ConfigurationError(
            "which metric?" if wanted is None else "no such metric",
            where=_key(rule, "metric"),
            expected=f"{choice(names)}, as {path.name} has them",
            got="nothing" if wanted is None else repr(wanted),
        )
    return values.filter(pl.col("metric") == wanted)


def _values(path: Path, key: str) -> pl.DataFrame:
    """Return the values of a file; `key` is where the configuration names it."""
    if not path.name.lower().endswith(FORMS):
        raise ConfigurationError(
            "not a metric file",
            where=key,
            expected=f"a name that ends in {choice(FORMS)}",
            got=path.name,
        )
    if not path.is_file():
        raise ConfigurationError(
            "no such file",
            where=key,
            expected="a CSV or Parquet file",
            got=str(path),
            hint="Correct `metric_file`, or put the file there.",
        )
    is_csv = not path.name.lower().endswith(".parquet")
    with reading(str(path)):
        rows = _rows(path, is_csv=is_csv)
        try:
            return read(rows, first=2 if is_csv else 1)  # as a spreadsheet counts its rows
        except InputError as error:
            error.where = f"{path}, {error.where}" if error.where else str(path)
            raise


def _rows(path: Path, *, is_csv: bool) -> pl.DataFrame:
    """Return the rows of a file, text as text. Raises InputError."""
    header = headers.names(path)
    if is_csv:
        refuse_semicolons(header, str(path))
    for name in COLUMNS:
        if header.count(name) > 1:
            raise doubled(name, header, hint="Keep one of the two.")
    try:
        lazy = scan(path)
        return pl.DataFrame() if lazy is None else lazy.collect()
    except pl.exceptions.ComputeError:
        if is_csv:
            _refuse_longer_rows(path, len(header))
        raise


def _refuse_longer_rows(path: Path, columns: int) -> None:
    """Raise InputError about a row that is longer; Polars tells what cannot be read at all."""
    with suppress(ValueError, OSError, EOFError, csv.Error), headers.open_text(path) as lines:
        refuse_longer_rows(lines, columns, str(path))


def _key(rule: AllocationRule, name: str) -> str:
    return f"[[allocation_rule]] {rule.id}: {name}"
