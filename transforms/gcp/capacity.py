"""Quantities: what was billed, in hours, and what a node had.

Google splits by requests, so a workload is charged for what it requests; what it used stands
nowhere in the export.
"""

import polars as pl

from transforms.gcp import codes
from transforms.schema import MONEY

_NODE_DAY = ["cluster_id", "node_name", "charge_date", "resource_kind", "quantity_unit"]


def with_quantities(charges: pl.DataFrame) -> pl.DataFrame:
    """Add `quantity_unit`, `requested_quantity`, `charged_quantity`, and what the nodes had.

    A node's capacity is all that was billed of it on a day; what Google keeps for the system is
    not allocatable. Both stand on one idle row of each node, day and resource kind.
    """
    is_workload = pl.col("row_kind") == "workload"
    hours = charges.with_columns(_unit("quantity_unit", 0), hours=_hours()).with_row_index("row")
    return (
        hours.join(_of_nodes(hours), on="row", how="left", maintain_order="left")
        .with_columns(
            requested_quantity=pl.when(is_workload).then("hours"),
            charged_quantity=pl.when(is_workload).then("hours"),
        )
        .drop("hours", "row")
    )


def _of_nodes(hours: pl.DataFrame) -> pl.DataFrame:
    """Return `row`, `capacity_quantity`, `allocatable_quantity` for one idle row a node and day."""
    nodes = hours.filter(pl.col("node_name").is_not_null() & pl.col("namespace").is_not_null())
    reserve = pl.col("hours").filter(pl.col("reason") == "node_reserve").sum()
    had = nodes.group_by(_NODE_DAY).agg(
        capacity_quantity=pl.col("hours").sum(),
        allocatable_quantity=pl.col("hours").sum() - reserve,
    )
    # The same row whatever the order of the files' rows: same input, same bytes.
    return (
        nodes.filter(pl.col("row_kind") == "idle")
        .sort(pl.all().exclude("row"))
        .unique(_NODE_DAY, keep="first", maintain_order=True)
        .join(had, on=_NODE_DAY)
        .select("row", "capacity_quantity", "allocatable_quantity")
    )


def _unit(name: str, part: int) -> pl.Expr:
    known = [
        pl.when((pl.col("resource_kind") == kind) & (pl.col("unit") == unit)).then(
            pl.lit(ours[part])
        )
        for (kind, unit), ours in codes.QUANTITY.items()
    ]
    return pl.coalesce(known).alias(name)


def _hours() -> pl.Expr:
    """Autopilot counts the seconds of thousandths of a core."""
    is_milli = pl.col("sku").str.contains(codes.MILLI_CPU, literal=True).fill_null(value=False)
    of_ours = _unit("of_ours", 1) * pl.when(is_milli).then(1000.0).otherwise(1.0)
    return (pl.col("usage").cast(pl.Float64) / of_ours).cast(MONEY)
