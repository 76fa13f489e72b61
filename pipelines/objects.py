"""The shape of what `--json` prints. Amounts are text with twelve decimals, unknown is null.

These models are the contract with other programs: `leerlauf schema --json-schema COMMAND` prints
what pydantic makes of them.
"""

from datetime import date
from typing import Any, Literal

from pydantic import BaseModel, Field, create_model

from pipelines.objects_base import Amount, Known, Object, Rows
from pipelines.objects_efficiency import Efficiency
from pipelines.objects_idle import Idle
from pipelines.objects_rules import Rules, Variance
from pipelines.objects_setup import Examination, Fetch, Inspection
from transforms.schema import COLUMNS, DAY, MONEY, TABLES, TEXT

# Pydantic takes the fields of the last base first: a head, what it is about, a tail.


class _Kinds(Object):
    workload: Known
    idle: Known
    headroom: Known
    system_overhead: Known
    cluster_fee: Known
    shared: Known
    unattributed: Known


class _ClusterHead(Object):
    provider: str
    cluster_id: str
    cluster_name: str | None
    billing_currency: str
    bill: Amount
    idle_ratio: Known


class Cluster(_Kinds, _ClusterHead):
    """A cluster before anything is distributed; a kind that cannot be known is null."""


class Outside(Object):
    """What is on the bill and belongs to no cluster."""

    provider: str
    reason: str
    billing_currency: str
    amount: Amount


class _TeamHead(Object):
    team: str | None
    provider: str
    cluster_id: str
    billing_currency: str


class Team(_Kinds, _TeamHead):
    """The statement of one team; `team` is null for money without team."""

    corrections: Known
    total: Amount


class _ComparedHead(Object):
    method: str
    by: str | None


class ComparedTeam(Team, _ComparedHead):
    """The statement of one team under one method."""


class Line(Object):
    """One step of a bridge."""

    name: str
    amount: Amount


class Bridge(Object):
    """From the idle a provider reports to the idle shown here: provider_idle + lines = idle."""

    provider: str
    cluster_id: str
    billing_currency: str
    resource_kind: str
    provider_class: str | None
    provider_idle: Amount
    lines: list[Line]
    idle: Amount


class Finding(Object):
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


class _MonthHead(Object):
    billing_period: str | None
    status: Literal["ok", "findings", "failed"]
    month_status: str | None
    cost_view: str | None
    charge_basis: str | None
    clusters: list[Cluster]
    outside: list[Outside]


class _Teams(Object):
    teams: list[Team]


class _ComparedTeams(Object):
    teams: list[ComparedTeam]


class MonthTail(Object):
    """What ends the objects of a month."""

    reconciliation: list[Bridge]
    findings: list[Finding]


class Result(MonthTail, _Teams, _MonthHead):
    """A month by the rules in force. Where nothing was published, the lists are empty."""


class Comparison(MonthTail, _ComparedTeams, _MonthHead):
    """A month under each method; all but idle and headroom follows the rules in force."""


class Method(Object):
    """A method, in the words of its file."""

    method: str
    does: str
    use_it_when: str
    unfair_when: str


class Methods(Rows):
    """What `methods` prints."""

    rows: list[Method]


class Column(Object):
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
    __base__=Object,
    __doc__="What one pool gave to one team, and the files it came from.",
    **{name: _column(name) for name in (*TABLES["postings"], "source_file")},
)


class IdleOfNode(Object):
    """What of a pool of idle or headroom is of one node and cause, and the team's part of it.

    Of each pool the amounts add up to pool_amount, the parts to what its postings gave the team.
    """

    provider: str
    billing_currency: str
    pool_id: str
    node_pool: str | None
    node_name: str | None
    cause: str | None
    amount: Amount
    part: Amount


class Explanation(Rows):
    """What `explain` prints: postings, and the nodes behind those of idle and headroom."""

    rows: list[Posting]
    idle: list[IdleOfNode]


class Failure(Rows):
    """What a command with rows prints when it cannot answer."""

    status: Literal["failed"]
    rows: list[Any] = Field(max_length=0)
    findings: list[Finding]


OBJECTS: dict[str, type[BaseModel]] = {
    "init": Inspection,
    "demo": Result,
    "check": Examination,
    "fetch": Fetch,
    "run": Result,
    "reconcile": Result,
    "compare": Comparison,
    "idle": Idle,
    "efficiency": Efficiency,
    "variance": Variance,
    "explain": Explanation,
    "rules": Rules,
    "sql": Answer,
    "methods": Methods,
    "schema": Schema,
}
"""The object each command prints."""
