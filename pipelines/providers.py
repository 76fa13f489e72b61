"""The providers. This is the only place above `connectors` and `transforms` that names them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    import polars as pl

    from connectors.base import Connector, SplitConnector
    from transforms.sliced import Context, NodeIds, Sliced


class Transform(Protocol):
    """What `pipelines` asks of a provider's transform."""

    @property
    def VERSION(self) -> int:  # noqa: N802
        """Raised when the parts of a file change, so that cached ones are not used again."""

    @property
    def NODE_IDS(self) -> "NodeIds":  # noqa: N802
        """How nodes of inventories are found on the bill."""

    def views(self, context: "Context") -> tuple[str, ...]:
        """Return the cost views that a source has, of `effective` and `billed`."""

    def slice_file(self, raw: "pl.LazyFrame", context: "Context") -> "dict[str, pl.LazyFrame]":
        """Return the named parts of one raw file.

        They may depend on the context's dataset, metric, billing period and labels alone.
        """

    def combine(self, parts: "Mapping[str, pl.LazyFrame]", context: "Context") -> "Sliced":
        """Return the slices of a month from the parts of all its files."""

    def bill_columns(self, columns: Mapping[str, str]) -> dict[str, str]:
        """Return the columns that `Provider.bill_query` reads, each as SQL over the raw columns.

        columns: raw column -> its DuckDB type.
        """


class SplitTransform(Transform, Protocol):
    """A provider whose split of cluster cost is delivered apart from the bill."""

    def slice_split(self, raw: "pl.LazyFrame", context: "Context") -> "dict[str, pl.LazyFrame]":
        """Return the named parts of one split file; they depend on what `slice_file`'s do."""


@dataclass(frozen=True)
class Provider:
    """A provider by its short name, which is the name of its modules too.

    datasets: the forms of export it has; keys: the keys of [[source]] that only some providers
    know; needs: dataset -> the one of these keys it cannot do without; splits: who may split the
    cost of its clusters apart from the bill; asked: those of them that can be asked and need not
    be saved; scopes: how locations begin that are a part of the provider itself, and no folder;
    no_requests: why its workloads cannot be charged by request alone, None where they can.
    """

    name: str
    datasets: tuple[str, ...]
    keys: tuple[str, ...] = ()
    needs: Mapping[str, str] = field(default_factory=dict)
    splits: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    no_requests: str | None = None

    @cached_property
    def connector(self) -> "Connector":
        """The module that fetches this provider's deliveries."""
        return cast("Connector", import_module(f"connectors.{self.name}"))

    @cached_property
    def transform(self) -> Transform:
        """The module that slices this provider's deliveries."""
        return cast("Transform", import_module(f"transforms.{self.name}"))

    @cached_property
    def bill_query(self) -> str:
        """The SQL that sums a raw file without any of the transform's code: its `bill.sql`."""
        return files(f"transforms.{self.name}").joinpath("bill.sql").read_text(encoding="utf-8")

    @property
    def split_connector(self) -> "SplitConnector":
        """The connector of a provider that has `splits`."""
        return cast("SplitConnector", self.connector)

    @property
    def split_transform(self) -> SplitTransform:
        """The transform of a provider that has `splits`."""
        return cast("SplitTransform", self.transform)


_SPLIT_APART = ("metric", "splits", "split_location", "clusters")
_PROVIDERS = (
    Provider("aws", ("cur2", "cur_legacy"), keys=("role",)),
    Provider("gcp", ("gke_detailed",), keys=("maximum_bytes_billed",)),
    Provider(
        "azure",
        ("cost_export", "focus_export"),
        keys=_SPLIT_APART,
        needs={"cost_export": "metric"},
        splits=("query", "agent"),
        asked=("query",),
        scopes=("/subscriptions/", "/providers/Microsoft."),
        no_requests="AKS splits cost by max(request, usage) and delivers no requests",
    ),
)
PROVIDERS = {provider.name: provider for provider in _PROVIDERS}
