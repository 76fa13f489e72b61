"""`leerlauf check`: what is there, what is missing, and the step that mends it.

Each answer is one row about the configuration, a source or a cluster. A month is fetched and
sliced as a run would do it, but no table is written and nothing is published.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import duckdb
import polars as pl

from connectors.base import Progress, silent
from pipelines import overlaps, queries, rules
from pipelines.checked import Checked, Examination
from pipelines.config import Config
from pipelines.doctor_metrics import examine_metrics
from pipelines.doctor_nodes import examine_nodes
from pipelines.doctor_sources import examine_source, of_findings
from pipelines.engine import connect
from pipelines.errors import WRONG_USE
from pipelines.guides import guide
from pipelines.lake import Lake
from pipelines.reading import rows
from transforms.normalise import normalise
from transforms.rules import names_any
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
    *("row_kind", "reason", "resource_kind", "split_source", "node_pool"),
)


def examine(
    config: Config, month: str, now: datetime, *, copying: Progress = silent
) -> Examination:
    """Check a configuration against one month of its sources, and of the clusters in them.

    now: with its time zone, for the age of deliveries; copying: told of each file.
    Raises LakeError where the lake cannot be written.
    """
    lake = Lake(config.lake.path)
    answers, months = [_configuration(config), *examine_metrics(config, month)], []
    with lake.lock():
        for source in config.sources:
            told, sliced = examine_source(source, config, month, lake, now, copying)
            answers += told
            months += [] if sliced is None else [sliced]
    if months:
        days = [overlaps.resource_days(one.slices.lazy()).collect() for one in months]
        answers += _overlaps(pl.concat(days))
        told, allocatable = examine_nodes(config, months, month)
        examined = [_examined(one, config, allocatable) for one in months]
        answers += [*told, *of_findings([row for _, rows in examined for row in rows])]
        answers += _of_clusters(pl.concat([frame for frame, _ in examined]), config, month)
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


def _examined(
    sliced: Sliced, config: Config, allocatable: pl.DataFrame
) -> tuple[pl.DataFrame, list[dict[str, str | None]]]:
    """Return what the checks read of a source, and what the rules say of it.

    Read is its clusters' cost by day, owner, reason and, of idle, node. Where the source lacks the
    cost view of the reports, its other one counts.
    """
    view = config.report.cost_view
    others = [f"{other}_cost" for other in COST_VIEWS if other != view]
    normalised = normalise(sliced, config, allocatable)
    is_set_apart = (pl.col("reason") == "node_reserve") & pl.col("provider_class").is_not_null()
    grouped = normalised.rows.filter(pl.col("cluster_id").is_not_null()).group_by(
        *_KEYS,
        charge_date="charge_period_start",
        node=pl.when(pl.col("row_kind") == "idle").then("resource_id"),
        reserve_known=pl.col("allocatable_quantity").is_not_null()
        | is_set_apart.fill_null(value=False),
    )
    cost = pl.coalesce(f"{view}_cost", *others).sum()
    return grouped.agg(cost=cost).collect(engine="streaming"), normalised.findings.to_dicts()


def _of_clusters(examined: pl.DataFrame, config: Config, month: str) -> list[Checked]:
    """Return the answers of sql/doctor and of the rules, those about one cluster together."""
    names = examined.select("provider", "source", "cluster_id", "cluster_name", "billing_currency")
    clusters = names.unique().sort(pl.all()).rows()
    answers = list(_operators(clusters, config))
    with connect() as con:
        con.register("examined", examined.to_arrow())
        answers += [row for check in queries.names("doctor") for row in _asked(con, check)]
    answers.sort(key=lambda row: (row.provider or "", row.source or "", row.cluster_id or ""))
    pools = examined.select("cluster_id", "cluster_name", "node_pool").unique().rows()
    return [*_rules(pools, config, month), *answers] if clusters else [_no_cluster(month)]


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
        if not names_any(patterns, (cluster, name)):
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


def _rules(
    pools: Sequence[tuple[str, str | None, str | None]], config: Config, month: str
) -> Iterator[Checked]:
    """Yield which rules reach nothing; pools: cluster ids, their names, and their node pools."""
    unused = rules.unused_rules(config, [(cluster, name) for cluster, name, _ in pools], month)
    unused += rules.unused_pools(config, pools, month)
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
