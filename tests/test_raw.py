"""A fetch that broke off continues, and shows nothing before it is whole."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from connectors import raw
from connectors.base import Delivery, Meter, Progress, Receipt, RemoteFile, silent
from connectors.errors import DeliveryError

MODIFIED = datetime(2026, 11, 3, tzinfo=UTC)
NAMES = ("a.csv", "b.csv", "c.csv")


class Shelf:
    """A store whose files hold their own path; it copies as many as it is allowed to."""

    location = "shelf"

    def __init__(self, allowed: int = 99) -> None:
        self.meter = Meter()
        self.copied: list[str] = []
        self.allowed = allowed

    def listing(self) -> list[RemoteFile]:
        return [at(name) for name in NAMES]

    def find(self, name: str) -> RemoteFile | None:
        return None

    def read(self, file: RemoteFile) -> bytes:
        return file.path.encode()

    def copy(self, file: RemoteFile, target: Path, progress: Progress) -> str:
        if len(self.copied) == self.allowed:
            raise DeliveryError("the line is down", exit_code=3)
        self.copied.append(file.path)
        self.meter.add(calls=2, bytes=file.size, retries=1)
        target.write_bytes(self.read(file))
        return hashlib.sha256(self.read(file)).hexdigest()


def at(path: str, etag: str = "v1") -> RemoteFile:
    return RemoteFile(path, f"shelf://{path}", len(path), MODIFIED, etag)


def delivery(*files: RemoteFile) -> Delivery:
    return Delivery("shelf", "2026-10", files or tuple(map(at, NAMES)))


def fetched(store: Shelf, into: Path, what: Delivery | None = None) -> Receipt:
    return raw.fetch(store, what or delivery(), into, silent)


def broken_off(into: Path, what: Delivery | None = None) -> None:
    with pytest.raises(DeliveryError, match="the line is down"):
        fetched(Shelf(allowed=2), into, what)


def test_the_receipt_says_what_the_fetch_took(tmp_path: Path) -> None:
    receipt = fetched(Shelf(), tmp_path)
    assert (receipt.calls, receipt.bytes, receipt.retries) == (6, 15, 3)


def test_a_receipt_from_before_there_were_meters_still_counts(tmp_path: Path) -> None:
    receipt = fetched(Shelf(), tmp_path)
    told = raw.folder(delivery(), tmp_path) / "receipt.json"
    kept = receipt.model_dump_json(exclude={"calls", "bytes", "retries"})
    told.write_text(kept)
    store = Shelf()
    assert fetched(store, tmp_path).fetched_at == receipt.fetched_at
    assert store.copied == []


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"")])
def test_a_copy_whose_manifest_is_damaged_is_copied_again(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    manifest = at("manifest.json")
    what = replace(delivery(), manifest=manifest)
    fetched(Shelf(), tmp_path, what)
    (copy,) = tmp_path.rglob(manifest.path)
    damage(copy)
    fetched(Shelf(), tmp_path, what)
    assert copy.read_bytes() == manifest.path.encode()


def test_nothing_is_seen_of_a_fetch_that_broke_off_and_the_rest_follows(tmp_path: Path) -> None:
    broken_off(tmp_path)
    assert list((tmp_path / "2026-10").glob("[!.]*")) == []
    store = Shelf()
    receipt = fetched(store, tmp_path)
    assert store.copied == ["c.csv"]
    folder = raw.folder(delivery(), tmp_path)
    assert {path.name: path.read_text() for path in folder.iterdir() if path.suffix == ".csv"} == {
        name: name for name in NAMES
    }
    assert {path.name for path in folder.iterdir()} == {*NAMES, "receipt.json"}
    assert [file.sha256 for file in receipt.files] == [
        hashlib.sha256(name.encode()).hexdigest() for name in NAMES
    ]
    assert list((tmp_path / "2026-10").iterdir()) == [folder]


@pytest.mark.parametrize("damage", ["size", "gone", "note"])
def test_a_finished_file_that_is_not_what_it_was_is_copied_again(
    tmp_path: Path, damage: str
) -> None:
    broken_off(tmp_path)
    (partial,) = (tmp_path / "2026-10").iterdir()
    if damage == "size":
        (partial / "a.csv").write_text("a")
    elif damage == "gone":
        (partial / "a.csv").unlink()
    else:
        notes = partial / raw.FINISHED
        notes.write_text(notes.read_text()[10:])
    store = Shelf()
    fetched(store, tmp_path)
    assert store.copied == ["a.csv", "c.csv"]
    assert (raw.folder(delivery(), tmp_path) / "a.csv").read_text() == "a.csv"


def test_a_note_that_a_kill_cut_off_does_not_spoil_the_next_one(tmp_path: Path) -> None:
    broken_off(tmp_path)
    (partial,) = (tmp_path / "2026-10").iterdir()
    with (partial / raw.FINISHED).open("a") as notes:
        notes.write('{"name": "c.csv", "uri"')
    with pytest.raises(DeliveryError):
        fetched(Shelf(allowed=0), tmp_path)
    store = Shelf()
    fetched(store, tmp_path)
    assert store.copied == ["c.csv"]


def test_another_delivery_does_not_continue_it(tmp_path: Path) -> None:
    broken_off(tmp_path)
    store, changed = Shelf(), delivery(at("a.csv", "v2"), at("b.csv"), at("c.csv"))
    fetched(store, tmp_path, changed)
    assert store.copied == list(NAMES)
    assert list((tmp_path / "2026-10").iterdir()) == [raw.folder(changed, tmp_path)]


def test_the_same_delivery_from_elsewhere_does_not_continue_it(tmp_path: Path) -> None:
    broken_off(tmp_path)
    store = Shelf()
    moved = delivery(*(replace(at(name), uri=f"elsewhere://{name}") for name in NAMES))
    receipt = fetched(store, tmp_path, moved)
    assert store.copied == list(NAMES)
    assert [file.uri for file in receipt.files] == [f"elsewhere://{name}" for name in NAMES]


@pytest.mark.parametrize("path", ["../x.csv", "a/../../x.csv", "/etc/x.csv"])
def test_no_name_leads_outside(tmp_path: Path, path: str) -> None:
    with pytest.raises(DeliveryError, match="leads outside the delivery") as caught:
        fetched(Shelf(), tmp_path / "raw", delivery(at(path)))
    assert caught.value.exit_code == 3
    assert not list(tmp_path.rglob("x.csv"))
