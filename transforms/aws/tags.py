"""Tag keys in all their spellings.

AWS writes one key as `aws:eks:namespace`, `aws_eks_namespace`, `user:team`, `user_team` or
`team`, in a map (CUR 2.0), in a newer map without normalisation, or in a column of its own
(legacy). Keys are compared in one canonical form; values are never changed.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from transforms import labels
from transforms.aws.columns import tag_columns
from transforms.cells import text

CLUSTER_KEYS = (
    "aws:eks:cluster-name",
    "eks:cluster-name",
    "eks:eks-cluster-name",
    "alpha.eksctl.io/cluster-name",
    "elbv2.k8s.aws/cluster",
    "KubernetesCluster",
    "kubernetes_cluster",
)
CLUSTER_PREFIX = "kubernetes.io/cluster/"
"""The cluster's name is part of the key: `kubernetes.io/cluster/shop = owned`."""

NODE_POOL_KEYS = (
    "eks:nodegroup-name",
    "karpenter.sh/nodepool",
    "alpha.eksctl.io/nodegroup-name",
    "eks.amazonaws.com/nodegroup",
)
NODE_KEYS = (*NODE_POOL_KEYS, "aws:autoscaling:groupName", "aws:ec2launchtemplate:id")
CLAIM_NAMESPACE = "kubernetes.io/created-for/pvc/namespace"
CLAIM_NAME = "kubernetes.io/created-for/pvc/name"
VOLUME_KEYS = ("kubernetes.io/created-for/pv/name", "CSIVolumeName", "ebs.csi.aws.com/cluster")

POD_KEYS = {
    "node_name": "aws:eks:node",
    "tag_namespace": "aws:eks:namespace",
    "tag_cluster": "aws:eks:cluster-name",
    "workload_type": "aws:eks:workload-type",
    "workload_name": "aws:eks:workload-name",
    "deployment": "aws:eks:deployment",
}
_USER_PREFIX = re.compile(r"^user[:_]")


def canonical(key: str) -> str:
    """Return the form in which two spellings of one tag key are equal, with or without `user:`."""
    return labels.canonical(_USER_PREFIX.sub("", key))


@dataclass(frozen=True)
class Tags:
    """The tag keys that really occur in a file, and how to read each of them."""

    spellings: dict[str, tuple[tuple[str, pl.Expr], ...]]
    """canonical key -> the raw spellings with the expression that reads each."""

    def value(self, *keys: str) -> pl.Expr:
        """Return the first filled value of `keys`, in order; NULL where none is filled."""
        reads = [read for key in keys for _, read in self.spellings.get(canonical(key), ())]
        return pl.coalesce(*map(text, reads), pl.lit(None, dtype=pl.String))

    def cluster(self) -> pl.Expr:
        """Return the cluster's name as the tags of a resource give it.

        A key such as `kubernetes.io/cluster/shop-prod` may arrive normalised, as
        `user_kubernetes_io_cluster_shop_prod`; the name is then the normalised one and is
        matched against the clusters of the delivery later.
        """
        prefix = canonical(CLUSTER_PREFIX)
        owned = [
            pl.when(read.is_not_null()).then(pl.lit(_name_in_key(raw)))
            for key in sorted(self.spellings)
            if key.startswith(prefix)
            for raw, read in self.spellings[key]
        ]
        return pl.coalesce(self.value(*CLUSTER_KEYS), *owned)

    def colliding(self, keys: Iterable[str]) -> pl.LazyFrame:
        """Return the wanted keys that occur in more than one spelling: the part `spellings`."""
        found = {key: {raw for raw, _ in self.spellings.get(canonical(key), ())} for key in keys}
        return labels.collisions((key, sorted(raws)) for key, raws in found.items())


def _name_in_key(raw: str) -> str:
    plain = _USER_PREFIX.sub("", raw)
    return plain[len(CLUSTER_PREFIX) :]


def discover(rows: pl.LazyFrame) -> Tags:
    """Return the tag keys of a file. Reads the key columns of `rows` once."""
    schema = rows.collect_schema()
    spellings: dict[str, list[tuple[str, pl.Expr]]] = {}
    for column, key in sorted(tag_columns(list(schema)).items(), key=lambda item: item[1]):
        spellings.setdefault(canonical(key), []).append((key, pl.col(column)))
    for column in ("resource_tags", "tags"):
        if column in schema:
            for key in _keys(rows, column):
                spellings.setdefault(canonical(key), []).append((key, pl.col(column).map.get(key)))
    return Tags({key: tuple(reads) for key, reads in spellings.items()})


def _keys(rows: pl.LazyFrame, column: str) -> list[str]:
    keys = rows.select(pl.col(column).map.keys().explode().unique().drop_nulls())
    return sorted(keys.collect(engine="streaming").to_series().to_list())
