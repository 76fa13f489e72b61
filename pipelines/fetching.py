"""A source's newest delivery of a month, copied into the lake."""

from dataclasses import dataclass, replace
from pathlib import Path

from connectors.base import ExportSource, Receipt, silent
from pipelines.config import Config
from pipelines.errors import ConfigurationError
from pipelines.lake import Lake
from pipelines.providers import PROVIDERS, Provider
from pipelines.slicing import RawFile
from pipelines.sources import Source
from transforms.sliced import Context


@dataclass(frozen=True)
class Copied:
    """One delivery as it lies in the lake."""

    delivery: str
    provider_run_id: str | None
    files: tuple[RawFile, ...]


@dataclass(frozen=True)
class Fetched:
    """One month of one source: the export, and the split files where they come apart."""

    provider: Provider
    context: Context
    deliveries: tuple[Copied, ...]

    @property
    def files(self) -> tuple[RawFile, ...]:
        """All files."""
        return tuple(file for copied in self.deliveries for file in copied.files)

    @property
    def bills(self) -> tuple[RawFile, ...]:
        """The files whose rows are the bill."""
        return tuple(file for file in self.files if not file.is_split)


def fetch(source: Source, config: Config, month: str, lake: Lake) -> Fetched:
    """Copy the newest delivery of a source into the lake, unless it is there already.

    Raises DeliveryError.
    """
    provider = PROVIDERS[source.provider]
    export = export_of(source)
    found = [(export, provider.connector.discover(export, month)[0], False)]
    apart = split_of(source)
    if apart is not None:
        split = provider.split_connector.discover_splits(apart, month)
        found += [(apart, split, True)] if split is not None else []
    folder = lake.path / "raw" / source.id
    return Fetched(
        provider=provider,
        context=context_of(source, config, month),
        deliveries=tuple(
            _copied(provider.connector.fetch(where, delivery, folder, silent), folder, is_split)
            for where, delivery, is_split in found
        ),
    )


def export_of(source: Source) -> ExportSource:
    """Return what a connector is told about a source."""
    return ExportSource(
        location=source.location,
        dataset=source.dataset,
        metric=source.metric,
        endpoint=source.endpoint,
        role=source.role,
        maximum_bytes_billed=source.maximum_bytes_billed,
        clusters=tuple(source.clusters),
    )


def split_of(source: Source) -> ExportSource | None:
    """Return where the split of a source lies, "" where its provider is asked; None without one."""
    if not source.splits:
        return None
    return replace(export_of(source), location=source.split_location or "")


def context_of(source: Source, config: Config, month: str) -> Context:
    """Return what a transform is told about a source."""
    return Context(
        provider=source.provider,
        source=source.id,
        dataset=source.dataset,
        billing_period=month,
        labels=wanted_labels(config),
        currency=source.currency,
        metric=source.metric,
        clusters={name: at.node_resource_group.lower() for name, at in source.clusters.items()},
        splits=source.splits,
    )


def wanted_labels(config: Config) -> tuple[str, ...]:
    """The labels that team rules or [lake] labels name; no others are kept."""
    named = {rule.label for rule in config.team_rules if rule.label is not None}
    return tuple(sorted(named | set(config.lake.labels)))


def refuse_missing_views(config: Config, month: str) -> None:
    """Refuse a month in a cost view that one of its sources does not have.

    Raises ConfigurationError.
    """
    for source in config.sources:
        context = context_of(source, config, month)
        views = PROVIDERS[source.provider].transform.views(context)
        if config.report.cost_view not in views:
            raise ConfigurationError(
                f"source {source.id} has no {config.report.cost_view} cost",
                where="[report] cost_view",
                expected=" or ".join(views),
                got=config.report.cost_view,
                hint=f"set cost_view, or give {source.id} an export that holds this cost",
            )


def _copied(receipt: Receipt, folder: Path, is_split: bool) -> Copied:  # noqa: FBT001
    copies = folder / receipt.billing_period / receipt.delivery
    return Copied(
        delivery=receipt.delivery,
        provider_run_id=receipt.provider_run_id,
        files=tuple(
            RawFile(copies / file.name, file.name, file.size, file.sha256, is_split=is_split)
            for file in receipt.files
        ),
    )
