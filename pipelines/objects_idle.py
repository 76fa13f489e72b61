"""The shape of what `idle` prints with `--json`."""

from datetime import date
from typing import Literal

from pipelines.objects_base import Amount, Object, Rows

Cause = Literal["empty_node", "stranded", "fragment", "minimum_size", "scale_down_wait", "rest"]


class IdlePart(Object):
    """What stood idle on one node and day, why, and what moves it.

    node_pool and node_name are null where the provider names none; cause and lever are null in
    months that an earlier version ran. pricing_category is Dynamic on Spot and Committed under
    commitments.
    """

    provider: str
    billing_currency: str
    cluster_id: str
    node_pool: str | None
    node_name: str | None
    resource_kind: str
    charge_date: date
    reason: str
    cause: Cause | None
    lever: str | None
    pricing_category: str | None
    amount: Amount


class Idle(Rows):
    """What `idle` prints: rows that add up to the idle of each cluster, before distribution."""

    rows: list[IdlePart]
