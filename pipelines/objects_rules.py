"""The shape of what `rules` and `variance` print with `--json`."""

from datetime import date
from typing import Literal

from pipelines.objects_base import Amount, Known, Object, Rows


class Rule(Object):
    """What one rule decides in one period; `valid_to` is exclusive, and open ends are null.

    row_kind is null where a rule decides about none; method, scope and by stand on allocation
    rules alone, as far as the method looks at them.
    """

    provider: None
    billing_currency: None
    kind: Literal["allocation_rule", "team_rule", "headroom", "node_pool", "operator", "system"]
    row_kind: str | None
    cluster: str
    valid_from: date | None
    valid_to: date | None
    rule: str
    method: str | None
    scope: str | None
    by: str | None
    what: str


class Rules(Rows):
    """What `rules` prints: the calendar of the rules that apply."""

    rows: list[Rule]


class Part(Object):
    """One part of what moved a line. The seven parts of a line add up to its change, exactly.

    The sentence is about the whole line and stands on each of its parts.
    """

    provider: str
    billing_currency: str
    team: str | None
    cluster_id: str
    part: Literal[
        "own_requests",
        "unit_price",
        "idle_volume",
        "others",
        "headroom_and_overhead",
        "rule_change",
        "corrections",
    ]
    amount: Amount
    sentence: str


class Restated(Object):
    """A line in one of the two months, by its own rules and by those of the other month's last day.

    The latter is null where it cannot be known; `reason` says why.
    """

    provider: str
    billing_currency: str
    team: str | None
    cluster_id: str
    month: str
    total: Amount
    total_under_other_rules: Known
    reason: str | None


class Variance(Rows):
    """What `variance` prints; `billing_period` is the newer month."""

    rows: list[Part]
    restated: list[Restated]
