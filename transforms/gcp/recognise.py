"""Connecting Google exports: which dataset a header is, what rows tell, what mends a gap."""

from collections.abc import Sequence

import polars as pl

from transforms.seen import Seen, months_and_currencies

STEPS = {
    "split_coverage": "switch on GKE cost allocation for this cluster (`gcloud container clusters "
    "update NAME --enable-cost-allocation`); it counts from that day on, never backwards, and may "
    "take three days to show",
    "node_reserve": "it comes with GKE cost allocation, as kube:system-overhead: switch that on "
    "for this cluster",
}
"""The step that mends each thing `leerlauf check` finds missing."""

_MARKS = {"service", "sku", "project", "usage_start_time", "cost", "currency", "invoice"}
_RESELLER = "payer_billing_account_id"


def recognise(columns: Sequence[str]) -> str | None:
    """Return `gke_detailed` where this is its header: nested, or flat with dots in the names."""
    return "gke_detailed" if _is_billing(columns) and refuse(columns) is None else None


def refuse(columns: Sequence[str]) -> str | None:
    """Return why a header that is a bill of this provider cannot be read, None for all others."""
    if not _is_billing(columns):
        return None
    if _RESELLER in columns:
        return "the export of a reseller: its amounts are not those of a customer's bill"
    if "resource" not in _heads(columns):
        return "the standard export: only the detailed one knows namespaces"
    return None


def recognise_split(_: Sequence[str]) -> str | None:
    """Return None: the split is part of the export."""
    return None


def look(raw: pl.LazyFrame) -> Seen:
    """Return what the rows of one recognised file tell."""
    digits = _value(raw, "invoice", "month").cast(pl.String).str.extract(r"(\d{6})")
    month = pl.concat_str(digits.str.slice(0, 4), pl.lit("-"), digits.str.slice(4, 2))
    return months_and_currencies(raw, month, _value(raw, "currency"))


def _is_billing(columns: Sequence[str]) -> bool:
    return set(_heads(columns)) >= _MARKS


def _heads(columns: Sequence[str]) -> list[str]:
    return [name.split(".", maxsplit=1)[0] for name in columns]


def _value(raw: pl.LazyFrame, *path: str) -> pl.Expr:
    """Return a value, nested or not, of whichever form the rows have."""
    schema = raw.collect_schema()
    if schema.names() == ["line"]:
        return pl.col("line").str.json_path_match("$." + ".".join(path))
    if ".".join(path) in schema:
        return pl.col(".".join(path))
    value = pl.col(path[0])
    return value if schema[path[0]] == pl.String else value.struct.field(path[1])
