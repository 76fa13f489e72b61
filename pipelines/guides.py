"""What each provider knows about connecting its exports: `transforms/<provider>/recognise.py`."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from transforms.seen import Seen

if TYPE_CHECKING:
    import polars as pl


class Guide(Protocol):
    """What `init` and `check` ask of a provider."""

    @property
    def STEPS(self) -> Mapping[str, str]:  # noqa: N802
        """Name of a check -> the step that mends what it finds missing."""

    def recognise(self, columns: Sequence[str]) -> str | None:
        """Return the dataset whose header this is, None where it is none of this provider."""

    def refuse(self, columns: Sequence[str]) -> str | None:
        """Return why a header that is a bill of this provider cannot be read."""

    def recognise_split(self, columns: Sequence[str]) -> str | None:
        """Return who split the cost of clusters in a file with this header."""

    def look(self, raw: "pl.LazyFrame") -> Seen:
        """Return what the rows of one recognised file tell."""


def guide(provider: str) -> Guide:
    """Return the guide of a provider by its short name."""
    return cast("Guide", import_module(f"transforms.{provider}.recognise"))
