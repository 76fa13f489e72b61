"""What `leerlauf check` says of the settings of AWS exports, each with the exact mend.

Settings are about the deliveries to come, so nothing here is more than a warning: what is in the
delivery that is there, its rows tell.
"""

from collections.abc import Iterator

from connectors import aws_exports
from connectors.aws_exports import SPLIT_COLUMNS, ExportSettings
from connectors.base import ExportSource, Inspected

LEGACY = "cur_legacy"
HEALTHY = "HEALTHY"
HOURLY, MONTHLY = "HOURLY", "MONTHLY"
BY_THE_HOUR = "set TIME_GRANULARITY to HOURLY: only hours tell when a node was empty"
SWITCH_ON = (
    "also switch on split cost allocation data for Amazon EKS in the payer account (Billing and "
    "Cost Management, Cost Management preferences)"
)


def answers(source: ExportSource) -> list[Inspected]:
    """Return what the exports are set to hold; nothing of folders and legacy exports.

    Raise `DeliveryError` where AWS does not tell.
    """
    if source.dataset == LEGACY or not source.location.lower().startswith("s3://"):
        return []
    found = aws_exports.inspect(source)
    return [answer for export in found for answer in _of(export)] or [_nothing(source)]


def _of(export: ExportSettings) -> Iterator[Inspected]:
    yield _answer(
        "export",
        f"{export.name}: {export.status.lower() or 'AWS does not say how it is'}",
        "an export that is healthy",
        None if export.status == HEALTHY else "see Data Exports in the console of its account",
    )
    granularity = export.granularity
    mend = export.mend if granularity == MONTHLY else BY_THE_HOUR
    yield _answer(
        "granularity",
        granularity.lower() if granularity else "AWS does not say",
        "hourly",
        None if granularity == HOURLY else mend,
    )
    yield _answer(
        "resource_ids",
        "on" if export.has_resource_ids else "off",
        "on: without them no row is known to be of a node",
        None if export.has_resource_ids else export.mend,
    )
    yield _splits(export)


def _splits(export: ExportSettings) -> Inspected:
    missing = export.missing_columns
    told = "on" if export.has_split_cost else "off"
    if missing:
        told += f"; the query lacks {', '.join(missing)}"
    whole = export.has_split_cost and not missing
    return _answer(
        "split_cost",
        told,
        f"on, and all {len(SPLIT_COLUMNS)} split columns in the query",
        None if whole else f"{SWITCH_ON}; {export.mend}",
    )


def _nothing(source: ExportSource) -> Inspected:
    return _answer(
        "export",
        f"Data Exports of this account know no export to {source.location}",
        "the CUR 2.0 export that delivers there",
        "ask with the credentials, or the `role`, of the account that has the export: there its "
        "settings can be checked",
    )


def _answer(check: str, actual: str, expected: str, hint: str | None) -> Inspected:
    return Inspected(check, "warning" if hint else "ok", actual, expected, hint)
