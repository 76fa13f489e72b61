"""Google's code lists. They are closed: what is missing here is reported, never guessed."""

KUBERNETES_ENGINE = ("CCD8-9BF1-090E", "Kubernetes Engine")
"""Id and description of the service that bills cluster fees and Autopilot pods."""

COST_TYPES = ("regular", "adjustment", "tax", "rounding_error")

PRICE_CREDITS = (
    "SUSTAINED_USAGE_DISCOUNT",
    "COMMITTED_USAGE_DISCOUNT",
    "COMMITTED_USAGE_DISCOUNT_DOLLAR_BASE",
    "FEE_UTILIZATION_OFFSET",
    "DISCOUNT",
    "SUBSCRIPTION_BENEFIT",
    "RESELLER_MARGIN",
)
"""Credits that make the price: they are part of the row's cost."""

PAYMENT_CREDITS = ("FREE_TIER", "PROMOTION")
"""Credits that pay for something: no workload is cheaper for them."""

UNALLOCATED = "kube:unallocated"
SYSTEM_OVERHEAD = "kube:system-overhead"
NAMESPACE_KINDS = {
    UNALLOCATED: ("idle", "unrequested"),
    SYSTEM_OVERHEAD: ("system_overhead", "node_reserve"),
    "goog-k8s-unknown": ("unattributed", "unknown_owner"),
    "goog-k8s-unsupported-sku": ("unattributed", "unsupported_sku"),
}
"""Values of `k8s-namespace` that are no namespace. They are matched whole: a user's own namespace
may start with `goog-k8s-` or `kube-`, but only Google's words hold a colon."""

SPLIT_SOURCE = "gke_cost_allocation"
AUTOPILOT_POD = r"^Autopilot (\S+ )*Pod\b"
"""Also `Autopilot Spot Pod ...`, `Autopilot Balanced Pod ...`; `Autopilot Kubernetes Clusters` is a
fee."""

CLUSTER_NAME = "goog-k8s-cluster-name"
CLUSTER_LOCATION = "goog-k8s-cluster-location"
NODE_POOL = "goog-k8s-node-pool-name"
NAMESPACE = "k8s-namespace"
WORKLOAD_NAME = "k8s-workload-name"
WORKLOAD_TYPE = "k8s-workload-type"
POD_LABEL = "k8s-label/"
NAMESPACE_LABEL = "k8s-namespace-labels/"
UNUSED_RESERVATION = "compute.googleapis.com/is_unused_reservation"

COMMITMENT_FEE = r"^Commitment (?:- dollar based )?v1:"
"""Fees that stand beside the discount they buy; nothing on the bill says what is unused of them."""

NEW_COMMITMENT_FEE = r"Committed Use Discounts - \d+ Year"
"""Fees that their own offset cancels: what remains of one is the unused commitment."""

INSTANCE = r"^projects/[^/]+/instances/([^/]+)$"
"""Group: the name of the virtual machine."""

RESOURCE_WORDS = {
    "cpu": "core|cores|vcpu|mcpu",
    "memory": "ram|memory",
    "gpu": "gpu|tpu",
    "storage": "disk|pd|hyperdisk|storage|ephemeral",
    "network": "network|networking|egress|load balancing|ip|transfer",
}
"""Resource kind -> words of a SKU's description; the first kind that matches counts."""

CAPACITY_KINDS = ("cpu", "memory", "gpu", "compute", "storage")
"""What can stand idle."""

QUANTITY = {
    ("cpu", "seconds"): ("Core-Hours", 3600.0),
    ("memory", "byte-seconds"): ("GiB-Hours", 3600.0 * 2**30),
    ("gpu", "seconds"): ("GPU-Hours", 3600.0),
    ("storage", "byte-seconds"): ("GiB-Hours", 3600.0 * 2**30),
}
"""Resource kind and usage unit -> our unit, and how many of theirs make one of ours."""

MILLI_CPU = "mCPU"
"""In a SKU's description: its seconds are those of a thousandth of a core."""

CHARGE_CATEGORY = {
    "regular": "Usage",
    "adjustment": "Adjustment",
    "rounding_error": "Adjustment",
    "tax": "Tax",
}
SERVICE_CATEGORY = {
    "Compute Engine": "Compute",
    "Kubernetes Engine": "Containers",
    "Cloud Storage": "Storage",
    "Networking": "Networking",
    "Cloud Logging": "Management and Governance",
    "Cloud Monitoring": "Management and Governance",
    "BigQuery": "Analytics",
    "Cloud SQL": "Databases",
}
