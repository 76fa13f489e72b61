"""Of the runs of an Azure export the newest complete one counts, as its manifest says."""

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from connectors import azure, raw
from connectors.base import Delivery, ExportSource, Receipt, SplitConnector, silent
from connectors.errors import DeliveryError
from connectors.row_counts import rows_of as rows_in

MONTH = "2026-10"
OCTOBER = ("2026-10-01T00:00:00Z", "2026-10-31T00:00:00Z")
SEPTEMBER = ("2026-09-01T00:00:00Z", "2026-09-30T00:00:00Z")
SCOPE = "/providers/Microsoft.Billing/billingAccounts/123"
EXPORTS = f"{SCOPE}/providers/Microsoft.CostManagement/exports"
PART = "part_0_0001.csv"


def rows_of(text: str) -> int:
    """The rows of a part, a line each."""
    return max(len(text.splitlines()) - 1, 0)


def document(
    folder: str,
    contents: dict[str, str],
    submitted: str = "2026-11-02T04:00:00Z",
    days: tuple[str, str] = OCTOBER,
    **config: str,
) -> dict[str, Any]:
    """What Azure writes beside the parts of a run; `folder` is the run's place in the container."""
    return {
        "manifestVersion": "2024-04-01",
        "byteCount": sum(map(len, contents.values())),
        "blobCount": len(contents),
        "dataRowCount": sum(map(rows_of, contents.values())),
        "exportConfig": {
            "exportName": "daily",
            "resourceId": f"{EXPORTS}/daily",
            "dataVersion": "2021-10-01",
            "type": "AmortizedCost",
            "timeFrame": "MonthToDate",
            "granularity": "Daily",
            **config,
        },
        "deliveryConfig": {"partitionData": True, "fileFormat": "Csv", "compressionMode": "None"},
        "runInfo": {
            "executionType": "Scheduled",
            "submittedTime": submitted,
            "runId": folder.rsplit("/", maxsplit=1)[-1],
            "startDate": days[0],
            "endDate": days[1],
        },
        "blobs": [
            {"blobName": f"{folder}/{name}", "byteCount": len(text), "dataRowCount": rows_of(text)}
            for name, text in contents.items()
        ],
    }


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def run(
    root: Path,
    folder: str,
    submitted: str = "2026-11-02T04:00:00Z",
    days: tuple[str, str] = OCTOBER,
    **config: str,
) -> Path:
    """A complete run with one part, which says which run it is of; returns its manifest."""
    contents = {PART: folder}
    write(root / folder / PART, folder)
    text = json.dumps(document(f"acme/{folder}", contents, submitted, days, **config))
    return write(root / folder / "manifest.json", text)


def edited(manifest: Path, **changes: Any) -> None:
    """Change top-level fields of a manifest; of objects only the fields given."""
    text = json.loads(manifest.read_bytes())
    for key, value in changes.items():
        text[key] = {**text[key], **value} if isinstance(value, dict) else value
    write(manifest, json.dumps(text))


def source(
    location: Path | str, dataset: str = "cost_export", metric: str | None = "amortized"
) -> Any:
    return ExportSource(str(location), dataset, metric)


def discovered(location: Path | str, month: str = MONTH) -> list[Delivery]:
    return azure.discover(source(location), month)


def contents(delivery: Delivery) -> list[str]:
    return [Path(delivery.location, file.path).read_text() for file in delivery.files]


def refusal(location: Path, month: str = MONTH, **promised: Any) -> DeliveryError:
    with pytest.raises(DeliveryError) as caught:
        azure.discover(source(location, **promised), month)
    error = caught.value
    assert all((error.what, error.where, error.expected, error.got, error.hint))
    return error


# ----------------------------------------------------------------------- which run counts


def test_the_hidden_second_run_of_last_month_wins(tmp_path: Path) -> None:
    run(tmp_path, "daily/20261001-20261031/aaaa", "2026-10-31T04:00:00Z")
    run(tmp_path, "daily/20261001-20261031/0000", "2026-11-03T04:10:00Z")
    run(
        tmp_path,
        "daily/20261101-20261130/bbbb",
        "2026-11-03T04:00:00Z",
        ("2026-11-01T00:00:00Z", "2026-11-03T00:00:00Z"),
    )
    found = discovered(tmp_path)
    assert [contents(delivery) for delivery in found] == [
        ["daily/20261001-20261031/0000"],
        ["daily/20261001-20261031/aaaa"],
    ]
    assert [delivery.provider_run_id for delivery in found] == ["0000", "aaaa"]
    manifest = found[0].manifest
    assert manifest is not None
    assert manifest.path == "daily/20261001-20261031/0000/manifest.json"
    assert contents(discovered(tmp_path, "2026-11")[0]) == ["daily/20261101-20261130/bbbb"]


def test_the_newest_complete_run_wins(tmp_path: Path) -> None:
    for day in (10, 12, 11):
        days = ("2026-10-01T00:00:00Z", f"2026-10-{day}T00:00:00Z")
        run(tmp_path, f"daily/20261001-20261031/run-{day}", f"2026-10-{day}T04:00:00Z", days)
    assert [contents(delivery) for delivery in discovered(tmp_path)] == [
        [f"daily/20261001-20261031/run-{day}"] for day in (12, 11, 10)
    ]


def test_mixed_forms_of_date_times_are_compared_as_moments(tmp_path: Path) -> None:
    run(tmp_path, "a", "2026-11-02T05:00:00.1234567", ("2026-10-01T00:00:00", "2026-10-31"))
    run(tmp_path, "b", "2026-11-02T05:00:00.3+00:00", ("2026-10-01", "2026-10-31T00:00:00+00:00"))
    run(tmp_path, "c", "2026-11-02T05:00:00.2Z", ("2026-10-01T00:00:00Z", "2026-10-31T23:59:59Z"))
    run(tmp_path, "d", "2026-11-02T06:30:00+02:00", OCTOBER)
    run(tmp_path, "e", "2026-11-02T05:00:00Z", ("2026-10-01T00:00:00Z", "2026-11-01T00:00:00Z"))
    found = discovered(tmp_path)
    assert [delivery.provider_run_id for delivery in found] == ["b", "c", "a", "e", "d"]


def test_a_run_that_ends_with_midnight_of_the_next_month_is_not_of_the_next(
    tmp_path: Path,
) -> None:
    run(tmp_path, "a", days=("2026-10-01T00:00:00", "2026-11-01T00:00:00"))
    assert refusal(tmp_path, "2026-11").got == "runs of 2026-10-01 to 2026-10-31"


def test_a_later_run_for_chosen_days_does_not_stand_for_the_month(tmp_path: Path) -> None:
    run(tmp_path, "whole", "2026-11-03T04:00:00Z")
    run(tmp_path, "five-days", "2026-11-09T04:00:00Z", ("2026-10-01", "2026-10-05"))
    run(tmp_path, "one-day", "2026-11-10T04:00:00Z", ("2026-10-14", "2026-10-14"))
    assert [delivery.provider_run_id for delivery in discovered(tmp_path)] == [
        "whole",
        "five-days",
    ]


@pytest.mark.parametrize(
    "folder",
    [
        "acme/daily/20261001-20261031/aaaa",
        "20261001-20261031/daily/202611020400/aaaa",  # as FinOps hubs lay it out
        "daily/20260901-20260930/aaaa",  # a path that tells another month
        "aaaa",
        ".",
    ],
)
def test_the_manifest_tells_the_month_and_never_the_path(tmp_path: Path, folder: str) -> None:
    write(tmp_path / folder / PART, "october")
    text = json.dumps(document("acme/daily/20261001-20261031/aaaa", {PART: "october"}))
    write(tmp_path / folder / "manifest.json", text)
    assert [contents(delivery) for delivery in discovered(tmp_path)] == [["october"]]
    assert refusal(tmp_path, "2026-09").exit_code == 2


def test_parts_that_the_manifest_does_not_name_are_left_behind(tmp_path: Path) -> None:
    run(tmp_path, "daily/aaaa")
    write(tmp_path / "daily/aaaa/part_0_0002.csv", "of an older run")
    write(tmp_path / "daily/part_0_0001.csv", "of nobody")
    assert [contents(delivery) for delivery in discovered(tmp_path)] == [["daily/aaaa"]]


def test_parts_may_lie_apart_from_their_manifest(tmp_path: Path) -> None:
    text = json.dumps(document("acme/daily/aaaa", {PART: "october"}))
    write(tmp_path / "manifests/aaaa/manifest.json", text)
    write(tmp_path / "files/acme/daily/bbbb" / PART, "another")
    write(tmp_path / "files/acme/daily/aaaa" / PART, "october")
    assert [contents(delivery) for delivery in discovered(tmp_path)] == [["october"]]


@pytest.mark.parametrize("name", ["part_1.csv", "part_1.csv.gz", "part_1.snappy.parquet", "P.CSV"])
def test_every_form_of_part(tmp_path: Path, name: str) -> None:
    parts = {PART: "one", name: "two"}
    for part, text in parts.items():
        write(tmp_path / "aaaa" / part, text)
    write(tmp_path / "aaaa/manifest.json", json.dumps(document("acme/aaaa", parts)))
    assert [contents(delivery) for delivery in discovered(tmp_path)] == [["one", "two"]]


@pytest.mark.parametrize("name", ["manifest.json", "_manifest.json", "Manifest.json"])
def test_a_manifest_with_a_byte_order_mark_and_keys_in_any_case(tmp_path: Path, name: str) -> None:
    def shouting(value: Any) -> Any:
        if isinstance(value, dict):
            return {key.upper(): shouting(inner) for key, inner in value.items()}
        return [shouting(inner) for inner in value] if isinstance(value, list) else value

    write(tmp_path / "aaaa" / PART, "october")
    text = json.dumps(shouting(document("acme/aaaa", {PART: "october"})))
    write(tmp_path / "aaaa" / name, b"\xef\xbb\xbf" + text.encode())
    (delivery,) = discovered(tmp_path)
    assert (contents(delivery), delivery.provider_run_id) == (["october"], "aaaa")


# --------------------------------------------------------------------- runs not complete


def incomplete(root: Path, damage: str, newest: str = "new") -> None:
    """Damage the newest run."""
    manifest = root / newest / "manifest.json"
    match damage:
        case "missing part":
            (root / newest / PART).unlink()
        case "part not whole":
            write(root / newest / PART, "half")
        case "part elsewhere":
            (root / newest / PART).rename(root / "old" / "other.csv")
        case "fewer blobs than counted":
            edited(manifest, blobCount=2)
        case "one part for two blobs":
            blobs = json.loads(manifest.read_bytes())["blobs"]
            edited(manifest, blobs=[*blobs, {"blobName": PART}], blobCount=2)
        case "no rows":
            edited(manifest, blobs=[], blobCount=0)
        case text:
            write(manifest, text)


@pytest.mark.parametrize(
    "damage",
    [
        *("missing part", "part not whole", "part elsewhere", "fewer blobs than counted"),
        *("one part for two blobs", "no rows", '{"runInfo": {', "", "null", "[" * 100_000),
    ],
)
def test_an_incomplete_newest_run_gives_way_to_the_older(tmp_path: Path, damage: str) -> None:
    run(tmp_path, "old", "2026-11-02T04:00:00Z")
    run(tmp_path, "new", "2026-11-03T04:00:00Z")
    incomplete(tmp_path, damage)
    assert [contents(delivery) for delivery in discovered(tmp_path)] == [["old"]]


@pytest.mark.parametrize(
    ("damage", "expected", "got"),
    [
        (
            "missing part",
            "the 1 files of its newest run, in the sizes of the manifest",
            "not found: acme/new/part_0_0001.csv",
        ),
        (
            "part not whole",
            "the 1 files of its newest run, in the sizes of the manifest",
            "acme/new/part_0_0001.csv has 4 bytes and not 3",
        ),
        (
            "one part for two blobs",
            "the 2 files of its newest run, in the sizes of the manifest",
            "1: one is named twice",
        ),
    ],
)
def test_a_month_without_any_complete_run(
    tmp_path: Path, damage: str, expected: str, got: str
) -> None:
    run(tmp_path, "old", "2026-11-02T04:00:00Z")
    run(tmp_path, "new", "2026-11-03T04:00:00Z")
    incomplete(tmp_path, "missing part", "old")
    incomplete(tmp_path, damage)
    error = refusal(tmp_path)
    assert (error.exit_code, error.what) == (3, "no run of the export for 2026-10 is complete")
    assert error.where == (tmp_path / "new/manifest.json").as_uri()
    assert (error.expected, error.got) == (expected, got)


DAMAGE: dict[str, dict[str, Any]] = {
    "no runInfo": {"runInfo": None},
    "no exportConfig": {"exportConfig": "daily"},
    "no blobs": {"blobs": None},
    "an empty list": {"blobs": []},
    "a blob without name": {"blobs": [{"byteCount": 3}]},
    "a blob that is no object": {"blobs": [PART]},
    "a blob that leads out": {"blobs": [{"blobName": f"acme/../{PART}"}]},
    "a blob of an unknown form": {"blobs": [{"blobName": "acme/new/part.zip"}]},
    "a size that is no number": {"blobs": [{"blobName": f"acme/new/{PART}", "byteCount": "?"}]},
    "a count that does not fit": {"blobCount": 3},
    "no start": {"runInfo": {"startDate": None}},
    "no end": {"runInfo": {"endDate": ""}},
    "a start of another form": {"runInfo": {"startDate": "10/01/2026 00:00:00"}},
    "no time of submission": {"runInfo": {"submittedTime": "yesterday"}},
}


@pytest.mark.parametrize("changes", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_manifest(tmp_path: Path, changes: dict[str, Any]) -> None:
    manifest = run(tmp_path, "new")
    edited(manifest, **changes)
    error = refusal(tmp_path)
    assert (error.exit_code, error.what) == (3, "the manifest cannot be used")
    assert error.where == manifest.as_uri()


@pytest.mark.parametrize(
    "text", ["", "{", "null", "[]", '{"blobs": []}', "\xff\xfe", "[" * 100_000]
)
def test_a_manifest_that_is_no_document(tmp_path: Path, text: str) -> None:
    manifest = run(tmp_path, "new")
    write(manifest, text.encode("latin-1"))
    error = refusal(tmp_path)
    assert (error.exit_code, error.where) == (3, manifest.as_uri())


# ------------------------------------------------------------------------- what is refused


def test_no_run_of_the_month(tmp_path: Path) -> None:
    run(tmp_path, "daily/aaaa", days=SEPTEMBER)
    run(tmp_path, "daily/bbbb", days=("2026-10-10T00:00:00Z", "2026-10-20T00:00:00Z"))
    error = refusal(tmp_path)
    assert (error.exit_code, error.what) == (2, "no delivery of 2026-10")
    assert error.where == str(tmp_path)
    assert error.expected == "a run of the export that begins on 2026-10-01"
    assert error.got == "runs of 2026-09-01 to 2026-09-30, 2026-10-10 to 2026-10-20"


@pytest.mark.parametrize(
    ("dataset", "metric", "kind"),
    [
        ("cost_export", "amortized", "AmortizedCost"),
        ("cost_export", "actual", "ActualCost"),
        ("cost_export", "actual", "actualcost"),
        ("cost_export", None, "ActualCost"),
        ("cost_export", None, "AmortizedCost"),
        ("focus_export", None, "FocusCost"),
        ("focus_export", "actual", "FocusCost"),
        ("focus_export", None, ""),
    ],
)
def test_the_type_of_the_export_fits(
    tmp_path: Path, dataset: str, metric: str | None, kind: str
) -> None:
    run(tmp_path, "aaaa", type=kind)
    found = azure.discover(source(tmp_path, dataset, metric), MONTH)
    assert [contents(delivery) for delivery in found] == [["aaaa"]]


@pytest.mark.parametrize(
    ("dataset", "metric", "kind", "expected"),
    [
        ("cost_export", "amortized", "ActualCost", "an export of type AmortizedCost"),
        ("cost_export", "actual", "AmortizedCost", "an export of type ActualCost"),
        ("cost_export", "actual", "Usage", "an export of type ActualCost"),
        ("cost_export", "actual", "FocusCost", "an export of type ActualCost"),
        ("cost_export", None, "PriceSheet", "an export of type ActualCost or AmortizedCost"),
        ("focus_export", None, "ActualCost", "an export of type FocusCost"),
    ],
)
def test_the_type_of_the_export_does_not_fit(
    tmp_path: Path, dataset: str, metric: str | None, kind: str, expected: str
) -> None:
    manifest = run(tmp_path, "aaaa", type=kind)
    error = refusal(tmp_path, dataset=dataset, metric=metric)
    assert error.exit_code == 2
    assert error.what == "the export holds other cost than the source is said to hold"
    assert (error.where, error.expected, error.got) == (manifest.as_uri(), expected, kind)


@pytest.mark.parametrize(
    ("config", "got"),
    [
        (
            {"exportName": "other", "resourceId": f"{EXPORTS}/other"},
            "daily (AmortizedCost) in daily/aaaa, other (AmortizedCost) in other/bbbb",
        ),
        (
            {"resourceId": "/subscriptions/s1/exports/daily"},  # one name, two scopes
            "daily (AmortizedCost) in daily/aaaa, daily (AmortizedCost) in other/bbbb",
        ),
        (
            {"type": "ActualCost"},
            "daily (ActualCost) in other/bbbb, daily (AmortizedCost) in daily/aaaa",
        ),
    ],
)
def test_two_exports_in_one_location(tmp_path: Path, config: dict[str, str], got: str) -> None:
    run(tmp_path, "daily/aaaa")
    run(tmp_path, "other/bbbb", "2026-11-02T04:00:00Z", OCTOBER, **config)
    error = refusal(tmp_path)
    assert (error.exit_code, error.what) == (2, "the location holds more than one export")
    assert (error.where, error.got) == (str(tmp_path), got)
    assert [contents(delivery) for delivery in discovered(tmp_path / "daily")] == [["daily/aaaa"]]


def test_one_export_in_two_spellings_of_its_id(tmp_path: Path) -> None:
    run(tmp_path, "aaaa", "2026-11-02T04:00:00Z")
    run(tmp_path, "bbbb", "2026-11-03T04:00:00Z", resourceId=f"{EXPORTS.upper()}/DAILY/")
    assert [contents(delivery) for delivery in discovered(tmp_path)] == [["bbbb"], ["aaaa"]]


def test_an_export_of_other_months_does_no_harm(tmp_path: Path) -> None:
    run(tmp_path, "old/aaaa", days=SEPTEMBER, exportName="old", resourceId=f"{EXPORTS}/old")
    run(tmp_path, "daily/bbbb")
    assert [contents(delivery) for delivery in discovered(tmp_path)] == [["daily/bbbb"]]


# ---------------------------------------------------------------------- without a manifest


@pytest.mark.parametrize("folder", [".", "daily/20261001-20261031"])
def test_without_manifest_the_files_of_one_folder_count(tmp_path: Path, folder: str) -> None:
    for name in ("b.csv.gz", "a.csv", "c.parquet", "notes.txt", "d.json"):
        write(tmp_path / folder / name, name)
    (delivery,) = discovered(tmp_path)
    assert contents(delivery) == ["a.csv", "b.csv.gz", "c.parquet"]
    assert (delivery.manifest, delivery.provider_run_id) == (None, None)


def test_without_manifest_two_folders_are_not_guessed_between(tmp_path: Path) -> None:
    for folder in ("20261001-20261031", "20260901-20260930"):
        write(tmp_path / folder / "a.csv", "")
    error = refusal(tmp_path)
    assert error.exit_code == 2
    assert error.what == "several folders hold files and no manifest says which of them count"
    assert error.expected == "manifest.json, or one folder of .csv, .csv.gz, .parquet"
    assert error.got == "20260901-20260930, 20261001-20261031"


def test_a_location_without_files(tmp_path: Path) -> None:
    write(tmp_path / "notes.txt", "")
    error = refusal(tmp_path)
    assert (error.exit_code, error.what) == (2, "no delivery of 2026-10")
    assert error.got == "no such files"


# ------------------------------------------------------------------------------ the splits


def splits(location: Path, month: str = MONTH) -> list[str] | None:
    delivery = azure.discover_splits(source(location), month)
    assert delivery is None or (delivery.month, delivery.manifest) == (month, None)
    return None if delivery is None else [file.path for file in delivery.files]


def test_every_split_file_below_the_location_counts(tmp_path: Path) -> None:
    names = ["agent/usage.csv", "agent/usage.csv.gz", "query/answer.JSON", "answer.json"]
    others = ["manifest.json", "a/_manifest.json", "b/_manifest", "receipt.json", "x.parquet"]
    for name in [*names, *others, "notes.txt", ".hidden.json"]:
        write(tmp_path / name, "")
    assert splits(tmp_path) == sorted(names)


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("query-2026-10-14.json", True),
        ("query-20261014.json", True),
        ("20261014T040000Z.json", True),
        ("2026-10-31.csv", True),
        ("2026-09-30.csv", False),
        ("2026-11-01.csv.gz", False),
        ("query-2026-09-28-2026-10-04.json", True),
        ("query_20261026_20261101.json", True),
        ("20260801-20261231.json", True),
        ("query_20260901_20260930.json", False),
        ("20261031-20261101/answer.json", True),
        ("20261101-20261130/answer.json", False),
        ("2026-10-14/answer.json", True),
        ("2026-11-14/2026-10-14.json", True),  # the file's own name goes first
        ("2026-10-14/2026-11-14.json", False),
        ("2026-11/2026-10-14/answer.json", True),
        ("2026-10/answer.json", True),
        ("2026/10/14/answer.json", True),
        ("2026/09/14/answer.json", False),
        ("year=2026/month=11/answer.json", False),
        ("year=2026/month=10/day=14/answer.json", True),
        ("cluster-2026/09/14/answer.json", True),  # no folder of a year
        ("202609/answer.json", False),
        ("answer-2026-10.json", True),
        ("answer-2026-09.json", False),
        ("answer_202611_final.json", False),
        ("2026-10-14_of_2026-09.json", True),  # a day says more than a month
        ("answer.json", True),
        ("cluster-2026.json", True),
        ("answer-2026-02-30.json", False),  # no day of the calendar, but a month of it
        ("answer-2026-13-01.json", True),
        ("12026101412345.json", True),
        ("f3a1-2026-10ab-9c.json", True),
    ],
)
def test_days_in_the_name_tell_the_month(tmp_path: Path, name: str, counts: bool) -> None:
    write(tmp_path / "splits" / name, "")
    assert splits(tmp_path / "splits") == ([name] if counts else None)


def test_the_name_of_the_location_tells_the_month_of_files_that_do_not(tmp_path: Path) -> None:
    for name in ("answer.json", "2026-11-01.json"):
        write(tmp_path / "2026-10" / name, "")
    assert splits(tmp_path / "2026-10") == ["answer.json"]
    assert splits(tmp_path / "2026-10", "2026-11") == ["2026-11-01.json"]
    assert splits(tmp_path / "2026-10", "2026-12") is None


def test_no_split_files(tmp_path: Path) -> None:
    assert splits(tmp_path) is None
    with pytest.raises(DeliveryError, match="no such folder") as caught:
        azure.discover_splits(source(tmp_path / "nowhere"), MONTH)
    assert caught.value.exit_code == 2


def test_copies_of_split_files_keep_the_folders_that_tell_their_day(tmp_path: Path) -> None:
    write(tmp_path / "splits/2026-10-14/answer.json", "{}")
    delivery = azure.discover_splits(source(tmp_path / "splits"), MONTH)
    assert delivery is not None
    receipt = copied(delivery, tmp_path / "raw")
    assert [file.name for file in receipt.files] == ["2026-10-14/answer.json"]
    assert (raw.folder(delivery, tmp_path / "raw") / "2026-10-14/answer.json").read_text() == "{}"


# ------------------------------------------------------------------------------ the copies


def copied(delivery: Delivery, into: Path) -> Receipt:
    return azure.fetch(source(delivery.location), delivery, into, silent)


def test_copies_are_exact_and_the_manifest_lies_beside_them(tmp_path: Path) -> None:
    manifest = run(tmp_path / "export", "daily/20261001-20261031/aaaa")
    (delivery,) = discovered(tmp_path / "export")
    receipt = copied(delivery, tmp_path / "raw")
    assert [(file.name, file.sha256) for file in receipt.files] == [
        (PART, hashlib.sha256(b"daily/20261001-20261031/aaaa").hexdigest())
    ]
    assert receipt.provider_run_id == "aaaa"
    copy = raw.folder(delivery, tmp_path / "raw") / "manifest/manifest.json"
    assert copy.read_bytes() == manifest.read_bytes()


@pytest.mark.parametrize(
    ("told", "fits"), [(2, True), (3, True), (1, False), (4, False), (None, True)]
)
@pytest.mark.parametrize("form", ["csv", "csv.gz", "parquet"])
def test_a_copy_has_as_many_rows_as_its_manifest_says(
    tmp_path: Path, form: str, told: int | None, fits: bool
) -> None:
    text = b'\xef\xbb\xbfdate,tags\n10/01/2026,"a\nb"\n10/02/2026,c\n'
    part = tmp_path / "export/aaaa" / f"part.{form}"
    write(part, gzip.compress(text) if form == "csv.gz" else text)
    if form == "parquet":
        pl.read_csv(text).write_parquet(part)
    blob = {"blobName": f"acme/aaaa/{part.name}", "dataRowCount": told}
    manifest = document("acme/aaaa", {}) | {"blobs": [blob], "blobCount": 1}
    write(tmp_path / "export/aaaa/manifest.json", json.dumps(manifest))
    (delivery,) = discovered(tmp_path / "export")
    if fits:
        assert len(copied(delivery, tmp_path / "raw").files) == 1
        return
    with pytest.raises(DeliveryError, match="another number of rows") as caught:
        copied(delivery, tmp_path / "raw")
    error = caught.value
    assert (error.exit_code, error.expected, error.got) == (3, f"{told} rows", "2 rows")
    assert list((tmp_path / "raw" / MONTH).glob("[!.]*")) == []


def test_what_cannot_be_counted_is_left_to_the_transform(tmp_path: Path) -> None:
    assert rows_in(write(tmp_path / "a.parquet", "no parquet")) is None
    assert rows_in(write(tmp_path / "a.csv", "")) == 0
    assert rows_in(tmp_path / "nowhere.csv") is None


def test_a_link_never_leads_outside(tmp_path: Path) -> None:
    run(tmp_path / "export", "aaaa")
    part = tmp_path / "export/aaaa" / PART
    write(tmp_path / "secret.csv", "aaaa")
    part.unlink()
    part.symlink_to(tmp_path / "secret.csv")
    edited(tmp_path / "export/aaaa/manifest.json", blobs=[{"blobName": f"acme/aaaa/{PART}"}])
    with pytest.raises(DeliveryError, match="a link leads outside the location") as caught:
        copied(discovered(tmp_path / "export")[0], tmp_path / "raw")
    assert caught.value.exit_code == 3
    assert list((tmp_path / "raw" / MONTH).glob("[!.]*")) == []


def test_a_manifest_that_is_a_link_outside(tmp_path: Path) -> None:
    run(tmp_path / "elsewhere", "aaaa")
    write(tmp_path / "export/aaaa" / PART, "aaaa")
    link = tmp_path / "export/aaaa/manifest.json"
    link.symlink_to(tmp_path / "elsewhere/aaaa/manifest.json")
    error = refusal(tmp_path / "export")
    assert (error.exit_code, error.what) == (3, "a link leads outside the location")
    assert error.where == link.as_uri()


def test_the_module_is_a_connector_with_splits() -> None:
    connector: SplitConnector = azure
    assert connector is azure
