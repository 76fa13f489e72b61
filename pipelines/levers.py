"""Which lever belongs to a cause of idle: what a person can move so that less stands idle."""

LEVERS = {
    "empty_node": "Let the autoscaler consolidate: loosen its scale-down settings.",
    "stranded": "Choose node shapes with the ratio of CPU to memory that pods request.",
    "fragment": "Take larger nodes or smaller pods, so that less is left over on each.",
    "minimum_size": "Lower min_nodes of the node pool.",
    "scale_down_wait": "Shorten the scale-down delay of the autoscaler.",
    "rest": "Check requests and the autoscaler's headroom; rightsize or commit to what must stay.",
}
"""One sentence for each of CAUSES."""

DISKS = "Delete disks that no pod mounts, and shrink those that are too large."


def lever(cause: str | None, resource_kind: str) -> str | None:
    """Return what moves idle of this cause; None where no cause is known."""
    if resource_kind == "storage" and cause == "rest":
        return DISKS
    return LEVERS.get(cause) if cause else None
