"""Which cluster a charge belongs to.

A cluster is its resource id in lower case. Its nodes, disks and load balancers lie in a resource
group of their own, whose name the configuration gives: it is compared whole and within one
subscription, never by its beginning, and never by the pattern `MC_`.
"""

import re
from collections.abc import Mapping

import polars as pl

from transforms.errors import InputError

_MANAGED = (
    r"^(/subscriptions/[^/]+/resourcegroups/[^/]+"
    r"/providers/microsoft\.containerservice/managedclusters/[^/]+)"
)
_ID = (
    r"/subscriptions/([^/]+)/resourcegroups/([^/]+)"
    r"/providers/microsoft\.containerservice/managedclusters/[^/]+"
)
_ID_SHAPE = (
    "/subscriptions/.../resourceGroups/.../providers/Microsoft.ContainerService/managedClusters/..."
)
_SUBSCRIPTION = r"^/subscriptions/([^/]+)"
_GROUP = r"^/subscriptions/[^/]+/resourcegroups/([^/]+)"


def identity(resource: pl.Expr) -> pl.Expr:
    """Return ids in the one form they are compared in: lower case, one slash before, none behind.

    The query's own ids, unlike those of an export, begin without a slash.
    """
    lower = resource.str.strip_chars().str.strip_chars_end("/").str.to_lowercase()
    return pl.when(lower.str.starts_with("subscriptions/")).then("/" + lower).otherwise(lower)


def managed_cluster(resource: pl.Expr) -> pl.Expr:
    """Return the cluster where a resource is one, or lies below one; else NULL."""
    return resource.str.extract(_MANAGED, 1)


def name_of(cluster_id: pl.Expr) -> pl.Expr:
    """Return the name in a cluster's id."""
    return cluster_id.str.extract(r"/managedclusters/([^/]+)$", 1)


def with_clusters(charges: pl.DataFrame, clusters: Mapping[str, str]) -> pl.DataFrame:
    """Add `cluster_id`: the managed cluster itself, else that of the node resource group.

    clusters: cluster id -> node resource group.
    """
    keys = ["sub_account_id", "resource_group"]
    found = charges.join(_groups(clusters), on=keys, how="left", maintain_order="left")
    own = managed_cluster(pl.col("resource_id"))
    return found.with_columns(cluster_id=pl.coalesce(own, "group_cluster")).drop("group_cluster")


def of_resources(resources: pl.Series, clusters: Mapping[str, str]) -> pl.DataFrame:
    """Return `resource_id`, `cluster_id` for the resources in a known node resource group."""
    named = resources.alias("resource_id").unique().to_frame()
    parts = named.with_columns(
        sub_account_id=pl.col("resource_id").str.extract(_SUBSCRIPTION, 1),
        resource_group=pl.col("resource_id").str.extract(_GROUP, 1),
    )
    joined = parts.join(_groups(clusters), on=["sub_account_id", "resource_group"])
    return joined.select("resource_id", cluster_id="group_cluster")


class ConfigurationError(InputError):
    """`clusters` of a source says what cannot be: wrong use, no wrong input."""

    exit_code = 2


def require_places(clusters: Mapping[str, str], source: str) -> None:
    """Refuse ids of no managed cluster, and groups that cannot be its node resource group.

    clusters: cluster id -> node resource group, both in lower case. Raises ConfigurationError.
    """
    seen: dict[tuple[str, str], str] = {}
    for cluster, group in clusters.items():
        parts = re.fullmatch(_ID, cluster)
        if parts is None:
            raise _misplaced(source, _ID_SHAPE, cluster)
        if not re.fullmatch(r"[-\w.()]+", group) or group == parts[2]:
            expected = "the name of the node resource group, which is not the cluster's own group"
            raise _misplaced(source, expected, f"{group} for {cluster}")
        other = seen.setdefault((parts[1], group), cluster)
        if other != cluster:
            expected = "another node resource group for each cluster"
            raise _misplaced(source, expected, f"{group} for {other} and {cluster}")


def _misplaced(source: str, expected: str, got: str) -> ConfigurationError:
    return ConfigurationError(
        "a cluster cannot be found on the bill by what `clusters` says",
        where=f"source {source}, clusters",
        expected=expected,
        got=got,
        hint="`az aks list --query '[].[id, nodeResourceGroup]'` shows both",
    )


def _groups(clusters: Mapping[str, str]) -> pl.DataFrame:
    frame = pl.DataFrame(
        {
            "group_cluster": [name.lower() for name in clusters],
            "resource_group": [group.lower() for group in clusters.values()],
        },
        schema={"group_cluster": pl.String, "resource_group": pl.String},
    )
    subscription = pl.col("group_cluster").str.extract(_SUBSCRIPTION, 1)
    unique = frame.sort("group_cluster").with_columns(sub_account_id=subscription)
    return unique.unique(["sub_account_id", "resource_group"], keep="first", maintain_order=True)
