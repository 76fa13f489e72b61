"""A published month under the rules of another one: allocation, team and operator rules.

The rows are those of the lake, and the ledger is the one that runs a month. What was decided
before the rows were written stays: system namespaces, headroom, node reserve and labels that were
not kept. Only clusters on which the rules differ are made again; the month serves for the others.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import polars as pl

from pipelines import in_force, ledger, loading, metrics
from pipelines.charges import normal_form
from pipelines.config import Config, from_document
from pipelines.decisions import TeamRule
from pipelines.errors import LeerlaufError
from pipelines.fetching import wanted_labels
from pipelines.in_force import Cluster, Key
from pipelines.lake import Lake
from pipelines.record import RunRecord
from transforms.errors import InputError
from transforms.labels import canonical
from transforms.normalise import team_columns
from transforms.rules import Vocabulary
from transforms.schema import POOL_KINDS


@dataclass(frozen=True)
class Published:
    """A month of a lake, and by which rules it was run.

    first, last: the days its rows are about, which may lie before the month.
    """

    lake: Lake
    record: RunRecord
    con: duckdb.DuckDBPyConnection
    config: Config
    clusters: tuple[Cluster, ...]
    first: date
    last: date


@dataclass(frozen=True)
class Restated:
    """A month under other rules; None without a cluster on which they differ.

    con: has `postings` and `charges` of the clusters in `made`. unknown: why the figures of a
    cluster cannot be known; its postings follow as much of the rules as can be.
    """

    con: duckdb.DuckDBPyConnection | None
    made: tuple[Key, ...]
    unknown: Mapping[Key, str]


def published(lake: Lake, month: str) -> Published:
    """Open a month. Raises ConfigurationError where it was never run."""
    record = lake.newest(month)
    con = lake.connect(record)
    days = con.sql("SELECT min(charge_period_start), max(charge_period_start) FROM normalised")
    first, last = days.fetchall()[0]
    return Published(
        lake=lake,
        record=record,
        con=con,
        config=from_document(record.configuration),
        clusters=tuple(in_force.clusters_of(con)),
        first=first or date.min,
        last=last or date.min,
    )


@contextmanager
def restated(month: Published, rules: Config) -> Iterator[Restated]:
    """Open a month under `rules`, which hold on every day (`in_force.as_of`)."""
    differing = [cluster for cluster in month.clusters if _differs(month, rules, cluster)]
    values, unread = _metric_values(rules)
    unknown = {c.key: unread for c in differing if unread and _by_metric(rules, c)}
    made = [cluster for cluster in differing if cluster.key not in unknown]
    if not made:
        yield Restated(None, (), unknown)
        return
    unkept = {c.key: why for c in made if (why := _unkept(month, rules, c))}
    with TemporaryDirectory(prefix="leerlauf-") as folder:
        rows = Path(folder) / "rows.parquet"
        _with_teams(month, rules, made, unkept).sink_parquet(rows)
        with month.lake.connect(month.record) as con:
            con.execute("SET temp_directory = $folder", {"folder": folder})
            con.execute("CREATE SCHEMA restated")
            con.execute("SET search_path = 'restated,main'")
            con.read_parquet(str(rows)).create_view("normalised")
            loading.load_rules(con, rules, values)
            ledger.distribute(con)
            yield Restated(con, tuple(cluster.key for cluster in made), unknown | unkept)


def days(month: Published) -> list[date]:
    """Return the days from which the rules of a month's own file hold, the first of its rows on."""
    return [month.first, *in_force.turns(month.config, month.first, month.last)]


def _differs(month: Published, rules: Config, cluster: Cluster) -> bool:
    return not all(in_force.alike(month.config, rules, cluster, day) for day in days(month))


# ---------------------------------------------------------------------------------------------
# What cannot be known
# ---------------------------------------------------------------------------------------------


def _metric_values(rules: Config) -> tuple[pl.DataFrame, str]:
    """Return what metric files say, and why that cannot be read ("": it can)."""
    try:
        return metrics.of_rules(rules).values, ""
    except (LeerlaufError, InputError) as error:
        told = ": ".join(part for part in (error.where, error.what, error.got) if part)
        return pl.DataFrame(schema=metrics.METRIC_VALUES), f"the metric cannot be read: {told}"


def _by_metric(rules: Config, cluster: Cluster) -> bool:
    """Return whether a rule that holds on every day distributes by a metric."""
    found = (in_force.allocation(rules, kind, cluster, date.min) for kind in POOL_KINDS)
    return any(rule is not None and rule.method == "metric" for rule in found)


def _unkept(month: Published, rules: Config, cluster: Cluster) -> str:
    """Return why the teams of a cluster cannot be known ("": they can)."""
    kept = {canonical(label) for label in wanted_labels(month.config)}
    asked = normal_form(in_force.charges(rules, cluster, date.min))
    missing = sorted({charge.label for charge in asked if charge.label} - kept)
    spelled = {canonical(rule.label): rule.label for rule in rules.team_rules if rule.label}
    names = ", ".join(spelled[label] for label in missing)
    return f"label {names} was not kept in {month.record.billing_period}" if missing else ""


# ---------------------------------------------------------------------------------------------
# Teams
# ---------------------------------------------------------------------------------------------


def _with_teams(
    month: Published, rules: Config, clusters: Iterable[Cluster], unkept: Collection[Key]
) -> pl.LazyFrame:
    """Return the rows of some clusters with the teams of other rules, of `unkept` as they are."""
    files = month.lake.files(month.record, "normalised")
    ids = [cluster.cluster_id for cluster in clusters]
    rows = pl.scan_parquet(files, hive_partitioning=False).filter(pl.col("cluster_id").is_in(ids))
    as_before = pl.col("cluster_id").is_in([cluster_id for _, cluster_id in unkept])
    return rows.with_columns(
        pl.when(as_before).then(pl.col(column.meta.output_name())).otherwise(column)
        for column in team_columns(_as_kept(month.config, rules), Vocabulary(rows))
    )


def _as_kept(config: Config, rules: Config) -> list[TeamRule]:
    """Return the team rules with their labels spelled as the month spells them."""
    kept = {canonical(label): label for label in wanted_labels(config)}
    return [
        rule.model_copy(update={"label": kept.get(canonical(rule.label), rule.label)})
        if rule.label
        else rule
        for rule in rules.team_rules
    ]
