"""Saved answers of the Kubernetes query of Azure Cost Management.

Columns are read by name, because their order is not promised: Cost, Namespace, Cluster,
ServiceCategory, Currency, and UsageDate where the query was asked by day.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from transforms.azure.answers import Share, a_list, an_object, lowered, number, text
from transforms.azure.codes import QUERY_BUCKET, SPLIT_CATEGORIES
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
    body = lowered(an_object(keys.get("properties") or keys, "the properties of an answer"))
    columns = a_list(body.get("columns"), "the columns of an answer")
    names = [_name(column) for column in columns]
    rows = a_list(body.get("rows"), "the rows of an answer")
    if rows or names:
        _require(names)
    return [_share(_cells(row, names)) for row in rows]


def _name(column: Any) -> str:
    found = lowered(an_object(column, "a column of an answer"))
    return str(text(found.get("name"))).lower()


def _require(names: Sequence[str]) -> None:
    wrong = [name for name in (*_NEEDED, "usagedate", "currency") if names.count(name) > 1]
    lacking = [name for name in _NEEDED if name not in names]
    if wrong or lacking:
        what = "has twice" if wrong else "lacks"
        raise InputError(
            f"a split answer {what} the column {', '.join(wrong or lacking)}",
            expected="a query grouped by Namespace, Cluster and ServiceCategory",
            got=", ".join(names),
            hint="ask again with provider Microsoft.ContainerService and the three groupings",
        )


def _cells(row: Any, names: Sequence[str]) -> dict[str, Any]:
    cells = a_list(row, "a row of an answer")
    if len(cells) != len(names):
        raise InputError(
            "a row of a split answer does not fit its columns",
            expected=f"{len(names)} cells",
            got=f"{len(cells)} cells",
            hint="save the answer again; the file may be truncated",
        )
    return dict(zip(names, cells, strict=True))


def _share(row: Mapping[str, Any]) -> Share:
    name = text(row["namespace"])
    is_pseudo = name is not None and name.startswith("#")
    bucket = QUERY_BUCKET.get(str(name).lower()) if is_pseudo else "usage"
    return Share(
        source="query",
        day=_day(row.get("usagedate")),
        target=text(row["cluster"]) or "",
        category=_category(text(row["servicecategory"])),
        bucket=bucket if name is not None else "unallocated",
        provider_class=name if is_pseudo else None,
        namespace=None if is_pseudo else name,
        workload_kind=None,
        workload_name=None,
        currency=text(row.get("currency")),
        amount=number(row["cost"], "cost"),
    )


def _category(word: str | None) -> str | None:
    known = {name.lower(): name for name in SPLIT_CATEGORIES}
    return None if word is None else known.get(word.lower(), word)


def _day(value: object) -> dt.date | None:
    """`20261014`, as a number or as text, or an ISO time."""
    if value is None:
        return None
    written = str(value)[:10].replace("-", "")
    try:
        return dt.datetime.strptime(written[:8], "%Y%m%d").date()  # noqa: DTZ007 a day has no zone
    except ValueError as error:
        raise InputError(
            "a UsageDate of a split answer is no date",
            expected="YYYYMMDD",
            got=repr(value)[:80],
            hint="save the answer again, as it came",
        ) from error
