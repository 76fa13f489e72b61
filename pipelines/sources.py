"""[[source]]: one place that exports are read from."""

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from pipelines import mistakes
from pipelines.mistakes import mistake
from pipelines.providers import PROVIDERS
from pipelines.values import Id, Name, Table, one_or_many

_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|[\w:-]+\.[\w-]+\.[\w*-]+$")


def is_remote(location: str) -> bool:
    """Say whether a location is a URL or a table's name, and no folder."""
    return _REMOTE.match(location) is not None


class ClusterPlace(Table):
    """Where the nodes of a cluster stand on the bill."""

    node_resource_group: Name


class Source(Table):
    """One export. `location` and `split_location` are absolute once the file is loaded.

    metric: which cost the export holds; splits: who may split a cluster's cost, the preferred
    first; clusters: cluster id, in lower case -> where its nodes stand.
    """

    id: Id
    provider: str
    dataset: str
    location: Name
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] | None = None
    metric: Literal["amortized", "actual"] | None = None
    splits: Annotated[tuple[Name, ...], BeforeValidator(one_or_many)] = ()
    split_location: Name | None = None
    clusters: dict[str, ClusterPlace] = Field(default_factory=dict)

    @field_validator("provider")
    @classmethod
    def _known_provider(cls, value: str) -> str:
        if value not in PROVIDERS:
            raise mistake(mistakes.choice(PROVIDERS), repr(value), _supported())
        return value

    @field_validator("dataset")
    @classmethod
    def _known_dataset(cls, value: str, info: ValidationInfo) -> str:
        provider = PROVIDERS.get(info.data.get("provider", ""))
        if provider is not None and value not in provider.datasets:
            raise mistake(mistakes.choice(provider.datasets), repr(value), _supported())
        return value

    @field_validator("location", "split_location")
    @classmethod
    def _no_secrets(cls, value: str | None) -> str | None:
        if value is None:
            return None
        plain = mistakes.without_secrets(value) if is_remote(value) else value
        if plain != value:
            raise mistake(
                "an address without user, password or query",
                repr(plain),
                "No secret belongs in this file: the provider's own credential chain is used.",
            )
        return value

    @field_validator("metric", "splits", "split_location", "clusters", mode="before")
    @classmethod
    def _key_of_its_provider(cls, value: Any, info: ValidationInfo) -> Any:
        provider = PROVIDERS.get(info.data.get("provider", ""))
        if provider is not None and value and info.field_name not in provider.keys:
            know = [name for name, other in PROVIDERS.items() if info.field_name in other.keys]
            raise mistake(
                "nothing",
                mistakes.shown(value),
                f"Only sources of {mistakes.choice(know)} have this key: leave it out.",
            )
        return value

    @field_validator("splits")
    @classmethod
    def _known_splits(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        provider = PROVIDERS.get(info.data.get("provider", ""))
        known = provider.splits if provider is not None else value
        for name in value:
            if name not in known or value.count(name) > 1:
                raise mistake(f"each of {mistakes.choice(known)} once", repr(name))
        return value

    @field_validator("clusters")
    @classmethod
    def _one_place_each(cls, value: dict[str, ClusterPlace]) -> dict[str, ClusterPlace]:
        lower = {name.lower().rstrip("/"): place for name, place in value.items()}
        if len(lower) < len(value):
            raise mistake("each cluster once", "one id in two spellings")
        return lower

    @model_validator(mode="after")
    def _complete(self) -> "Source":
        provider = PROVIDERS.get(self.provider)
        needed = provider.needs.get(self.dataset) if provider is not None else None
        if needed is not None and getattr(self, needed) is None:
            raise mistake(f"the key {needed}", "nothing", f"{self.dataset} does not say it itself.")
        if bool(self.splits) != (self.split_location is not None):
            raise mistake("`splits` and `split_location`", "one of the two")
        return self


def _supported() -> str:
    pairs = (f"{name} ({', '.join(known.datasets)})" for name, known in PROVIDERS.items())
    return f"This version reads {', '.join(pairs)}."
