"""The shape of what `--json` prints. Amounts are text with twelve decimals, unknown is null.

These models are the contract with other programs: `leerlauf schema --json-schema COMMAND` prints
what pydantic makes of them.
"""

from datetime import date
from decimal import Context, Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from transforms.schema import COLUMNS, DAY, MONEY, TABLES, TEXT

QUANTUM = Decimal("1e-12")
DIGITS = Context(prec=60)


def _exact(value: Any) -> Any:
    """Write a number out: Decimal would print 0E-12."""
    return (
        format(Decimal(value).quantize(QUANTUM, context=DIGITS), "f") if value is not None else None
    )


Amount = Annotated[str, BeforeValidator(_exact), Field(pattern=r"^-?[0-9]+\.[0-9]{12}$")]
Known = Amount | None
"""An amount that may be unknown."""


class _Object(BaseModel):
    model_config = ConfigDict(extra="forbid")


# Pydantic takes the fields of the last base first: a head, what it is about, a tail.


class _Kinds(_Object):
    workload: Known
    idle: Known
    headroom: Known
    system_overhead: Known
    cluster_fee: Known
    shared: Known
    unattributed: Known


class _ClusterHead(_Object):
    provider: str
    cluster_id: str
    cluster_name: str | None
    billing_currency: str
    bill: Amount
    idle_ratio: Known


class Cluster(_Kinds, _ClusterHead):
    """A cluster before anything is distributed; a kind that cannot be known is null."""


class Outside(_Object):
    """What is on the bill and belongs to no cluster."""

    provider: str
    reason: str
    billing_currency: str
    amount: Amount


class _TeamHead(_Object):
    team: str | None
    provider: str
    cluster_id: str
    billing_currency: str


class Team(_Kinds, _TeamHead):
    """The statement of one team; `team` is null for money without team."""

    corrections: Known
    total: Amount


class _ComparedHead(_Object):
    method: str
    by: str | None


class ComparedTeam(Team, _ComparedHead):
    """The statement of one team under one method."""


class Line(_Object):
    """One step of a bridge."""

    name: str
    amount: Amount


class Bridge(_Object):
    """From the idle a provider reports to the idle shown here: provider_idle + lines = idle."""

    provider: str
    cluster_id: str
    billing_currency: str
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


class _MonthHead(_Object):
    billing_period: str | None
    status: Literal["ok", "findings", "failed"]
    month_status: str | None
    cost_view: str | None
    charge_basis: str | None
    clusters: list[Cluster]
    outside: list[Outside]


class _Teams(_Object):
    teams: list[Team]


class _ComparedTeams(_Object):
    teams: list[ComparedTeam]


class MonthTail(_Object):
    """What ends the objects of a month."""

    reconciliation: list[Bridge]
    findings: list[Finding]


class Result(MonthTail, _Teams, _MonthHead):
    """A month by the rules in force. Where nothing was published, the lists are empty."""


class Comparison(MonthTail, _ComparedTeams, _MonthHead):
    """A month under each method; all but idle and headroom follows the rules in force."""


class Rows(_Object):
    """What the objects of the other commands have in common."""

    billing_period: str | None


class Method(_Object):
    """A method, in the words of its file."""

    method: str
    does: str
    use_it_when: str
    unfair_when: str


class Methods(Rows):
    """What `methods` prints."""

    rows: list[Method]


class Column(_Object):
    """A column of a table in the lake."""

    table: str
    column: str
    type: str
    unit: str | None
    meaning: str


class Schema(Rows):
    """What `schema` prints."""

    rows: list[Column]
    system_namespaces: list[str]


class Answer(Rows):
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


class Explanation(Rows):
    """What `explain` prints."""

    rows: list[Posting]


class FoundSource(_Object):
    """An export that was found; `used` is false where it shows the bill of another once more."""

    provider: str
    source: str
    billing_currency: str | None
    dataset: str
    location: str
    months: list[str]
    metric: str | None
    splits: list[str]
    split_location: str | None
    clusters: list[str]
    used: bool
    problem: str | None


class Inspection(Rows):
    """What `init` prints: the file it wrote, the command to go on with, and what it found."""

    file: str
    next: str
    rows: list[FoundSource]


class Check(_Object):
    """One answer; `actual` says what is, `hint` the step that mends it."""

    provider: str | None
    source: str | None
    billing_currency: str | None
    cluster_id: str | None
    check: str
    status: Literal["ok", "warning", "error"]
    actual: str
    expected: str | None
    hint: str | None


class Examination(Rows):
    """What `check` prints."""

    rows: list[Check]


class Failure(Rows):
    """What a command with rows prints when it cannot answer."""

    status: Literal["failed"]
    rows: list[Any] = Field(max_length=0)
    findings: list[Finding]


OBJECTS: dict[str, type[BaseModel]] = {
    "init": Inspection,
    "demo": Result,
    "check": Examination,
    "run": Result,
    "reconcile": Result,
    "compare": Comparison,
    "explain": Explanation,
    "sql": Answer,
    "methods": Methods,
    "schema": Schema,
}
"""The object each command prints."""
