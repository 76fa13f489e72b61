"""The objects that `--json` prints. Amounts are text with twelve decimals, unknown is null.

The models are the contract with other programs: `leerlauf schema --json-schema COMMAND` prints
what pydantic makes of them.
"""

from collections.abc import Iterable, Iterator
from datetime import date
from decimal import Decimal
from itertools import groupby
from math import isfinite
from operator import itemgetter
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, create_model

from pipelines.reading import Month, Row
from transforms.schema import COLUMNS, DAY, MONEY, TABLES, TEXT

Model = TypeVar("Model", bound=BaseModel)
QUANTUM = Decimal("1e-12")


def _exact(value: Any) -> Any:
    """Write a number out: Decimal would print 0E-12."""
    return format(Decimal(value).quantize(QUANTUM), "f") if value is not None else None


Amount = Annotated[str, BeforeValidator(_exact), Field(pattern=r"^-?[0-9]+\.[0-9]{12}$")]
Known = Amount | None
"""An amount that may be unknown."""


class _Object(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Place(_Object):
    """Where an amount belongs."""

    provider: str
    cluster_id: str
    billing_currency: str


class Kinds(Place):
    """One amount per row kind; null where it cannot be known."""

    workload: Known
    idle: Known
    headroom: Known
    system_overhead: Known
    cluster_fee: Known
    shared: Known
    unattributed: Known


class Cluster(Kinds):
    """A cluster before anything is distributed."""

    cluster_name: str | None
    bill: Amount
    idle_ratio: Known


class Outside(_Object):
    """What is on the bill and belongs to no cluster."""

    provider: str
    reason: str
    billing_currency: str
    amount: Amount


class Team(Kinds):
    """The statement of one team; `team` is null for money without team."""

    team: str | None
    corrections: Known
    total: Amount


class ComparedTeam(Team):
    """The statement of one team under one method."""

    method: str
    by: str | None


class Line(_Object):
    """One step of a bridge."""

    name: str
    amount: Amount


class Bridge(_Object):
    """From the idle a provider reports to the idle shown here: provider_idle + lines = idle."""

    provider: str
    cluster_id: str
    resource_kind: str
    provider_class: str | None
    provider_idle: Amount
    lines: list[Line]
    idle: Amount


class Finding(_Object):
    """Something a person must know."""

    billing_period: str | None
    rule: str
    severity: Literal["error", "warning", "info"]
    provider: str | None
    source: str | None
    cluster_id: str | None
    where: str | None
    expected: str | None
    actual: str | None
    difference: str | None
    hint: str | None


class _Month(_Object):
    billing_period: str | None
    status: Literal["ok", "findings", "failed"]
    month_status: str | None
    cost_view: str | None
    charge_basis: str | None
    clusters: list[Cluster]
    outside: list[Outside]
    reconciliation: list[Bridge]
    findings: list[Finding]


class Result(_Month):
    """A month by the rules in force. Where nothing was published, the lists are empty."""

    teams: list[Team]


class Comparison(_Month):
    """A month under each method; all but idle and headroom follows the rules in force."""

    teams: list[ComparedTeam]


class _Rows(_Object):
    billing_period: str | None


class Method(_Object):
    """A method, in the words of its file."""

    method: str
    does: str
    use_it_when: str
    unfair_when: str


class Methods(_Rows):
    """What `methods` prints."""

    rows: list[Method]


class Column(_Object):
    """A column of a table in the lake."""

    table: str
    column: str
    type: str
    unit: str | None
    meaning: str


class Schema(_Rows):
    """What `schema` prints."""

    rows: list[Column]
    system_namespaces: list[str]


class Answer(_Rows):
    """What `sql` prints: the columns of the query; decimals are text, so that none is rounded."""

    rows: list[dict[str, Any]]


def _column(name: str) -> Any:
    dtype = COLUMNS[name].dtype
    kinds = {MONEY: Known, DAY: date | None, TEXT: str | None}
    return (kinds[dtype], Field(description=COLUMNS[name].meaning))


Posting = create_model(
    "Posting",
    __base__=_Object,
    __doc__="What one pool gave to one team, and the files it came from.",
    **{name: _column(name) for name in (*TABLES["postings"], "source_file")},
)


class Explanation(_Rows):
    """What `explain` prints."""

    rows: list[Posting]


class Failure(_Rows):
    """What a command with rows prints when it cannot answer."""

    status: Literal["failed"]
    rows: list[Any] = Field(max_length=0)
    findings: list[Finding]


OBJECTS: dict[str, type[BaseModel]] = {
    "demo": Result,
    "run": Result,
    "reconcile": Result,
    "compare": Comparison,
    "explain": Explanation,
    "sql": Answer,
    "methods": Methods,
    "schema": Schema,
}
"""The object each command prints."""


# ---------------------------------------------------------------------------------------------
# Filling them
# ---------------------------------------------------------------------------------------------


def json_schema(command: str) -> dict[str, Any]:
    """Return the JSON Schema of what `command --json` prints, also when it fails."""
    model = OBJECTS[command]
    if issubclass(model, _Month):
        return model.model_json_schema()
    either = TypeAdapter[Any](cast("Any", model | Failure))
    return either.json_schema()


def result(month: Month) -> Result:
    """Return the month by the rules in force."""
    return Result(**_common(month), teams=[_pick(Team, row) for row in month.teams])


def comparison(month: Month) -> Comparison:
    """Return the month under each method."""
    teams = [_pick(ComparedTeam, row) for row in month.comparison]
    return Comparison(**_common(month), teams=teams)


def failed(command: str, billing_period: str | None, findings: list[Row]) -> BaseModel:
    """Return the object of a command that could not do its work."""
    said = [Finding(**finding) for finding in findings]
    model = OBJECTS[command]
    if not issubclass(model, _Month):
        return Failure(billing_period=billing_period, status="failed", rows=[], findings=said)
    unknown = dict.fromkeys(("month_status", "cost_view", "charge_basis"))
    empty: dict[str, list[Any]] = {
        name: [] for name in ("clusters", "outside", "teams", "reconciliation")
    }
    return model(billing_period=billing_period, status="failed", **unknown, **empty, findings=said)


def answer(rows: Iterable[Row]) -> Answer:
    """Return the rows of a query as JSON can hold them."""
    return Answer(
        billing_period=None,
        rows=[{name: plain(value) for name, value in row.items()} for row in rows],
    )


def plain(value: Any) -> Any:
    """Return a value of DuckDB as JSON can hold it: without rounding, numbers and null kept."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, float) and isfinite(value):
        return value
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def _common(month: Month) -> dict[str, Any]:
    report = month.record.configuration["report"]
    return {
        "billing_period": month.record.billing_period,
        "status": month.record.status,
        "month_status": month.record.month_status,
        "cost_view": report["cost_view"],
        "charge_basis": report["charge_basis"],
        "clusters": [_pick(Cluster, row) for row in month.clusters],
        "outside": [_pick(Outside, row) for row in month.outside],
        "reconciliation": list(_bridges(month.bridges)),
        "findings": [_pick(Finding, row) for row in month.findings],
    }


def _bridges(lines: list[Row]) -> Iterator[Bridge]:
    keys = ("provider", "cluster_id", "billing_currency", "resource_kind", "provider_class")
    for _, group in groupby(lines, key=itemgetter(*keys)):
        first, *between, last = group
        yield Bridge(
            **{name: first[name] for name in keys if name in Bridge.model_fields},
            provider_idle=first["amount"],
            lines=[Line(name=line["name"], amount=line["amount"]) for line in between],
            idle=last["amount"],
        )


def _pick(model: type[Model], row: Row) -> Model:
    """Return the columns of `row` that the model has."""
    return model(**{name: row[name] for name in model.model_fields})
