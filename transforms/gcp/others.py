"""Exports that are not the detailed one, refused with the reason."""

from collections.abc import Collection

from transforms.errors import InputError, lacking

DETAILED = "gcp_billing_export_resource_v1_<account>"
RESELLER = "payer_billing_account_id"
_FOCUS = "BilledCost"
_MARKS = ("usage_start_time", "cost", "currency", "invoice")
"""Columns that the standard and the detailed export share, and no row of them can be without."""


def refuse_others(columns: Collection[str]) -> None:
    """Raise InputError where these columns, nested or dotted, are those of another export."""
    heads = {name.split(".")[0] for name in columns}
    if RESELLER in heads:
        raise InputError(
            "this is a reseller's export",
            expected=f"the detailed export, {DETAILED}",
            got=f"a column {RESELLER}",
            hint="its costs and corrections are counted by other rules, which are not built in",
        )
    if _FOCUS in heads:
        raise InputError(
            "this is a FOCUS export",
            expected=f"the detailed export, {DETAILED}",
            got=f"a column {_FOCUS}",
            hint="export the detailed table: the split by namespace exists only there",
        )
    if missing := [name for name in _MARKS if name not in heads]:
        raise lacking(
            missing,
            columns,
            expected=f"all columns of {DETAILED}",
            hint="export that table under its own column names, CSV with commas and in UTF-8",
        )


def standard_export(got: str) -> InputError:
    """Return the error that says why the standard export is refused."""
    return InputError(
        "this is the standard export",
        expected=f"the detailed export, {DETAILED}",
        got=got,
        hint="export the detailed table: the split by namespace exists only there",
    )
