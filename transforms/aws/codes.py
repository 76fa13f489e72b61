"""AWS's code lists. They are closed: what is missing here is reported, never guessed."""

import re

USAGE_TYPES = ("Usage", "SavingsPlanCoveredUsage", "DiscountedUsage")
"""Line-item types of resources in use; the only ones that can be part of a cluster."""

COVERED = "SavingsPlanCoveredUsage"
COMMITMENT_FEES = ("SavingsPlanRecurringFee", "RIFee")
DISCOUNTS = ("EdpDiscount", "PrivateRateDiscount", "BundledDiscount", "SppDiscount")

OUTSIDE_REASON = {
    "Tax": "tax",
    "Credit": "credit",
    "Refund": "refund",
    "SavingsPlanNegation": "commitment_offset",
    "SavingsPlanUpfrontFee": "commitment_fee",
    **dict.fromkeys(COMMITMENT_FEES, "commitment_fee"),
    **dict.fromkeys(DISCOUNTS, "discount"),
}
LINE_ITEM_TYPES = (*USAGE_TYPES, "Fee", *OUTSIDE_REASON)

CHARGE_CATEGORY = {
    **dict.fromkeys(USAGE_TYPES, "Usage"),
    "Fee": "Purchase",
    "SavingsPlanUpfrontFee": "Purchase",
    **dict.fromkeys(COMMITMENT_FEES, "Purchase"),
    "Tax": "Tax",
    "Credit": "Credit",
    "Refund": "Adjustment",
    "SavingsPlanNegation": "Adjustment",
    **dict.fromkeys(DISCOUNTS, "Adjustment"),
}
PRICING_CATEGORY = {"OnDemand": "Standard", "Spot": "Dynamic", "Reserved": "Committed"}

SPLIT_OPERATIONS = {"EKSPod-EC2": "eks", "ECSTask-EC2": "ecs"}
FARGATE_POD = "FargatePod"

SPLIT_SUFFIX = {
    "EKS-EC2-vCPU-Hours": "cpu",
    "EKS-EC2-GB-Hours": "memory",
    "EKS-EC2-Accelerator-Hours": "gpu",
}
"""End of the usage type of a split row -> resource kind."""

FARGATE_RESOURCE = {
    "cpu": r"Fargate-(?:.*-)?vCPU-Hours",
    "storage": r"Fargate-EphemeralStorage-GB-Hours",
    "memory": r"Fargate-(?:.*-)?GB-Hours",
}
QUANTITY_UNIT = {
    "cpu": "Core-Hours",
    "memory": "GiB-Hours",
    "gpu": "GPU-Hours",
    "storage": "GiB-Hours",
}

CLUSTER_FEE = {
    "extended_support": r"AmazonEKS-Hours:extendedSupport$",
    "control_plane": r"AmazonEKS-Hours:(?:perCluster|.*ProvisionedTier.*)$",
    "auto_mode": r"EKS-Auto:",
    "service_charge": r"AmazonEKSHybridNodes-|AmazonEKSCapabilities-",
}
"""Reason of a cluster fee -> usage types of product AmazonEKS."""

NODE_USAGE = r"(?:BoxUsage|SpotUsage|DedicatedUsage|HostBoxUsage)"
TRANSFER = r"DataTransfer|-Bytes|NatGateway|PublicIPv4|VpcEndpoint|VPN|TransitGateway"
SUPPORT = r"Support"

WEIGHTS = {"cpu": 9, "memory": 1}
ACCELERATED_WEIGHTS = {"gpu": 90, "cpu": 9, "memory": 1}
"""AWS's price weights per vCPU, GB and accelerator, as whole numbers (9 : 1 and 9 : 0.9 : 0.1)."""

SERVICE_CATEGORY = {
    "AmazonEC2": "Compute",
    "AmazonEKS": "Containers",
    "AmazonECS": "Containers",
    "AmazonVPC": "Networking",
    "AWSELB": "Networking",
    "AWSDataTransfer": "Networking",
    "AmazonS3": "Storage",
    "AmazonEFS": "Storage",
    "AmazonCloudWatch": "Management and Governance",
    "AmazonRDS": "Databases",
}

POD_ARN = re.compile(r"^(arn:[^:]+:eks:[^:]*:[^:]*:)pod/([^/]+)/([^/]+)/([^/]+)")
"""Groups: start of the ARN, cluster, namespace, pod."""
