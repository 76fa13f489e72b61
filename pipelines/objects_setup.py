"""The shape of what `init`, `check` and `fetch` print with `--json`."""

from typing import Literal

from pydantic import AwareDatetime

from pipelines.objects_base import Object, Rows


class FoundSource(Object):
    """An export that was found; `used` is false where it shows the bill of another once more."""

    provider: str
    source: str
    billing_currency: str | None
    dataset: str
    location: str
    months: list[str]
    metric: str | None
    splits: list[str]
    split_location: str | None
    clusters: list[str]
    used: bool
    problem: str | None


class Inspection(Rows):
    """What `init` prints: the file it wrote, the command to go on with, and what it found."""

    file: str
    next: str
    rows: list[FoundSource]


class Check(Object):
    """One answer; `actual` says what is, `hint` the step that mends it."""

    provider: str | None
    source: str | None
    billing_currency: str | None
    cluster_id: str | None
    check: str
    status: Literal["ok", "warning", "error"]
    actual: str
    expected: str | None
    hint: str | None


class Examination(Rows):
    """What `check` prints."""

    rows: list[Check]


class FetchedDelivery(Object):
    """A delivery as it lies in the lake: size and age are its own, the rest is what it took now.

    holds: a bill, or the split of the clusters' cost; size: bytes of its files; age: full days
    since the provider wrote it; bytes, calls and retries are 0 where nothing had to be copied.
    """

    provider: str
    source: str
    billing_currency: None
    delivery: str
    holds: Literal["bill", "split"]
    status: Literal["new", "unchanged"]
    files: int
    size: int
    written: AwareDatetime
    age: int
    bytes: int
    calls: int
    retries: int


class Fetch(Rows):
    """What `fetch` prints: the newest delivery of each source, and its split where it is apart."""

    rows: list[FetchedDelivery]
