"""Azure's code lists. They are closed: what is missing here is reported, never guessed."""

UNUSED = ("UnusedReservation", "UnusedSavingsPlan", "UnusedBenefit")
OUTSIDE_REASON = {
    **dict.fromkeys(UNUSED, "unused_commitment"),
    "Refund": "refund",
    "RoundingAdjustment": "rounding",
    "Tax": "tax",
    "Credit": "credit",
}
CHARGE_TYPES = ("Usage", "Purchase", *OUTSIDE_REASON)
"""Charge types of a cost export. Only `Usage` can be part of a cluster."""

CHARGE_CATEGORY = {
    **dict.fromkeys(("Usage", *UNUSED), "Usage"),
    "Purchase": "Purchase",
    "Refund": "Purchase",
    "RoundingAdjustment": "Adjustment",
    "Tax": "Tax",
    "Credit": "Credit",
}
"""Charge type -> ChargeCategory, as Microsoft maps the two."""

FOCUS_CHARGE_TYPE = {
    "Usage": "Usage",
    "Purchase": "Purchase",
    "Adjustment": "RoundingAdjustment",
    "Tax": "Tax",
    "Credit": "Credit",
}
"""ChargeCategory -> charge type, where neither a commitment's status nor a correction decides."""

FOCUS_UNUSED = {"Reservation": "UnusedReservation", "Savings Plan": "UnusedSavingsPlan"}
"""CommitmentDiscountType of an unused commitment -> charge type."""

PRICING_CATEGORY = {
    "ondemand": "Standard",
    "standard": "Standard",
    "spot": "Dynamic",
    "dynamic": "Dynamic",
    "reservation": "Committed",
    "savingsplan": "Committed",
    "committed": "Committed",
}
"""Pricing model or FOCUS pricing category, in lower case without blanks."""

SERVICE_CATEGORY = {
    "Virtual Machines": "Compute",
    "Virtual Machines Licenses": "Compute",
    "Azure Kubernetes Service": "Containers",
    "Container Instances": "Containers",
    "Container Registry": "Containers",
    "Storage": "Storage",
    "Bandwidth": "Networking",
    "Load Balancer": "Networking",
    "Application Gateway": "Networking",
    "Azure DNS": "Networking",
    "Azure Firewall": "Networking",
    "NAT Gateway": "Networking",
    "Virtual Network": "Networking",
    "Azure Monitor": "Management and Governance",
    "Log Analytics": "Management and Governance",
    "Advanced Threat Protection": "Security",
    "Microsoft Defender for Cloud": "Security",
}
"""Meter category -> FOCUS service category."""

LOGS = ("Azure Monitor", "Log Analytics")

CLUSTER_FEE = {
    "extended_support": r"(?i)long[- ]term support|\bLTS\b",
    "control_plane": r"(?i)uptime sla",
}
"""Reason of a cluster fee -> meters; whatever else is billed on a cluster is a service charge."""

SPLIT_CATEGORIES = {"Compute": "compute", "Storage": "storage", "Networking": "network"}
"""Category of a split cost -> resource kind."""

QUERY_BUCKET = {
    "#idle charges#": "idle",
    "#system charges#": "system",
    "#service charges#": "service",
    "#unallocated charges#": "unallocated",
}
"""Pseudo-namespaces of a Kubernetes query; `#` cannot stand in the name of a real one."""

AGENT_BUCKETS = ("usage", "idle", "system")
AGENT_CATEGORY = {"compute": "Compute", "storage": "Storage", "network": "Networking"}
