"""Which cluster a charge belongs to.

A cluster is its EKS ARN. Pods and control planes carry it; tags carry only a name, sometimes
normalised, which is matched against the clusters of the delivery within the same account.
"""

import re
from collections.abc import Iterable

import polars as pl

from transforms.aws.tags import canonical

_CLUSTER = re.compile(
    r"^arn:[^:]+:eks:(?P<region>[^:]*):(?P<account>[^:]*):cluster/(?P<name>[^/]+)$"
)
CLUSTER_ARN = r"^(arn:[^:]+:eks:[^:]*:[^:]*:)(?:cluster|pod)/([^/]+)"
"""Groups: start of the ARN and the cluster's name, in the ARN of a cluster or of a pod."""


def arn_of_resource(resource: pl.Expr) -> pl.Expr:
    """Return the cluster's ARN where the resource is a cluster or a pod, else NULL."""
    parts = [resource.str.extract(CLUSTER_ARN, group) for group in (1, 2)]
    return pl.concat_str(parts[0], pl.lit("cluster/"), parts[1])


def name_of(cluster_id: pl.Expr) -> pl.Expr:
    """Return the name in a cluster's ARN."""
    return cluster_id.str.extract(r"cluster/([^/]+)$", 1)


def resolve(frame: pl.DataFrame, known: Iterable[str]) -> pl.DataFrame:
    """Add `cluster_id` to a frame with `cluster_arn`, `tag_cluster`, `sub_account_id`, `region_id`.

    The ARN wins; a name is looked up among `known` ARNs of the account; a name that no ARN
    knows becomes the ARN that AWS would give it.
    """
    keys = ["tag_cluster", "sub_account_id", "region_id"]
    known = sorted(set(known))
    tagged = frame.filter(pl.col("tag_cluster").is_not_null()).select(keys).unique()
    found = [_by_name(tag, account, region, known) for tag, account, region in tagged.iter_rows()]
    names = tagged.with_columns(tag_arn=pl.Series(found, dtype=pl.String))
    return (
        frame.join(names, on=keys, how="left", nulls_equal=True, maintain_order="left")
        .with_columns(cluster_id=pl.coalesce("cluster_arn", "tag_arn"))
        .drop("tag_arn")
    )


def _by_name(tag: str, account: str | None, region: str | None, known: list[str]) -> str:
    if tag.startswith("arn:"):
        return tag
    matches = [match for arn in known if (match := _CLUSTER.match(arn))]
    ours = [
        m for m in matches if m["account"] == account and canonical(m["name"]) == canonical(tag)
    ]
    best = sorted(ours, key=lambda m: (m["name"] != tag, m["region"] != region, m.string))
    if best:
        return best[0].string
    return f"arn:{_partition(region)}:eks:{region or ''}:{account or ''}:cluster/{tag}"


def _partition(region: str | None) -> str:
    if region and region.startswith("cn-"):
        return "aws-cn"
    return "aws-us-gov" if region and region.startswith("us-gov-") else "aws"
