"""What the ledger reads beside the rows: sums, settings, rules and operators as relations."""

from collections.abc import Sequence

import duckdb
import polars as pl

from pipelines import metrics, rules
from pipelines.config import Config
from pipelines.decisions import AllocationRule
from pipelines.recording import MONTH_STATUS
from transforms.schema import DAY, MONEY, TEXT
from transforms.sliced import Sliced, findings_frame

ALLOCATION_RULES = {
    "position": pl.Int32(),
    "id": TEXT,
    "kinds": pl.List(TEXT),
    "method": TEXT,
    "scope": TEXT,
    "by": TEXT,
    "cluster": pl.List(TEXT),
    "valid_from": DAY,
    "valid_to": DAY,
    "teams": pl.List(TEXT),
    "excepted": pl.List(TEXT),
    "fallback": TEXT,
    "shares": pl.List(pl.Struct({"team": TEXT, "share": MONEY})),
}
OPERATORS = {"position": pl.Int32(), "team": TEXT, "cluster": pl.List(TEXT)}


def load(
    con: duckdb.DuckDBPyConnection,
    config: Config,
    month: str,
    sliced: Sequence[Sliced],
    metric_values: pl.DataFrame,
) -> None:
    """Put what the ledger reads beside `normalised` and `bill` into `con`."""
    for name in ("totals", "cluster_bills"):
        append(con, name, pl.concat([getattr(one, name) for one in sliced]))
    append(con, "findings_in", pl.concat([one.findings for one in sliced]))
    append(con, "findings_in", findings_frame(_unused(con, config, month, metric_values)))
    append(con, "settings", _settings(config, month))
    load_rules(con, config, metric_values)


def _unused(
    con: duckdb.DuckDBPyConnection, config: Config, month: str, metric_values: pl.DataFrame
) -> list[dict[str, str | None]]:
    """Return which rules, and which values of metrics, reach nothing of the month."""
    pools = con.sql(
        "SELECT DISTINCT cluster_id, cluster_name, node_pool FROM normalised "
        "WHERE cluster_id IS NOT NULL"
    ).fetchall()
    clusters = [(one, name) for one, name, _ in pools]
    return [
        *rules.unused_rules(config, clusters, month),
        *rules.unused_pools(config, pools, month),
        *metrics.unknown_clusters(config, metric_values, clusters, month),
    ]


def load_rules(
    con: duckdb.DuckDBPyConnection, config: Config, metric_values: pl.DataFrame | None = None
) -> None:
    """Put the rules by which pools are distributed into `con`.

    metric_values: what the metric files hold, where they were read before. Raises what
    `metrics.of_rules` raises.
    """
    append(con, "allocation_rules", allocation_rules(config))
    append(con, "operators", operators(config))
    if metric_values is None:
        metric_values = metrics.of_rules(config).values
    append(con, "metric_values", metric_values)


def allocation_rules(config: Config) -> pl.DataFrame:
    """Return ALLOCATION_RULES, one row a rule in file order; `metric` alone has a fallback."""
    return pl.DataFrame(
        [_rule(position, rule) for position, rule in enumerate(config.allocation_rules)],
        schema=ALLOCATION_RULES,
        orient="row",
    )


def operators(config: Config) -> pl.DataFrame:
    """Return OPERATORS, one row an operator in file order."""
    return pl.DataFrame(
        [
            (position, operator.team, list(operator.cluster))
            for position, operator in enumerate(config.operators)
        ],
        schema=OPERATORS,
        orient="row",
    )


def append(con: duckdb.DuckDBPyConnection, table: str, rows: pl.DataFrame) -> None:
    """Append rows to a table of `con`, which is made where it is not there yet."""
    arriving = rows.to_arrow()
    con.register("arriving", arriving)
    con.execute(f"CREATE TABLE IF NOT EXISTS {table} AS FROM arriving LIMIT 0")
    con.execute(f"INSERT INTO {table} FROM arriving")
    con.unregister("arriving")


def _settings(config: Config, month: str) -> pl.DataFrame:
    report = config.report
    return pl.DataFrame(
        {
            "billing_period": [month],
            "cost_view": [report.cost_view],
            "charge_basis": [report.charge_basis],
            "month_status": [MONTH_STATUS],
            "splits_apart": [sorted({name for one in config.sources for name in one.splits})],
        },
        schema_overrides={"splits_apart": pl.List(TEXT)},
    )


def _rule(position: int, rule: AllocationRule) -> tuple[object, ...]:
    shares = [{"team": team, "share": share} for team, share in (rule.shares or {}).items()]
    return (
        position,
        rule.id,
        list(rule.kinds),
        rule.method,
        rule.scope,
        rule.by,
        list(rule.cluster),
        rule.valid_from,
        rule.valid_to,
        None if rule.teams is None else list(rule.teams),
        None if rule.except_ is None else list(rule.except_),
        rule.falls_back_to,
        shares or None,
    )
