"""`leerlauf check`: what is there, what is missing, and the step that mends it.

Each answer is one row about the configuration, a source or a cluster. A month is fetched and
sliced as a run would do it, but no table is written and nothing is published.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path

import duckdb
import polars as pl

from connectors.base import Progress, silent
from pipelines import overlaps, queries, rules
from pipelines.checked import Checked, Examination
from pipelines.config import Config
from pipelines.doctor_sources import examine_source
from pipelines.engine import connect
from pipelines.errors import WRONG_USE
from pipelines.guides import guide
from pipelines.lake import Lake
from pipelines.reading import rows
from transforms.inventory import nothing_known
from transforms.normalise import normalise
from transforms.schema import COST_VIEWS
from transforms.sliced import Sliced

STEPS = {
    "teams": "add a [[team_rule]] with these namespaces, or label the pods, if a team should pay",
    "split_gap": "usually the day on which the split was switched on, or one whose split was not "
    "complete yet: fetch the month again; what is left is unattributed",
    "one_bill": "take all of them but one out, unless each holds another part of the bill",
    "operator": "add [[operator]] with team and cluster: it carries what is not distributed",
}
"""The steps that are the same with every provider; the others are in its guide."""

_KEYS = (
    *("provider", "source", "cluster_id", "cluster_name", "billing_currency", "namespace", "team"),
    *("row_kind", "reason", "resource_kind", "split_source"),
)


def examine(
    config: Config, month: str, now: datetime, *, copying: Progress = silent
) -> Examination:
    """Check a configuration against one month of its sources, and of the clusters in them.

    now: with its time zone, for the age of deliveries; copying: told of each file.
    Raises LakeError where the lake cannot be written.
    """
    lake = Lake(config.lake.path)
    answers, frames, days = [_configuration(config)], [], []
    with lake.lock():
        for source in config.sources:
            told, sliced = examine_source(source, config, month, lake, now, copying)
            answers += told
            if sliced is not None:
                frames.append(_examined(sliced, config))
                days.append(overlaps.resource_days(sliced.slices.lazy()).collect())
    if frames:
        answers += _overlaps(pl.concat(days))
        answers += _of_clusters(pl.concat(frames), config, month)
    return Examination(month, tuple(answers))


def default_month(lake: Path, now: datetime) -> str:
    """Return the newest month that the lake has raw, else the last full one."""
    raw = sorted(folder.name for folder in lake.glob("raw/*/[0-9][0-9][0-9][0-9]-[0-9][0-9]"))
    today: date = now.astimezone(UTC).date()
    return raw[-1] if raw else f"{today.replace(day=1) - timedelta(days=1):%Y-%m}"


def _configuration(config: Config) -> Checked:
    counts = (
        ("sources", config.sources),
        ("team rules", config.team_rules),
        ("operators", config.operators),
        ("allocation rules", config.allocation_rules),
    )
    told = ", ".join(f"{name}: {len(tables)}" for name, tables in counts)
    return Checked("configuration", "ok", told, "a file that can be read")


def _overlaps(days: pl.DataFrame) -> Iterator[Checked]:
    """Yield which sources a run would refuse, because they hold the same bill."""
    with connect() as con:
        con.register("resource_days", days.to_arrow())
        for provider, one, other, told in overlaps.find(con):
            yield Checked(
                check="one_bill",
                status="error",
                actual=f"{one} and {other} hold the same bill: {told}",
                expected=overlaps.EXPECTED,
                hint=overlaps.HINT,
                provider=provider,
                exit_code=WRONG_USE,
            )


def _examined(sliced: Sliced, config: Config) -> pl.DataFrame:
    """Return what the checks read of a source: its clusters' cost by day, owner and reason.

    Where the source lacks the cost view of the reports, its other one counts.
    """
    view = config.report.cost_view
    others = [f"{other}_cost" for other in COST_VIEWS if other != view]
    normalised = normalise(sliced, config, nothing_known())
    rows_of_clusters = normalised.rows.filter(pl.col("cluster_id").is_not_null())
    grouped = rows_of_clusters.group_by(
        *_KEYS,
        charge_date="charge_period_start",
        reserve_known=pl.col("allocatable_quantity").is_not_null(),
    )
    return grouped.agg(cost=pl.coalesce(f"{view}_cost", *others).sum()).collect(engine="streaming")


def _of_clusters(examined: pl.DataFrame, config: Config, month: str) -> list[Checked]:
    """Return the answers of sql/doctor and of the rules, those about one cluster together."""
    names = examined.select("provider", "source", "cluster_id", "cluster_name", "billing_currency")
    clusters = names.unique().sort(pl.all()).rows()
    answers = list(_operators(clusters, config))
    with connect() as con:
        con.register("examined", examined.to_arrow())
        answers += [row for check in queries.names("doctor") for row in _asked(con, check)]
    answers.sort(key=lambda row: (row.provider or "", row.source or "", row.cluster_id or ""))
    known = [(cluster, name) for _, _, cluster, name, _ in clusters]
    return [*_rules(known, config, month), *answers] if known else [_no_cluster(month)]


def _asked(con: duckdb.DuckDBPyConnection, check: str) -> Iterator[Checked]:
    """Yield the answers of one query in sql/doctor; what is missing gets its step."""
    for row in rows(con, queries.read(f"doctor/{check}")):
        steps, step = {**STEPS, **guide(row["provider"]).STEPS}, row.pop("step")
        yield Checked(check=check, hint=steps[step] if step else None, **row)


def _no_cluster(month: str) -> Checked:
    return Checked(
        check="clusters",
        status="warning",
        actual=f"no cluster on any bill of {month}",
        expected="a cluster",
        hint="take the export of the account or project whose clusters are to be charged back; "
        "where a source has `clusters`, list them there",
    )


def _operators(
    clusters: Sequence[tuple[str, str, str, str | None, str]], config: Config
) -> Iterator[Checked]:
    for provider, source, cluster, name, currency in clusters:
        patterns = [pattern for operator in config.operators for pattern in operator.cluster]
        known = [text for text in (cluster, name) if text]
        if not any(fnmatchcase(text, pattern) for text in known for pattern in patterns):
            yield Checked(
                check="operator",
                status="warning",
                actual="nobody operates this cluster",
                expected="an operator",
                hint=STEPS["operator"],
                provider=provider,
                source=source,
                billing_currency=currency,
                cluster_id=cluster,
            )


def _rules(clusters: list[tuple[str, str | None]], config: Config, month: str) -> Iterator[Checked]:
    unused = rules.unused_rules(config, clusters, month)
    for finding in unused:
        yield Checked(
            check="rules",
            status="warning",
            actual=f"{finding['where']}: {finding['actual']}",
            expected=finding["expected"],
            hint=finding["hint"],
        )
    if not unused:
        yield Checked("rules", "ok", "every rule can apply", "no rule that never applies")
