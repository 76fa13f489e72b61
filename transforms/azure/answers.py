"""What the two split sources have in common: one form for their rows, and how JSON is read.

A split says how the cost of a cluster's resources divides among namespaces, idle and the nodes'
own system. Its shares count; the money is the bill's.
"""

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

import polars as pl

from transforms.azure.clusters import identity
from transforms.errors import InputError
from transforms.labels import canonical
from transforms.schema import DAY, MONEY, TEXT

SPLITS = {
    "source": TEXT,
    "day": DAY,
    "target": TEXT,
    "category": TEXT,
    "bucket": TEXT,
    "provider_class": TEXT,
    "namespace": TEXT,
    "workload_kind": TEXT,
    "workload_name": TEXT,
    "currency": TEXT,
    "amount": MONEY,
}
"""Columns of the part `splits`, besides one `label:<key>` for each wanted label.

source: `query` or `agent`; day: NULL where only the file's name tells it; target: a cluster
(query) or a resource (agent), in lower case; category: Compute, Storage, Networking, or the
provider's word; bucket: usage, idle, system, unallocated, service, NULL where no list names it;
amount: money of the query in `currency`, or the agent's fraction.
"""


@dataclass(frozen=True)
class Share:
    """One row of a split answer; the fields are the columns SPLITS, in their order."""

    source: str
    day: dt.date | None
    target: str
    category: str | None
    bucket: str | None
    provider_class: str | None
    namespace: str | None
    workload_kind: str | None
    workload_name: str | None
    currency: str | None
    amount: Decimal
    labels: Mapping[str, str] = field(default_factory=dict)


def frame_of(shares: Sequence[Share], labels: Sequence[str]) -> pl.DataFrame:
    """Return shares as the part `splits`; of their labels the wanted ones."""
    rows = [
        (*astuple(share)[:-2], str(share.amount), *_wanted(share.labels, labels))
        for share in shares
    ]
    schema = {**SPLITS, "amount": TEXT, **{f"label:{key}": TEXT for key in labels}}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return frame.with_columns(pl.col("amount").cast(MONEY), target=identity(pl.col("target")))


def documents(text: str) -> list[Mapping[str, Any]]:
    """Return the JSON objects of a file: one, one a line, or a list; numbers are exact.

    Raises InputError where the text is no JSON, or where an answer is an error of Azure's.
    """
    plain = text.lstrip("\ufeff")
    try:
        found = [_loads(plain)]
    except ValueError:
        found = [_parsed(line) for line in plain.splitlines() if line.strip()]
    except RecursionError as error:
        raise _unreadable(plain[:80]) from error
    if len(found) == 1 and isinstance(found[0], list):
        found = found[0]
    if not found:
        raise _unreadable("nothing")
    for document in found:
        _refuse_error(an_object(document, "an answer"))
    return found


def lowered(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping with its keys in lower case: nobody promises their case."""
    return {str(key).lower(): value for key, value in mapping.items()}


def an_object(value: Any, what: str) -> Mapping[str, Any]:
    """Return a JSON object. Raises InputError where the value is something else."""
    if not isinstance(value, Mapping):
        raise _misshapen(what, "an object, {...}", value)
    return value


def a_list(value: Any, what: str) -> Sequence[Any]:
    """Return a JSON list; null is an empty one. Raises InputError where it is something else."""
    if not isinstance(value, list | None):
        raise _misshapen(what, "a list, [...]", value)
    return value or []


def number(value: object, what: str) -> Decimal:
    """Return a number, exact. Raises InputError where it is none."""
    try:
        found = Decimal(str(value))
    except InvalidOperation:
        found = Decimal("NaN")
    if isinstance(value, bool) or not found.is_finite():
        raise InputError(
            f"a {what} of a split answer is no number",
            expected="a number with a decimal point, such as 0.25",
            got=repr(value)[:80],
            hint=_AGAIN,
        )
    return found


def text(value: object) -> str | None:
    """Return text; an empty value is None. Raises InputError where it is a list or an object."""
    if isinstance(value, list | Mapping):
        raise _misshapen("a value of a split answer", "a text or a number", value)
    return None if value is None or value == "" else str(value)


def _wanted(found: Mapping[str, str], labels: Sequence[str]) -> list[str | None]:
    known = {canonical(key): value for key, value in sorted(found.items())}
    return [known.get(canonical(key)) for key in labels]


def _loads(text: str) -> Any:
    return json.loads(text, parse_float=Decimal)


def _parsed(line: str) -> Any:
    try:
        return _loads(line)
    except (ValueError, RecursionError) as error:
        raise _unreadable(line[:80]) from error


def _unreadable(got: str) -> InputError:
    return InputError(
        "a split file is no complete JSON",
        expected="an answer as Azure gave it, an object in one document or one a line",
        got=got,
        hint=f"{_AGAIN}; the file may be truncated",
    )


def _misshapen(what: str, expected: str, got: object) -> InputError:
    return InputError(
        f"{what} has another form than Azure gives it",
        expected=expected,
        got=repr(got)[:80],
        hint=_AGAIN,
    )


_AGAIN = "save the answer again, as it came"

_MENDS = {
    "401": "Azure keeps this query to the portal for your account: use the agent's answers, or "
    "leave `query` out of splits",
    "403": "give the identity that asks the role Cost Management Reader on the subscription",
    "429": "wait as long as the retry-after headers say, and ask again",
}


def _refuse_error(document: Mapping[str, Any]) -> None:
    error = lowered(document).get("error")
    if error is None:
        return
    parts = lowered(error) if isinstance(error, Mapping) else {"message": error}
    code = text(parts.get("code")) or "no code"
    raise InputError(
        "Azure answered the split query with an error",
        expected="an answer with columns and rows",
        got=f"{code}: {parts.get('message')}",
        hint=_MENDS.get(code, "ask again, or remove the file from split_location"),
    )
