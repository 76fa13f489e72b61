"""Connecting Azure exports: which dataset a header is, what rows tell, what mends a gap."""

from collections.abc import Mapping, Sequence

import polars as pl

from transforms.azure.clusters import managed_cluster
from transforms.azure.columns import plain
from transforms.seen import Seen, months_and_currencies

STEPS = {
    "split_coverage": "an Azure export holds no namespaces: switch on cost analysis for the "
    "cluster (`az aks update --enable-cost-analysis`, tier Standard or Premium), save its answers "
    "for every day, and name them with `splits` and `split_location`",
    "node_reserve": "it comes with the cluster's split, as #system charges# (query) or system "
    "(agent): give this cluster a split",
}
"""The step that mends each thing `leerlauf check` finds missing."""

_COST_EXPORT = {"chargetype", "date", "metercategory", "resourceid", "additionalinfo"}
_COSTS = {"costinbillingcurrency", "cost"}
_FOCUS = {"billedcost", "effectivecost", "chargecategory", "x_skumetercategory"}
_USAGE = {"pretaxcost", "usagedatetime", "instanceid"}
_QUERY = ({"properties.columns", "properties.rows"}, {"columns", "rows"})
_AGENT_DAYS = {"date", "id", "fraction", "splitbucket", "splitkey"}
_MONTHS = ("billingperiodstartdate", "billingperiodstart")
_CURRENCIES = ("billingcurrency", "billingcurrencycode")
_GROUP = r"^/subscriptions/([^/]+)/resourcegroups/([^/]+)/"


def recognise(columns: Sequence[str]) -> str | None:
    """Return the dataset whose header this is: `cost_export`, `focus_export` or none of ours."""
    names = set(_plain(columns))
    if names >= _FOCUS:
        return "focus_export"
    return "cost_export" if names >= _COST_EXPORT and names & _COSTS else None


def refuse(columns: Sequence[str]) -> str | None:
    """Return why a header that is a bill of this provider cannot be read, None for all others."""
    if set(_plain(columns)) >= _USAGE:
        return "a Usage export, which leaves purchases out: export amortized or actual cost"
    return None


def recognise_split(columns: Sequence[str]) -> str | None:
    """Return who split a cluster's cost in a file with these names: `query`, `agent` or nobody.

    columns: the header, or the names in a JSON document, those inside an object after a dot.
    """
    names = {name.lower() for name in columns}
    if any(marks <= names for marks in _QUERY):
        return "query"
    return "agent" if "resources" in names or names >= _AGENT_DAYS else None


def look(raw: pl.LazyFrame) -> Seen:
    """Return what the rows of one recognised file tell."""
    names = _plain(raw.collect_schema().names())
    start = pl.col(_first(names, _MONTHS)).cast(pl.String)
    us_date = start.str.replace(r"^(\d\d)/\d\d/(\d{4}).*$", "$2-$1")
    seen = months_and_currencies(raw, us_date.str.slice(0, 7), pl.col(_first(names, _CURRENCIES)))
    return seen | _metric(raw, names) | _clusters(raw, names)


def _plain(columns: Sequence[str]) -> dict[str, str]:
    """Return the name in the form in which all languages agree -> raw name."""
    return {plain(raw): raw for raw in columns}


def _first(names: Mapping[str, str], wanted: Sequence[str]) -> str:
    return next(names[name] for name in wanted if name in names)


def _metric(raw: pl.LazyFrame, names: Mapping[str, str]) -> Seen:
    """Tell amortized from actual cost.

    Only amortized exports have rows of unused commitments, only actual ones their purchases; and
    what a commitment covers has a price in one and none in the other.
    """
    if "chargetype" not in names:
        return Seen()
    kind = pl.col(names["chargetype"]).cast(pl.String)
    commitment = pl.col(names["pricingmodel"]).cast(pl.String).is_in(["Reservation", "SavingsPlan"])
    cost = pl.col(names[next(name for name in names if name in _COSTS)]).cast(
        pl.Float64, strict=False
    )
    covered = commitment & (kind == "Usage")
    told = raw.select(
        amortized=(kind.str.starts_with("Unused") | (covered & (cost != 0))).any(),
        actual=((kind == "Purchase") & commitment).any(),
        free=covered.any() & ~(covered & (cost != 0)).any(),
    )
    found = told.collect(engine="streaming").row(0, named=True)
    if found["amortized"] == (found["actual"] or found["free"]):
        return Seen()
    return Seen(metric="amortized" if found["amortized"] else "actual")


def _clusters(raw: pl.LazyFrame, names: Mapping[str, str]) -> Seen:
    """Find where the nodes of each cluster stand: tags say it, or a group's usual name does."""
    identity = pl.col(names["resourceid"]).cast(pl.String).str.to_lowercase()
    tags = pl.col(names["tags"]).cast(pl.String)
    rows = raw.select(
        subscription=identity.str.extract(_GROUP, 1),
        group=identity.str.extract(_GROUP, 2),
        managed=managed_cluster(identity),
        name=_tag(tags, "aks-managed-cluster-name"),
        home=_tag(tags, "aks-managed-cluster-rg"),
        pool=_tag(tags, "aks-managed-poolname"),
    ).unique()
    found = rows.collect(engine="streaming").sort(pl.all()).to_dicts()
    nodes = {(row["subscription"], row["group"]) for row in found if row["pool"]}
    said: dict[str, set[str]] = {}
    for row in found:
        if row["name"] and row["home"] and row["group"]:
            said.setdefault(_arm_id(row), set()).add(row["group"])
    sure = {name: next(iter(groups)) for name, groups in said.items() if len(groups) == 1}
    managed = sorted({row["managed"] for row in found if row["managed"]} | set(said))
    return Seen(clusters=sure, guessed=_usual_names(managed, nodes, sure))


def _tag(tags: pl.Expr, key: str) -> pl.Expr:
    """Return the value of a tag in lower case; the tags of some exports lack their braces."""
    return tags.str.extract(rf'(?i)"{key}"\s*:\s*"([^"]*)"').str.to_lowercase()


def _arm_id(row: Mapping[str, str]) -> str:
    return (
        f"/subscriptions/{row['subscription']}/resourcegroups/{row['home']}"
        f"/providers/microsoft.containerservice/managedclusters/{row['name']}"
    )


def _usual_names(
    managed: Sequence[str], nodes: set[tuple[str, str]], sure: Mapping[str, str]
) -> dict[str, str]:
    """Return cluster -> the one free group that is named MC_<its group>_<its name>_<region>."""
    guessed = {}
    for cluster in managed:
        _, _, subscription, _, home, *_, name = cluster.split("/")
        fits = [
            group
            for where, group in sorted(nodes)
            if where == subscription and group.startswith(f"mc_{home}_{name}_")
        ]
        if cluster not in sure and len(fits) == 1 and fits[0] not in sure.values():
            guessed[cluster] = fits[0]
    return guessed
