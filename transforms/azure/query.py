"""Saved answers of the Kubernetes query of Azure Cost Management.

Columns are read by name, because their order is not promised: Cost, Namespace, Cluster,
ServiceCategory, Currency, and UsageDate where the query was asked by day.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from transforms.azure.answers import Share, lowered, number, text
from transforms.azure.codes import QUERY_BUCKET
from transforms.errors import InputError

_NEEDED = ("cost", "namespace", "cluster", "servicecategory")


def is_answer(document: Mapping[str, Any]) -> bool:
    """Say whether a JSON object is an answer of a query."""
    keys = lowered(document)
    return "properties" in keys or {"columns", "rows"} <= keys.keys()


def shares(document: Mapping[str, Any]) -> list[Share]:
    """Return the rows of one answer, or of one page of it.

    Raises InputError where a column is missing or a cell cannot be read.
    """
    keys = lowered(document)
    body = lowered(keys.get("properties") or keys)
    names = [str(lowered(column)["name"]).lower() for column in body.get("columns") or ()]
    rows = body.get("rows") or ()
    missing = [name for name in _NEEDED if name not in names]
    if missing and (rows or names):
        raise InputError(
            f"a split answer lacks the column {', '.join(missing)}",
            expected="a query grouped by Namespace, Cluster and ServiceCategory",
            got=", ".join(names),
            hint="ask again with provider Microsoft.ContainerService and the three groupings",
        )
    return [_share(dict(zip(names, row, strict=True))) for row in _whole(rows, names)]


def _whole(rows: Sequence[Sequence[Any]], names: Sequence[str]) -> Sequence[Sequence[Any]]:
    for row in rows:
        if len(row) != len(names):
            raise InputError(
                "a row of a split answer does not fit its columns",
                expected=f"{len(names)} cells",
                got=f"{len(row)} cells",
                hint="save the answer again; the file may be truncated",
            )
    return rows


def _share(row: Mapping[str, Any]) -> Share:
    name = text(row["namespace"])
    is_pseudo = name is not None and name.startswith("#")
    bucket = QUERY_BUCKET.get(str(name).lower()) if is_pseudo else "usage"
    return Share(
        source="query",
        day=_day(row.get("usagedate")),
        target=str(row["cluster"] or "").lower(),
        category=text(row["servicecategory"]),
        bucket=bucket if name is not None else "unallocated",
        provider_class=name if is_pseudo else None,
        namespace=None if is_pseudo else name,
        workload_kind=None,
        workload_name=None,
        currency=text(row.get("currency")),
        amount=number(row["cost"], "cost"),
    )


def _day(value: object) -> dt.date | None:
    """`20261014`, as a number or as text, or an ISO time."""
    if value is None:
        return None
    written = str(value)[:10].replace("-", "")
    try:
        return dt.datetime.strptime(written[:8], "%Y%m%d").date()  # noqa: DTZ007 a day has no zone
    except ValueError as error:
        raise InputError(
            "a UsageDate of a split answer is no date", expected="YYYYMMDD", got=repr(value)
        ) from error
