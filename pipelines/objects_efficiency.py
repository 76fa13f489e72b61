"""The shape of what `efficiency` prints with `--json`."""

from pipelines.objects_base import Amount, Known, Object, Rows


class Use(Object):
    """What one workload requested of a resource, used of it and cost, and what nobody used.

    Quantities are in quantity_unit. They are null where a part was not measured, and so is
    workload_idle: the cost of what was requested and not used, a part of workload.
    """

    provider: str
    billing_currency: str
    cluster_id: str
    team: str | None
    namespace: str | None
    workload_name: str | None
    resource_kind: str
    quantity_unit: str | None
    requested_quantity: Known
    used_quantity: Known
    workload: Amount
    workload_idle: Known


class Efficiency(Rows):
    """What `efficiency` prints: rows whose `workload` adds up to the teams' workload."""

    rows: list[Use]
