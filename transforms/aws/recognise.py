"""Connecting AWS exports: which dataset a header is, what rows tell, what mends a gap."""

from collections.abc import Sequence

import polars as pl

from transforms.aws.columns import MAPS, canonical_names, tag_columns
from transforms.seen import Seen, months_and_currencies

STEPS = {
    "split_coverage": "switch on split cost allocation data for Amazon EKS in the payer account "
    "(Billing and Cost Management, Cost Management preferences) and in the export (resource ids, "
    "split cost allocation data); it counts from that day on, never backwards",
    "node_reserve": "the export does not tell what kubelet and system reserve, so it stands in "
    "idle; save what `kubectl get nodes -o json` prints, and name the file under [[nodes]]",
    "teams": "add a [[team_rule]] with these namespaces, or label the pods, if a team should pay; "
    "a label is in the export only once the payer account activated it as a cost allocation tag",
}
"""The step that mends each thing `leerlauf check` finds missing."""

_MARKS = (
    "bill_billing_period_start_date",
    "line_item_currency_code",
    "line_item_line_item_type",
    "line_item_unblended_cost",
)


def recognise(columns: Sequence[str]) -> str | None:
    """Return the dataset whose header this is: `cur2`, `cur_legacy` or none of ours.

    The legacy report gives every tag a column, CUR 2.0 keeps them in maps.
    """
    if not set(_MARKS) <= set(canonical_names(list(columns)).values()):
        return None
    with_slash = any("/" in name for name in columns)
    tags = tag_columns(list(columns)) and not set(MAPS) & set(columns)
    return "cur_legacy" if with_slash or tags else "cur2"


def refuse(columns: Sequence[str]) -> str | None:
    """Return why a header that is a bill of this provider cannot be read, None for all others."""
    if {"BilledCost", "x_ServiceCode"} <= set(columns):
        return "a FOCUS export, which does not tell what pods cost: export CUR 2.0"
    return None


def recognise_split(_: Sequence[str]) -> str | None:
    """Return None: the split is part of the report."""
    return None


def look(raw: pl.LazyFrame) -> Seen:
    """Return what the rows of one recognised file tell."""
    header = raw.collect_schema().names()
    names = {canonical: name for name, canonical in canonical_names(header).items()}
    start = pl.col(names["bill_billing_period_start_date"]).cast(pl.String)
    currency = pl.col(names["line_item_currency_code"])
    return months_and_currencies(raw, start.str.slice(0, 7), currency)
