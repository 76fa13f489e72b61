"""Every column once, with its type, unit and meaning, and every table as a list of columns.

The words are those of the contract: FOCUS 1.4 in snake case where FOCUS has a column, OpenCost
otherwise. Parquet types, the data dictionary in the README and the empty tables are derived
from here. NULL means unknown or not applicable; it is never written as "" or 0.
"""

from dataclasses import dataclass

import polars as pl

SCHEMA_VERSION = 1
"""Version of the tables in a lake. A lake written by a newer version is not read."""

MONEY = pl.Decimal(38, 12)
"""All money and all quantities: exact, so that sums do not depend on the order of the rows."""

DAY = pl.Date()
TEXT = pl.String()
LABELS = pl.Map(pl.String(), pl.String())

ROW_KINDS = (
    "workload",
    "idle",
    "headroom",
    "system_overhead",
    "cluster_fee",
    "shared",
    "unattributed",
    "outside",
)
CLUSTER_KINDS = ROW_KINDS[:-1]
"""The seven kinds whose sum is the bill of a cluster."""

POOL_KINDS = ("idle", "headroom", "system_overhead", "cluster_fee", "shared")
"""The kinds an allocation rule may distribute."""

REASONS = {
    "workload": (),
    "idle": ("unrequested", "empty_node"),
    "headroom": ("placeholder_pods", "policy"),
    "system_overhead": ("node_reserve", "system_namespace", "node_disk"),
    "cluster_fee": ("control_plane", "extended_support", "auto_mode", "service_charge"),
    "shared": ("load_balancer", "network", "storage", "logging", "other"),
    "unattributed": (
        "unknown_owner",
        "unsupported_sku",
        "unclassified",
        "split_gap",
        "no_split_source",
        "unmounted_volume",
    ),
    "outside": (
        "unused_commitment",
        "commitment_fee",
        "commitment_offset",
        "discount",
        "credit",
        "refund",
        "tax",
        "support",
        "rounding",
        "other_service",
    ),
}
CAUSES = {
    "empty_node": "the node ran, and no pod but those of DaemonSets was on it",
    "stranded": "a usual pod would fit, but another resource of the node is full",
    "fragment": "what is free on the node is smaller than what a usual pod requests",
    "minimum_size": "the node pool has no more nodes than its configured minimum",
    "scale_down_wait": "the node was empty and about to leave",
    "rest": "free for another reason, or too little is known to say more",
}
"""Why capacity was idle: each idle row has one of these, no other row has any."""

RESOURCE_KINDS = ("cpu", "memory", "gpu", "compute", "storage", "network", "other")
COST_VIEWS = ("effective", "billed")


@dataclass(frozen=True)
class Column:
    """One column: its name, its type, its unit (empty where it has none) and its meaning."""

    name: str
    dtype: pl.DataType
    meaning: str
    unit: str = ""


def _money(name: str, meaning: str) -> Column:
    return Column(name, MONEY, meaning, "billing currency")


def _quantity(name: str, meaning: str) -> Column:
    return Column(name, MONEY, meaning, "see quantity_unit")


def _text(name: str, meaning: str) -> Column:
    return Column(name, TEXT, meaning)


_KIND_MEANING = {
    "workload": "the part of asset cost charged to workloads",
    "idle": "time-based capacity that no workload requests",
    "headroom": "capacity held free on purpose for peaks",
    "system_overhead": "node reserve, system pods and the nodes' own disks",
    "cluster_fee": "control plane and similar fees per cluster",
    "shared": "cost of the cluster that is neither node capacity nor one workload's",
    "unattributed": "on the cluster's bill, but nobody can say whose",
}

COLUMNS: dict[str, Column] = {
    column.name: column
    for column in (
        _text("billing_period", "the provider's billing period, YYYY-MM"),
        _text("provider", "short name of the cloud provider"),
        _text("source", "id of the source in leerlauf.toml"),
        _text("source_dataset", "form of the export the row came from"),
        _text("source_file", "file or files of the delivery the row came from, joined by '; '"),
        _text("origin_id", "the bill charge, at the grain of a day, this row is a slice of"),
        _text("billing_account_id", "account that pays the invoice"),
        _text("sub_account_id", "account, project or subscription that used the resource"),
        _text("invoice_id", "the provider's invoice; NULL until it is issued"),
        _text("region_id", "region of the resource"),
        Column("charge_period_start", DAY, "UTC day of the charge"),
        Column("charge_period_end", DAY, "the day after, exclusive"),
        _text("charge_category", "Usage, Purchase, Tax, Credit or Adjustment"),
        _text("charge_class", "Correction, or NULL"),
        _text("pricing_category", "Standard, Dynamic (spot), Committed or Other"),
        _text("service_category", "Compute, Storage, Networking, Containers, ... or Other"),
        _text("service_name", "the provider's name of the service"),
        _text("sku_id", "the provider's id of what was sold"),
        _text("resource_id", "the provider's id of the resource"),
        _text("cluster_id", "EKS ARN, project/location/name or lower-case ARM id"),
        _text("cluster_name", "name of the cluster"),
        _text("node_pool", "node group or node pool"),
        _text("node_name", "name of the node"),
        _text("namespace", "Kubernetes namespace"),
        _text("workload_kind", "kind of the controller that owns the pods, as the provider says"),
        _text("workload_name", "name of that controller, or of a bare pod"),
        Column("labels", LABELS, "the labels that team rules or [lake] labels name"),
        _text("team", "who is charged"),
        _text("team_rule", "the team rule that matched"),
        _text("row_kind", "one of the eight row kinds"),
        _text("reason", "why the row has its kind; closed list per kind"),
        _text("cause", f"why idle capacity was idle: {', '.join(CAUSES)}; NULL on other rows"),
        _text("provider_class", "the provider's own word for this cost"),
        _text("resource_kind", "cpu, memory, gpu, compute, storage, network or other"),
        _text("split_source", "who split the asset's cost; NULL where the charge was not split"),
        _text("billing_currency", "ISO 4217 code of every amount in the row"),
        _money("billed_cost", "what the invoice says; NULL where the source has no billed view"),
        _money("effective_cost", "amortised cost; NULL where the source has no effective view"),
        _money("list_cost", "at public list price; information"),
        _money("contracted_cost", "at the contracted price; information"),
        _money(
            "provider_idle_cost",
            "idle the provider itself put on this workload; information, in no sum",
        ),
        _money(
            "workload_idle",
            "requested but unused part of this workload's cost, summed from the provider's own "
            "interval; inside the cost, in no sum; NULL where usage or request is unknown",
        ),
        Column("pricing_quantity", MONEY, "billed quantity", "pricing_unit"),
        _text("pricing_unit", "unit of pricing_quantity"),
        _text("quantity_unit", "unit of the four quantities below: Core-Hours, GiB-Hours, ..."),
        _quantity("requested_quantity", "what the workload requested"),
        _quantity("used_quantity", "what the workload used; NULL where it was not measured"),
        _quantity("charged_quantity", "what the workload was charged for"),
        _quantity("capacity_quantity", "capacity billed with the node; stands on idle rows"),
        _quantity("allocatable_quantity", "capacity the node could allocate; NULL until known"),
        # bill
        _text("class", "line-item type, or the fate of rows that are not sliced"),
        _text("cost_view", "effective or billed"),
        Column("rows", pl.Int64(), "number of raw rows", "rows"),
        _money("amount", "signed amount"),
        # postings
        Column("charge_date", DAY, "UTC day of the pool"),
        _text("scope", "node, node_pool or cluster"),
        _text("scope_key", "the node, node pool or cluster of the pool"),
        _text("pool_id", "id of the pool, the same in every run over the same input"),
        _text("method", "none, proportional, even, ..."),
        _text("allocation_rule", "id of the rule in force; `default` where none applies"),
        _money("weight", "weight of the team in the pool; NULL for method none"),
        _money("weight_total", "sum of the weights in the pool; NULL for method none"),
        _money("pool_amount", "amount of the whole pool"),
        _text("note", "why the posting is as it is, where that needs saying"),
        # statements
        *(_money(kind, meaning) for kind, meaning in _KIND_MEANING.items()),
        _money("corrections", "postings carried from closed months"),
        _money("total", "the seven kinds and corrections"),
        *(
            _money(f"{name}_rounded", f"{name}, rounded so that sums hold")
            for name in (*CLUSTER_KINDS, "corrections", "total")
        ),
        _text("month_status", "provisional, final, closed or restated"),
        _text("by", "resource or total; NULL for methods that know no such choice"),
        # reconciliation
        Column("position", pl.Int64(), "position of the line in its bridge"),
        _text("name", "name of the line"),
        # findings
        _text("rule", "name of the check"),
        _text("severity", "error, warning or info"),
        _text("where", "file, row, rule or cluster the finding is about"),
        _text("expected", "what should be"),
        _text("actual", "what is"),
        _text("difference", "actual minus expected, where that has a meaning"),
        _text("hint", "what to do next"),
    )
}


def _words(text: str) -> list[str]:
    return text.split()


_STATEMENT = (
    _words("billing_period provider cluster_id team billing_currency")
    + [*CLUSTER_KINDS, "corrections", "total", "total_rounded"]
    + [f"{kind}_rounded" for kind in (*CLUSTER_KINDS, "corrections")]
    + ["workload_idle", "month_status"]
)

_NORMALISED = list(COLUMNS)[: list(COLUMNS).index("class")]

TABLES: dict[str, list[str]] = {
    "normalised": _NORMALISED,
    "bill": _words(
        "billing_period provider source class service_name billing_currency cost_view rows amount"
    ),
    "postings": _words(
        "billing_period charge_date charge_class provider cluster_id scope scope_key "
        "pool_id row_kind reason resource_kind team method allocation_rule weight weight_total "
        "pool_amount amount billing_currency note"
    ),
    "statements": _STATEMENT,
    "comparison": [*_STATEMENT, "method", "by"],
    "reconciliation": _words(
        "billing_period provider cluster_id node_name resource_kind "
        "provider_class position name amount billing_currency"
    ),
    "findings": _words(
        "billing_period rule severity provider source cluster_id where expected actual "
        "difference hint"
    ),
}


def polars_schema(table: str) -> dict[str, pl.DataType]:
    """Return the columns of `table` with their Polars types, in order."""
    return {name: COLUMNS[name].dtype for name in TABLES[table]}


def empty(table: str) -> pl.LazyFrame:
    """Return `table` without rows."""
    return pl.LazyFrame(schema=polars_schema(table))
