"""A source's newest delivery of a month, copied into the lake."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from connectors.base import Delivery, ExportSource, Meter, Progress, Receipt, silent
from connectors.errors import DeliveryError
from pipelines.config import Config
from pipelines.errors import ConfigurationError, SeveralError
from pipelines.lake import Lake
from pipelines.providers import PROVIDERS, Provider
from pipelines.slicing import RawFile
from pipelines.sources import Source
from transforms.sliced import Context


@dataclass(frozen=True)
class Found:
    """The deliveries of one month at one place, the newest first, at least one."""

    export: ExportSource
    deliveries: Sequence[Delivery]
    is_split: bool = False


@dataclass(frozen=True)
class Copied:
    """One delivery as it lies in the lake; is_new: it was not there before."""

    receipt: Receipt
    files: tuple[RawFile, ...]
    is_split: bool
    is_new: bool = field(compare=False)

    @property
    def written(self) -> datetime:
        """When the provider wrote it."""
        manifest = [self.receipt.manifest] if self.receipt.manifest else []
        moments: list[datetime] = [file.modified for file in (*self.receipt.files, *manifest)]
        return max(moments)

    @property
    def size(self) -> int:
        """Bytes of its files."""
        return sum(file.size for file in self.files)

    @property
    def took(self) -> Meter:
        """What it took to copy it now."""
        meter = Meter()
        if self.is_new:
            done = self.receipt
            meter.add(calls=done.calls, bytes=done.bytes, retries=done.retries)
        return meter

    def age(self, now: datetime) -> timedelta:
        """Return how old it is; a clock that is behind makes it no younger than now."""
        return max(now - self.written, timedelta())


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


# ---------------------------------------------------------------------------------------------
# Fetching
# ---------------------------------------------------------------------------------------------


def fetch_all(
    config: Config,
    month: str,
    lake: Lake,
    *,
    progress: Callable[[str], None] = lambda _: None,
    copying: Progress = silent,
) -> list[Fetched]:
    """Copy the newest delivery of every source into the lake, unless it is there already.

    A source that fails stops none of the others. Raises DeliveryError, or SeveralError where
    several sources fail; each names its source.
    """
    fetched, problems = [], []
    for source in config.sources:
        progress(f"fetch {source.id}")
        try:
            fetched.append(fetch(source, config, month, lake, copying))
        except DeliveryError as error:
            problems.append(_of_source(source, error))
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise SeveralError(f"{len(problems)} sources cannot be fetched", problems)
    return fetched


def fetch(
    source: Source, config: Config, month: str, lake: Lake, copying: Progress = silent
) -> Fetched:
    """Copy the newest delivery of a source into the lake, unless it is there already.

    Raises DeliveryError.
    """
    found = [find(source, month), find_split(source, month)]
    return copy([part for part in found if part is not None], source, config, month, lake, copying)


def find(source: Source, month: str) -> Found:
    """Find the deliveries of a source. Raises DeliveryError where there is none."""
    export = export_of(source)
    return Found(export, PROVIDERS[source.provider].connector.discover(export, month))


def find_split(source: Source, month: str) -> Found | None:
    """Find who used what, where it comes apart from the bill; None where there is nothing.

    Raises DeliveryError.
    """
    apart = split_of(source)
    if apart is None:
        return None
    try:
        found = PROVIDERS[source.provider].split_connector.discover_splits(apart, month)
    except DeliveryError as error:
        hint = error.hint.replace("`location`", "`split_location`")
        raise _like(error, where=error.where, hint=hint) from error
    return Found(apart, (found,), is_split=True) if found is not None else None


def copy(
    found: Sequence[Found],
    source: Source,
    config: Config,
    month: str,
    lake: Lake,
    copying: Progress = silent,
) -> Fetched:
    """Copy the newest of what was found into the lake. Raises DeliveryError."""
    return Fetched(
        provider=PROVIDERS[source.provider],
        context=context_of(source, config, month),
        deliveries=tuple(
            _copied(part, PROVIDERS[source.provider], lake.path / "raw" / source.id, copying)
            for part in found
        ),
    )


def _copied(part: Found, provider: Provider, folder: Path, copying: Progress) -> Copied:
    started = datetime.now(UTC)
    receipt = provider.connector.fetch(part.export, part.deliveries[0], folder, copying)
    copies = folder / receipt.billing_period / receipt.delivery
    return Copied(
        receipt=receipt,
        files=tuple(
            RawFile(copies / file.name, file.name, file.size, file.sha256, is_split=part.is_split)
            for file in receipt.files
        ),
        is_split=part.is_split,
        is_new=receipt.fetched_at >= started,
    )


def _of_source(source: Source, error: DeliveryError) -> DeliveryError:
    where = f"source {source.id}: {error.where}" if error.where else f"source {source.id}"
    return _like(error, where=where, hint=error.hint)


def _like(error: DeliveryError, *, where: str, hint: str) -> DeliveryError:
    return DeliveryError(
        error.what,
        exit_code=error.exit_code,
        where=where,
        expected=error.expected,
        got=error.got,
        hint=hint,
    )


# ---------------------------------------------------------------------------------------------
# What a source tells others
# ---------------------------------------------------------------------------------------------


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
        charge_basis=config.report.charge_basis,
    )


def wanted_labels(config: Config) -> tuple[str, ...]:
    """The labels that team rules or [lake] labels name; no others are kept."""
    named = {rule.label for rule in config.team_rules if rule.label is not None}
    return tuple(sorted(named | set(config.lake.labels)))


def refuse_what_sources_lack(config: Config, month: str) -> None:
    """Refuse a month in a cost view or on a charge basis that one of its sources does not have.

    Raises ConfigurationError.
    """
    report = config.report
    for source in config.sources:
        provider = PROVIDERS[source.provider]
        views = provider.transform.views(context_of(source, config, month))
        if report.cost_view not in views:
            raise ConfigurationError(
                f"source {source.id} has no {report.cost_view} cost",
                where="[report] cost_view",
                expected=" or ".join(views),
                got=report.cost_view,
                hint=f"set cost_view, or give {source.id} an export that holds this cost",
            )
        if report.charge_basis == "request" and provider.no_requests is not None:
            raise ConfigurationError(
                f"source {source.id} cannot be charged by request: {provider.no_requests}",
                where="[report] charge_basis",
                expected="provider",
                got=report.charge_basis,
                hint=f"set charge_basis to provider, or run {source.id} with a file of its own",
            )
