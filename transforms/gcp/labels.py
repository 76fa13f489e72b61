"""Labels of a row: Google's own by their exact key, a team's own in any spelling.

Pod labels arrive as `k8s-label/<key>`, labels of the namespace as `k8s-namespace-labels/<key>`,
labels of the resource as they are. In this order the first filled value counts.
"""

from collections.abc import Iterable, Iterator, Sequence

import polars as pl

from transforms.cells import text
from transforms.gcp.codes import NAMESPACE_LABEL, POD_LABEL
from transforms.labels import canonical, collisions, spellings


def value(key: str, column: str = "labels") -> pl.Expr:
    """Return the value of one key of a list of pairs; an empty value is NULL."""
    pair = pl.element().struct.field
    return text(pl.col(column).list.agg(pair("value").filter(pair("key") == key).first()))


def found_keys(rows: pl.LazyFrame) -> list[str]:
    """Return the label keys of a file, sorted. Reads the labels once."""
    keys = pl.col("labels").list.eval(pl.element().struct.field("key"))
    different = rows.select(keys.unique()).collect(engine="streaming")
    return different.to_series().explode().drop_nulls().unique().sort().to_list()


def wanted(found: Iterable[str], label: str) -> pl.Expr:
    """Return the value of a label that a team rule or `[lake] labels` names."""
    keys = [key for raws in _levels(found, label) for key in raws]
    return pl.coalesce(*map(value, keys), pl.lit(None, dtype=pl.String)).alias(f"label:{label}")


def colliding(found: Iterable[str], labels: Sequence[str]) -> pl.LazyFrame:
    """Return the wanted labels that one level spells in more than one way: the part `spellings`."""
    return collisions((label, raws) for label in labels for raws in _levels(found, label))


def _levels(found: Iterable[str], label: str) -> Iterator[list[str]]:
    """Yield the raw keys that spell a label: of pods, of namespaces, of resources."""
    keys = list(found)
    for prefix in (POD_LABEL, NAMESPACE_LABEL):
        own = [key.removeprefix(prefix) for key in keys if key.startswith(prefix)]
        yield [f"{prefix}{key}" for key in spellings(own).get(canonical(label), ())]
    others = [key for key in keys if not key.startswith((POD_LABEL, NAMESPACE_LABEL))]
    yield spellings(others).get(canonical(label), [])
