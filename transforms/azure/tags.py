"""The tags of a row: a JSON object, which some exports write without its braces.

Keys are compared in one canonical form, values are never changed, and an empty value is none.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from transforms.cells import text
from transforms.labels import canonical, collisions, spellings

POOL = ("aks-managed-poolName", "poolName")
CLAIM_NAMESPACE = "kubernetes.io-created-for-pvc-namespace"
CLAIM_NAME = "kubernetes.io-created-for-pvc-name"
CREATED_BY = "k8s-azure-created-by"
SERVICE = ("k8s-azure-service", "service")
CLUSTER_NAME = "aks-managed-cluster-name"
CLUSTER_GROUP = "aks-managed-cluster-rg"

_PAIRS = pl.Map(pl.String(), pl.String())


@dataclass(frozen=True)
class Tags:
    """The tags of a file.

    spelled: canonical key -> the raw keys that spell it; unreadable: cells that are no tags.
    """

    spelled: dict[str, list[str]]
    unreadable: tuple[str, ...] = ()

    @classmethod
    def of(cls, keys: Iterable[str], unreadable: Iterable[str] = ()) -> "Tags":
        """Return the tags with these raw keys, in a file with these cells that are none."""
        return cls(spellings(keys), tuple(unreadable))

    def decoded(self, cell: pl.Expr) -> pl.Expr:
        """Return tags as a map; a cell that is unreadable has none."""
        if not self.unreadable:
            return decoded(cell)
        return decoded(pl.when(~cell.is_in(list(self.unreadable))).then(cell))

    def unread(self) -> pl.LazyFrame:
        """Return the unreadable cells: the part `unread_tags`, one column of that name."""
        return pl.LazyFrame({"unread_tags": self.unreadable}, schema={"unread_tags": pl.String})

    def value(self, *keys: str) -> pl.Expr:
        """Return the first filled value of `keys`, read from the decoded column `tags`."""
        raws = [raw for key in keys for raw in self.spelled.get(canonical(key), ())]
        reads = [text(pl.col("tags").map.get(raw)) for raw in raws]
        return pl.coalesce(*reads, pl.lit(None, dtype=pl.String))

    def colliding(self, wanted: Sequence[str]) -> pl.LazyFrame:
        """Return the wanted labels that are spelled in several ways: the part `spellings`."""
        return collisions((key, self.spelled.get(canonical(key), [])) for key in wanted)


def decoded(cell: pl.Expr) -> pl.Expr:
    """Return tags as a map; braces are added where the export left them out."""
    bare = cell.str.strip_chars()
    braced = pl.concat_str(pl.lit("{"), bare, pl.lit("}"))
    is_whole = bare.str.starts_with("{")
    is_filled = ~bare.is_in(["", "null"])
    return pl.when(is_whole).then(bare).when(is_filled).then(braced).str.json_decode(_PAIRS)
