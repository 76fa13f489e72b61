"""[[source]]: one place that exports are read from."""

import re
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    BeforeValidator,
    ByteSize,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from pipelines import mistakes
from pipelines.mistakes import mistake
from pipelines.providers import PROVIDERS
from pipelines.values import Id, Name, Table, one_or_many

KEYS = tuple(sorted({key for provider in PROVIDERS.values() for key in provider.keys}))
"""The keys that only some providers know."""

Metric = Literal["amortized", "actual"]
METRICS = get_args(Metric)
_ADDRESS = re.compile(r"https?://[^/?#\s]+")
_ENDPOINT = "Leave it out, unless the service is reached by an address of its own."
_METRIC = (
    "amortized: commitments spread over their use; actual: as invoiced. The settings of the "
    "export show its type."
)
_HOW_TO_KNOW = {"metric": _METRIC}
_WHO_SPLITS = "Name who split the cost of the clusters, the preferred first; the README tells how."
_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|[\w:-]+\.[\w-]+\.[\w*-]+$")
_SCOPES = tuple(scope.lower() for provider in PROVIDERS.values() for scope in provider.scopes)


def is_remote(location: str) -> bool:
    """Say whether a location is a URL, a table's name or a provider's scope, and no folder."""
    return _REMOTE.match(location) is not None or location.lower().startswith(_SCOPES)


class ClusterPlace(Table):
    """Where the nodes of a cluster stand on the bill."""

    node_resource_group: Name


class Source(Table):
    """One export. `location` and `split_location` are absolute once the file is loaded.

    endpoint: the address of the provider's service, where it is not the usual one; role: the role
    to read with; maximum_bytes_billed: what a query may cost at most; metric: which cost the
    export holds; splits: who may split a cluster's cost, the preferred first; clusters: cluster
    id, in lower case -> where its nodes stand.
    """

    id: Id
    provider: str
    dataset: str
    location: Name
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] | None = None
    endpoint: Name | None = None
    role: Name | None = None
    maximum_bytes_billed: Annotated[ByteSize, Field(gt=0)] | None = None
    metric: Metric | None = None
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

    @field_validator("location", "split_location", "endpoint")
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

    @field_validator("endpoint")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        if value is not None and not _ADDRESS.match(value):
            raise mistake("an http or https address", repr(value), _ENDPOINT)
        return value

    @field_validator("metric", mode="before")
    @classmethod
    def _known_metric(cls, value: Any) -> Any:
        if value is not None and value not in METRICS:
            raise mistake(mistakes.choice(METRICS), mistakes.shown(value), _METRIC)
        return value

    @field_validator(*KEYS, mode="before")
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
                raise mistake(f"each of {mistakes.choice(known)} once", repr(name), _WHO_SPLITS)
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
            hint = f"{self.dataset} does not say it itself. {_HOW_TO_KNOW.get(needed, '')}"
            raise mistake(f"the key {needed}", "nothing", hint.rstrip())
        if self.split_location is not None and not self.splits:
            raise mistake("`splits` beside `split_location`", "nothing", _WHO_SPLITS)
        return self

    @model_validator(mode="after")
    def _somewhere(self) -> "Source":
        """Refuse splits that can only be read where nobody says where they lie."""
        provider = PROVIDERS.get(self.provider)
        saved = [name for name in self.splits if provider and name not in provider.asked]
        if saved and self.split_location is None:
            raise mistake(
                "`split_location` beside `splits`",
                "nothing",
                f"Name the folder or container with what {mistakes.choice(saved)} saved.",
            )
        return self


def _supported() -> str:
    pairs = (f"{name} ({', '.join(known.datasets)})" for name, known in PROVIDERS.items())
    return f"This version reads {', '.join(pairs)}."
