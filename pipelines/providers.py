"""The providers. This is the only place above `connectors` and `transforms` that names them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    import polars as pl

    from connectors.base import Connector
    from transforms.sliced import Context, Sliced


class Transform(Protocol):
    """What `pipelines` asks of a provider's transform."""

    @property
    def VERSION(self) -> int:  # noqa: N802
        """Raised when the parts of a file change, so that cached ones are not used again."""

    def slice_file(
        self, raw: "pl.LazyFrame", *, labels: Sequence[str], billing_period: str
    ) -> "dict[str, pl.LazyFrame]":
        """Return the named parts of one raw file."""

    def combine(self, parts: "Mapping[str, pl.LazyFrame]", context: "Context") -> "Sliced":
        """Return the slices of a month from the parts of all its files."""

    def bill_columns(self, header: Sequence[str]) -> dict[str, str | None]:
        """Return the columns that the bill query reads -> the raw column, None where absent."""

    def bill_query(self) -> str:
        """Return the SQL that sums a raw file without any of the transform's code."""


@dataclass(frozen=True)
class Provider:
    """A provider by its short name, which is the name of its modules too."""

    name: str
    datasets: tuple[str, ...]

    @cached_property
    def connector(self) -> "Connector":
        """The module that fetches this provider's deliveries."""
        return cast("Connector", import_module(f"connectors.{self.name}"))

    @cached_property
    def transform(self) -> Transform:
        """The module that slices this provider's deliveries."""
        return cast("Transform", import_module(f"transforms.{self.name}"))


PROVIDERS = {
    provider.name: provider for provider in (Provider("aws", datasets=("cur2", "cur_legacy")),)
}
