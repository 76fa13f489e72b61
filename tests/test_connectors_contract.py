"""What every connector keeps, wherever its exports lie: in a folder, a bucket or a container.

A provider is covered by being listed in `pipelines.providers`; its exports are those of its
sources in the demo's configuration, and the servers are real ones.
"""

import hashlib
import logging
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from connectors import retry
from connectors.base import Progress, Receipt, silent
from connectors.errors import DeliveryError
from pipelines import config as configuration
from pipelines import fetching
from pipelines.config import Config
from pipelines.lake import Lake
from pipelines.providers import PROVIDERS, Provider
from pipelines.sources import Source
from tests.conftest import ROOT
from tests.services import faults
from tests.services.places import PLACES, SERVED, Place

MONTH = "2026-10"
FIXTURES = ROOT / "fixtures"
SPOILED = 0.3
SPOILED_AT_LEAST = 5

every_provider = pytest.mark.parametrize("provider", PROVIDERS.values(), ids=PROVIDERS)
every_place = pytest.mark.parametrize("place", PLACES, indirect=True)
every_server = pytest.mark.parametrize("place", SERVED, indirect=True)


@cache
def demo() -> Config:
    """The demo's configuration."""
    return configuration.load(FIXTURES / "leerlauf.toml")


def sources_of(provider: Provider) -> list[Source]:
    """The sources of one provider in the demo, at least one."""
    found = [source for source in demo().sources if source.provider == provider.name]
    assert found, f"the demo has no source of {provider.name}"
    return found


@dataclass(frozen=True)
class Lakeside:
    """A lake of the test's own, and fetching into it."""

    lake: Lake

    def fetch(self, source: Source, progress: Progress = silent) -> fetching.Fetched:
        """Fetch the month of a source."""
        return fetching.fetch(source, demo(), MONTH, self.lake, progress)

    @property
    def texts(self) -> list[bytes]:
        """The content of every file in the lake."""
        return [path.read_bytes() for path in self.lake.path.rglob("*") if path.is_file()]


@pytest.fixture
def lake(tmp_path: Path) -> Lakeside:
    return Lakeside(Lake(tmp_path / "lake"))


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait by chance for next to nothing; what a server asks for is still waited for."""
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(retry, "LONGEST_WAIT", 0.05)


def moved(source: Source, place: Place, server: str | None = None) -> Source:
    """Return the source with its exports, and what lies apart from them, at this place."""
    there = place.at(Path(source.location), f"{source.id}/export", server)
    if source.split_location is not None:
        apart = place.at(Path(source.split_location), f"{source.id}/apart", server)
        there["split_location"] = apart["location"]
    return source.model_copy(update=there)


def contents(fetched: fetching.Fetched) -> dict[str, str]:
    """Return name -> sha256 of all copies, hashed again from the disk."""
    assert fetched.files
    for file in fetched.files:
        assert hashlib.sha256(file.path.read_bytes()).hexdigest() == file.sha256
    return {f"{file.is_split}/{file.name}": file.sha256 for file in fetched.files}


@cache
def original(source: str) -> dict[str, str]:
    """Return the bytes of a source of the demo as its own folder gives them."""
    (found,) = (known for known in demo().sources if known.id == source)
    with TemporaryDirectory() as folder:
        return contents(Lakeside(Lake(Path(folder, "lake"))).fetch(found))


# ----------------------------------------------------------------------------- the same bytes


@every_place
@every_provider
def test_every_place_gives_the_same_bytes(
    provider: Provider,
    place: Place,
    lake: Lakeside,
) -> None:
    for source in sources_of(provider):
        fetched = lake.fetch(moved(source, place))
        assert contents(fetched) == original(source.id)
        assert all(copied.is_new for copied in fetched.deliveries)
        if place.server:
            assert all(copied.receipt.calls > 0 for copied in fetched.deliveries)


@every_place
@every_provider
def test_a_second_fetch_copies_nothing(provider: Provider, place: Place, lake: Lakeside) -> None:
    for source in sources_of(provider):
        there = moved(source, place)
        first = lake.fetch(there)
        kept = {file.path: file.path.stat().st_mtime_ns for file in first.files}
        second = lake.fetch(there, refuse_progress)
        assert not any(copied.is_new for copied in second.deliveries)
        assert [copied.receipt for copied in second.deliveries] == [
            copied.receipt for copied in first.deliveries
        ]
        assert {path: path.stat().st_mtime_ns for path in kept} == kept


def refuse_progress(name: str, done: int, size: int) -> None:
    pytest.fail(f"{name} is copied: {done} of {size}")


@every_server
@every_provider
def test_a_second_fetch_asks_for_no_data(provider: Provider, place: Place, lake: Lakeside) -> None:
    with place.spoiled() as proxy:
        for source in sources_of(provider):
            there = moved(source, place, proxy.endpoint)
            first = lake.fetch(there)
            names = [Path(it.uri).name for one in first.deliveries for it in one.receipt.files]
            assert all(any(name in asked for asked in proxy.requests) for name in names)
            proxy.forget()
            lake.fetch(there)
            assert proxy.requests
            asked = [it for it in proxy.requests if any(f"/{name} " in it for name in names)]
            assert [it for it in asked if it.startswith("GET")] == []


# --------------------------------------------------------------------------------- breaking off


class PulledPlugError(Exception):
    """Somebody pulled the plug."""


@every_server
@every_provider
def test_a_fetch_that_broke_off_continues(
    provider: Provider,
    place: Place,
    lake: Lakeside,
) -> None:
    source = max(sources_of(provider), key=lambda source: len(original(source.id)))
    begun: list[str] = []

    def pull(name: str, _: int, __: int) -> None:
        begun.append(name)
        if len(set(begun)) > 1:
            raise PulledPlugError

    with place.spoiled() as proxy:
        there = moved(source, place, proxy.endpoint)
        with pytest.raises(PulledPlugError):
            lake.fetch(there, pull)
        assert visible(lake, source) == []
        proxy.forget()
        assert contents(lake.fetch(there)) == original(source.id)
        again = [it for it in proxy.requests if it.startswith("GET") and f"/{begun[0]} " in it]
        assert again == []


def visible(lake: Lakeside, source: Source) -> list[Path]:
    """Return the deliveries of a source that a reader of the lake takes for whole."""
    return list((lake.lake.path / "raw" / source.id).glob("*/[!.]*"))


# ------------------------------------------------------------------------------ spoiled answers


@dataclass(frozen=True)
class Asked:
    """What fetching every source of a provider took: calls that arrived, answers spoiled."""

    calls: int
    spoiled: int
    receipts: tuple[Receipt, ...]


def ask(provider: Provider, place: Place, lake: Path, seed: int, rate: float) -> Asked:
    """Fetch every source of a provider into a lake of its own; its bytes are the right ones."""
    receipts: list[Receipt] = []
    with place.spoiled(seed=seed, rate=rate) as proxy:
        for source in sources_of(provider):
            fetched = Lakeside(Lake(lake)).fetch(moved(source, place, proxy.endpoint))
            assert contents(fetched) == original(source.id)
            receipts += [copied.receipt for copied in fetched.deliveries]
    return Asked(len(proxy.requests), sum(proxy.spoiled.values()), tuple(receipts))


@pytest.mark.usefixtures("_impatient")
@every_server
@every_provider
def test_spoiled_answers_change_no_byte(provider: Provider, place: Place, tmp_path: Path) -> None:
    clean = ask(provider, place, tmp_path / "clean", 0, 0.0)
    assert clean.spoiled == sum(receipt.retries for receipt in clean.receipts) == 0
    spoiled = 0
    for seed in range(1, 10):
        asked = ask(provider, place, tmp_path / str(seed), seed, SPOILED)
        size = sum(file.size for receipt in asked.receipts for file in receipt.files)
        # Each answer that was spoiled costs one more call, and at most what it had brought.
        assert clean.calls <= asked.calls <= clean.calls + asked.spoiled
        assert sum(receipt.bytes for receipt in asked.receipts) <= 2 * size
        assert sum(receipt.retries for receipt in asked.receipts) <= asked.spoiled
        spoiled += asked.spoiled
        if spoiled >= SPOILED_AT_LEAST:
            return
    pytest.fail(f"{spoiled} answers spoiled are too few to tell")


@every_server
@every_provider
def test_an_export_written_again_after_its_listing_is_not_taken(
    provider: Provider, place: Place, lake: Lakeside, tmp_path: Path
) -> None:
    original_source = sources_of(provider)[0]
    copied = tmp_path / "export"
    shutil.copytree(original_source.location, copied)
    source = original_source.model_copy(update={"location": str(copied)})
    with place.spoiled(rate=1.0, kinds=(faults.STALE,)) as proxy:
        there = moved(source, place, proxy.endpoint)
        found = fetching.find(there, MONTH)
        for path in {copied / file.path for file in found.deliveries[0].files}:
            path.write_bytes(path.read_bytes()[:-1])
        place.put(copied, f"{source.id}/export")
        with pytest.raises(DeliveryError) as changed:
            lake.fetch(there)
    assert changed.value.exit_code == 3
    assert visible(lake, source) == []


# -------------------------------------------------------------------------------------- secrets


@every_server
@every_provider
def test_no_secret_is_told(
    provider: Provider,
    place: Place,
    lake: Lakeside,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert place.secrets
    there = moved(sources_of(provider)[0], place, place.secure)
    with caplog.at_level(logging.INFO):
        lake.fetch(there)
        for name, value in place.denied.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(DeliveryError) as denied:
            lake.fetch(there)
    assert denied.value.exit_code == 3
    assert denied.value.hint
    captured = capsys.readouterr()
    told = [f"{vars(denied.value)}", caplog.text, captured.out, captured.err]
    for secret in place.secrets:
        assert not any(secret in text for text in told)
        assert not any(secret.encode() in text for text in lake.texts)
