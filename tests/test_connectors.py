"""Deliveries are found by their manifest, copied exactly, and seen only when they are whole."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from connectors import aws, raw
from connectors.base import Connector, Delivery, ExportSource, Receipt, RemoteFile, Store, silent
from connectors.errors import DeliveryError
from connectors.folder import EPOCH, FolderStore
from connectors.naming import named

MONTH = "2026-10"
PERIOD = f"BILLING_PERIOD={MONTH}"
KEY = f"s3://bucket/billing/acme/data/{PERIOD}"


def put(root: Path, **contents: bytes | str) -> None:
    """Write files; `__` in a name stands for `/`."""
    for name, content in contents.items():
        write(root / name.replace("__", "/"), content)


def write(path: Path, content: bytes | str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def manifest(*names: str, run: str = "run-1") -> str:
    return json.dumps({"executionId": run, "dataFiles": list(names)})


def overwritten(root: Path) -> Path:
    """An export that is overwritten, with a chunk left behind by a longer delivery."""
    data = root / "billing/acme/data" / PERIOD
    for n in (1, 2, 3):
        write(data / f"acme-0000{n}.snappy.parquet", f"chunk {n}")
    write(data.parent / "BILLING_PERIOD=2026-09/acme-00001.snappy.parquet", "september")
    write(
        root / "billing/acme/metadata" / PERIOD / "acme-Manifest.json",
        manifest(f"{KEY}/acme-00001.snappy.parquet", f"{KEY}/acme-00002.snappy.parquet"),
    )
    return root


def created_anew(root: Path, *executions: str, top: str | None = None) -> Path:
    """An export with one folder for each execution; the files say which one they are of."""
    export = root / "billing/acme"
    for execution in executions:
        write(export / "data" / PERIOD / execution / "acme-00001.csv.gz", execution)
        text = manifest(f"{KEY}/{execution}/acme-00001.csv.gz", run=execution)
        write(export / "metadata" / PERIOD / execution / "acme-Manifest.json", text)
        if execution == top:
            write(export / "metadata" / PERIOD / "acme-Manifest.json", text)
    return root


def paths(delivery: Delivery) -> list[str]:
    return [file.path for file in delivery.files]


def contents(delivery: Delivery) -> list[str]:
    return [Path(delivery.location, path).read_text() for path in paths(delivery)]


def export(location: Path) -> ExportSource:
    return ExportSource(str(location), "cur2")


def newest(location: Path, month: str = MONTH) -> Delivery:
    return aws.discover(export(location), month)[0]


def refusal(location: Path, month: str = MONTH) -> DeliveryError:
    with pytest.raises(DeliveryError) as caught:
        aws.discover(export(location), month)
    return caught.value


FIRST = "20261020T101112Z-1111"
SECOND = "20261021T101112Z-0000"

# ------------------------------------------------------------------- which files belong to it


@pytest.mark.parametrize("below", ["", "billing", "billing/acme", "billing/acme/data"])
def test_the_manifest_alone_says_which_chunks_count(tmp_path: Path, below: str) -> None:
    delivery = newest(overwritten(tmp_path) / below)
    assert contents(delivery) == ["chunk 1", "chunk 2"]
    assert delivery.provider_run_id == "run-1"
    assert delivery.manifest is not None


@pytest.mark.parametrize("top", [None, FIRST, SECOND])
def test_the_newest_execution_wins(tmp_path: Path, top: str | None) -> None:
    found = aws.discover(export(created_anew(tmp_path, SECOND, FIRST, top=top)), MONTH)
    assert [contents(delivery) for delivery in found] == [[SECOND], [FIRST]]
    assert [delivery.provider_run_id for delivery in found] == [SECOND, FIRST]
    used = [file.path for file in (delivery.manifest for delivery in found) if file]
    metadata = f"billing/acme/metadata/{PERIOD}"
    assert used == [
        f"{metadata}/{'' if run == top else f'{run}/'}acme-Manifest.json" for run in (SECOND, FIRST)
    ]


def test_manifests_may_lie_beside_the_data_of_their_execution(tmp_path: Path) -> None:
    data = tmp_path / "acme/data" / PERIOD
    for execution in (FIRST, SECOND):
        write(data / execution / "acme-00001.csv.gz", execution)
        text = manifest(f"{KEY}/{execution}/acme-00001.csv.gz")
        write(data / execution / "Manifest.json", text)
    write(tmp_path / "acme/metadata" / PERIOD / "Manifest.json", text)
    assert contents(newest(tmp_path)) == [SECOND]


def test_an_execution_without_manifest_is_not_complete(tmp_path: Path) -> None:
    created_anew(tmp_path, FIRST, top=FIRST)
    write(tmp_path / "billing/acme/data" / PERIOD / SECOND / "acme-00001.csv.gz", "half")
    assert [contents(d) for d in aws.discover(export(tmp_path), MONTH)] == [[FIRST]]


@pytest.mark.parametrize("name", ["acme-Manifest.json", "Manifest.json"])
@pytest.mark.parametrize(
    "document",
    [
        {"assemblyId": "a1", "reportKeys": ["billing/acme/20261001-20261101/a1/acme-1.csv.gz"]},
        {"assemblyId": "a1", "reportKeys": ["acme/20261001-20261101/a1/acme-1.csv.gz"]},
        {"assemblyId": "a1", "DataFiles": [{"key": "s3://b/x/a1/acme-1.csv.gz", "format": "csv"}]},
        {"run": {"assemblyId": "a1", "files": {"all": ["s3://b/x/a1/acme-1.csv.gz"]}}},
        {"assemblyId": "a1", "reportKeys": ["acme-1.csv.gz"]},
    ],
)
def test_legacy_manifests_are_read_in_every_spelling(
    tmp_path: Path, name: str, document: dict[str, object]
) -> None:
    period = tmp_path / "billing/acme/20261001-20261101"
    put(period, **{"a0__acme-1.csv.gz": "old", "a1__acme-1.csv.gz": "new"})
    for folder in (period, period / "a1"):
        write(folder / name, json.dumps(document))
    if document.get("reportKeys") == ["acme-1.csv.gz"]:
        shutil.rmtree(period / "a0")  # a bare name cannot tell two executions apart
    delivery = newest(tmp_path)
    assert contents(delivery) == ["new"]
    assert delivery.provider_run_id == "a1"


def test_a_legacy_report_for_athena_lies_beside_its_manifest(tmp_path: Path) -> None:
    name = "acme/year=2026/month=10/acme-00001.snappy.parquet"
    write(tmp_path / "billing/acme" / name, "october")
    write(tmp_path / "billing/acme" / name.replace("=10", "=9"), "september")
    text = json.dumps({"assemblyId": "a1", "reportKeys": [f"billing/acme/{name}"]})
    write(tmp_path / "billing/acme/20261001-20261101/acme-Manifest.json", text)
    assert contents(newest(tmp_path)) == ["october"]


def test_a_flat_folder_may_hold_the_manifest_too(tmp_path: Path) -> None:
    put(tmp_path, **{"acme-00001.csv.gz": "1", "acme-00002.csv.gz": "left behind"})
    write(tmp_path / "acme-Manifest.json", manifest(f"{KEY}/acme-00001.csv.gz"))
    assert contents(newest(tmp_path)) == ["1"]
    error = refusal(tmp_path, "2026-09")
    assert (error.exit_code, error.what) == (2, "no delivery of 2026-09")


def test_a_month_of_its_own_says_so_in_the_manifest(tmp_path: Path) -> None:
    for month in ("2026-09", "2026-10"):
        start = f"{month.replace('-', '')}01T000000.000Z"
        document = {"billingPeriod": {"start": start}, "reportKeys": [f"r/{month}.csv"]}
        put(tmp_path, **{f"{month}.csv": month, f"{month}-Manifest.json": json.dumps(document)})
    assert contents(newest(tmp_path)) == ["2026-10"]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["a.parquet", "b.csv", "notes.txt"], ["a.parquet", "b.csv"]),
        ([f"{PERIOD}/a.csv.gz", "BILLING_PERIOD=2026-09/a.csv.gz"], [f"{PERIOD}/a.csv.gz"]),
        (["year=2026/month=10/a.csv", "year=2026/month=9/a.csv"], ["year=2026/month=10/a.csv"]),
        (["20261001-20261101/x/a.csv"], ["20261001-20261101/x/a.csv"]),
        (["2026-10/a.csv", "2026-11/a.csv"], ["2026-10/a.csv"]),
        ([f"{PERIOD}/{FIRST}/a.csv"], [f"{PERIOD}/{FIRST}/a.csv"]),
    ],
)
def test_without_any_manifest_the_folder_counts(
    tmp_path: Path, files: list[str], expected: list[str]
) -> None:
    for name in files:
        write(tmp_path / name, name)
    delivery = newest(tmp_path)
    assert (paths(delivery), delivery.manifest, delivery.provider_run_id) == (expected, None, None)


def test_the_folder_of_another_month_does_not_pass_for_this_one(tmp_path: Path) -> None:
    write(tmp_path / PERIOD / "a.csv", "october")
    assert contents(newest(tmp_path / PERIOD)) == ["october"]
    assert refusal(tmp_path / PERIOD, "2026-09").got == "files of 2026-10"


@pytest.mark.parametrize(
    ("manifest_path", "meant"),
    [("2/m.json", "2/x.csv"), ("other/2/m.json", "2/x.csv"), ("m.json", None)],
)
def test_of_equal_names_the_one_beside_the_manifest_counts_and_else_none(
    manifest_path: str, meant: str | None
) -> None:
    def at(path: str) -> RemoteFile:
        return RemoteFile(path, f"file:///{path}", 1, EPOCH)

    files = [(("x.csv",), at(f"{folder}/x.csv")) for folder in (1, 2)]
    found = named(("acme", "x.csv"), files, at(manifest_path))
    assert (found and found.path) == meant


# ------------------------------------------------------------------------- what is refused


def test_two_executions_without_manifest_are_not_guessed_between(tmp_path: Path) -> None:
    created_anew(tmp_path, FIRST, SECOND)
    shutil.rmtree(tmp_path / "billing/acme/metadata")
    error = refusal(tmp_path)
    assert error.exit_code == 2
    assert FIRST in error.got
    assert error.hint == "copy the export's metadata folder too, or keep only the newest folder"


@pytest.mark.parametrize("location", ["nowhere", "file.csv"])
def test_a_location_that_is_no_folder(tmp_path: Path, location: str) -> None:
    write(tmp_path / "file.csv", "")
    error = refusal(tmp_path / location)
    assert error.exit_code == 2
    assert error.hint


@pytest.mark.parametrize(
    ("location", "what", "where"),
    [
        ("ftp://acme/exports", "no such kind of place", None),
        ("acme-1.exports.table_1", "a table is no place with files", None),
        ("example.com:acme.exports.t_*", "a table is no place with files", None),
        *(
            (f"{address}{secret}", "the location holds more than an address", where or address)
            for address, secret, where in [
                ("https://acme.blob.example/exports/daily", "?sv=1&sig=geheim", None),
                ("https://acme.blob.example/exports/daily", "#geheim\ngeheim", None),
                ("https://me:geheim@acme.example/x", "", "https://acme.example/x"),
                ("s3://me:geheim@acme/x", "", "s3://acme/x"),
            ]
        ),
    ],
)
def test_what_is_no_place_with_files_is_refused_and_its_secrets_are_not_shown(
    location: str, what: str, where: str | None
) -> None:
    with pytest.raises(DeliveryError) as caught:
        aws.discover(ExportSource(location, "cur2"), MONTH)
    error = caught.value
    assert (error.exit_code, error.what) == (2, what)
    assert error.where == (where or location)
    assert "geheim" not in f"{error.expected} {error.got} {error.hint}"


def test_a_folder_named_like_a_table_is_written_as_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "acme.exports.october/a.csv", "rows")
    monkeypatch.chdir(tmp_path)
    (delivery,) = aws.discover(ExportSource("./acme.exports.october", "cur2"), MONTH)
    assert contents(delivery) == ["rows"]


@pytest.mark.parametrize("files", [[], ["notes.txt"], ["BILLING_PERIOD=2026-09/a.csv"]])
def test_nothing_of_the_month(tmp_path: Path, files: list[str]) -> None:
    for name in files:
        write(tmp_path / name, "")
    error = refusal(tmp_path)
    assert (error.exit_code, error.what) == (2, "no delivery of 2026-10")
    assert error.hint == "copy the export of that month here, or correct `location` of the source"


def test_a_month_whose_manifest_is_still_to_come(tmp_path: Path) -> None:
    overwritten(tmp_path)
    error = refusal(tmp_path, "2026-09")
    assert error.exit_code == 2
    assert error.what == "no manifest for 2026-09: this delivery is not complete"


def test_a_named_file_that_is_missing(tmp_path: Path) -> None:
    overwritten(tmp_path)
    (tmp_path / f"billing/acme/data/{PERIOD}/acme-00002.snappy.parquet").unlink()
    error = refusal(tmp_path)
    assert (error.exit_code, error.expected) == (3, "2 files")
    assert error.got == f"1; not found: {KEY}/acme-00002.snappy.parquet"


def test_the_same_name_in_another_execution_is_not_the_missing_file(tmp_path: Path) -> None:
    created_anew(tmp_path, FIRST, SECOND, top=SECOND)
    (tmp_path / f"billing/acme/data/{PERIOD}/{SECOND}/acme-00001.csv.gz").unlink()
    assert refusal(tmp_path).exit_code == 3


@pytest.mark.parametrize(
    "text",
    [
        "",
        '{"dataFiles": ["s3://b/acme-000',
        "[" * 100_000,
        "\xff\xfe",
        "null",
        '{"columns": []}',
        '{"dataFiles": []}',
        '{"dataFiles": ["acme-00001.csv.zip"]}',
        '{"dataFiles": ["../../secret.csv"]}',
        '{"dataFiles": ["s3://bucket/../acme-00001.snappy.parquet"]}',
        '{"dataFiles": ["/etc/passwd.csv"]}',
        '{"reportKeys": ["x/acme-00001.snappy.parquet", "y/acme-00001.snappy.parquet"]}',
        '{"reportKeys": ["x/data/acme-00001.snappy.parquet", "y/data/acme-00001.snappy.parquet"]}',
    ],
)
def test_a_damaged_manifest(tmp_path: Path, text: str) -> None:
    overwritten(tmp_path)
    write(tmp_path / f"billing/acme/metadata/{PERIOD}/acme-Manifest.json", text.encode("latin-1"))
    error = refusal(tmp_path)
    assert error.exit_code == 3
    assert error.where.endswith("acme-Manifest.json")
    assert error.hint


def test_a_damaged_manifest_of_an_older_execution_does_no_harm(tmp_path: Path) -> None:
    created_anew(tmp_path, FIRST, SECOND, top=SECOND)
    metadata = tmp_path / "billing/acme/metadata" / PERIOD
    write(metadata / FIRST / "acme-Manifest.json", "{")
    assert [contents(d) for d in aws.discover(export(tmp_path), MONTH)] == [[SECOND]]
    write(metadata / SECOND / "acme-Manifest.json", "{")
    (metadata / "acme-Manifest.json").unlink()
    assert refusal(tmp_path).exit_code == 3


def test_a_damaged_manifest_above_the_executions_might_be_of_a_newer_one(tmp_path: Path) -> None:
    created_anew(tmp_path, FIRST, SECOND)
    write(tmp_path / f"billing/acme/metadata/{PERIOD}/acme-Manifest.json", "{")
    assert refusal(tmp_path).exit_code == 3


def test_two_exports_in_one_location(tmp_path: Path) -> None:
    overwritten(tmp_path)
    shutil.copytree(tmp_path / "billing/acme", tmp_path / "billing/other")
    error = refusal(tmp_path)
    assert (error.exit_code, error.got) == (2, "billing/acme, billing/other")
    assert contents(newest(tmp_path / "billing/other")) == ["chunk 1", "chunk 2"]


def test_a_link_never_leads_outside(tmp_path: Path) -> None:
    write(tmp_path / "secret.csv", "secret")
    write(tmp_path / "in/manifest-Manifest.json", manifest("a.csv"))
    (tmp_path / "in/a.csv").symlink_to(tmp_path / "secret.csv")
    with pytest.raises(DeliveryError, match="a link leads outside the location") as caught:
        fetched(tmp_path / "in", tmp_path / "raw")
    assert caught.value.exit_code == 3
    (tmp_path / "in/a.csv").unlink()
    write(tmp_path / "in/files/real.csv", "inside")
    (tmp_path / "in/a.csv").symlink_to("files/real.csv")
    receipt = fetched(tmp_path / "in", tmp_path / "raw")[0]
    assert [file.sha256 for file in receipt.files] == [hashlib.sha256(b"inside").hexdigest()]


def test_links_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.csv").symlink_to("a.csv")
    (tmp_path / "loop").symlink_to("loop")
    for location, code in (("in", 3), ("loop", 2)):
        with pytest.raises(DeliveryError) as caught:
            aws.discover(export(tmp_path / location), "2026-10")
        assert caught.value.exit_code == code


# ------------------------------------------------------------------------------ the copies


def fetched(location: Path, into: Path) -> tuple[Receipt, Path]:
    delivery = newest(location)
    return copied(delivery, into), raw.folder(delivery, into)


def copied(delivery: Delivery, into: Path) -> Receipt:
    return aws.fetch(export(Path(delivery.location)), delivery, into, silent)


def tree(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def visible(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if not path.name.startswith(".")]


def test_a_fetch_copies_exactly_and_says_from_where(tmp_path: Path) -> None:
    overwritten(tmp_path / "store")
    data = tmp_path / "store/billing/acme/data" / PERIOD
    write(data / "acme-00002.snappy.parquet", b"")  # a left-over chunk may be named all the same
    receipt, folder = fetched(tmp_path / "store", tmp_path / "raw/aws-prod")
    assert folder.parent == tmp_path / "raw/aws-prod" / MONTH
    copies = tree(folder)
    assert copies.pop("receipt.json").decode() == receipt.model_dump_json(indent=2) + "\n"
    assert list(copies) == [
        "acme-00001.snappy.parquet",
        "acme-00002.snappy.parquet",
        "manifest/acme-Manifest.json",
    ]
    assert copies["acme-00001.snappy.parquet"] == b"chunk 1"
    assert copies["acme-00002.snappy.parquet"] == b""
    assert (receipt.delivery, receipt.billing_period) == (folder.name, MONTH)
    assert receipt.provider_run_id == "run-1"
    first = receipt.files[0]
    assert (first.name, first.size) == ("acme-00001.snappy.parquet", 7)
    assert first.uri == (data / "acme-00001.snappy.parquet").as_uri()
    assert first.sha256 == hashlib.sha256(b"chunk 1").hexdigest()


def test_an_unchanged_delivery_is_not_copied_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = fetched(overwritten(tmp_path / "store"), tmp_path / "raw")
    monkeypatch.setattr(FolderStore, "copy", lambda *_: pytest.fail("copied again"))
    second, _ = fetched(tmp_path / "store", tmp_path / "raw")
    assert second == first


def test_a_changed_delivery_lies_beside_the_old_one(tmp_path: Path) -> None:
    _, old = fetched(overwritten(tmp_path / "store"), tmp_path / "raw")
    write(tmp_path / f"store/billing/acme/data/{PERIOD}/acme-00001.snappy.parquet", "restated")
    _, new = fetched(tmp_path / "store", tmp_path / "raw")
    assert (old / "acme-00001.snappy.parquet").read_text() == "chunk 1"
    assert (new / "acme-00001.snappy.parquet").read_text() == "restated"


@pytest.mark.parametrize("damage", ["receipt.json", "acme-00001.snappy.parquet"])
def test_a_copy_that_was_damaged_is_made_again(tmp_path: Path, damage: str) -> None:
    _, folder = fetched(overwritten(tmp_path / "store"), tmp_path / "raw")
    before = {name: text for name, text in tree(folder).items() if name != "receipt.json"}
    write(folder / damage, "x")
    _, again = fetched(tmp_path / "store", tmp_path / "raw")
    after = {name: text for name, text in tree(again).items() if name != "receipt.json"}
    assert after == before


def test_a_delivery_is_seen_only_when_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    overwritten(tmp_path / "store")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", lambda *_: (_ for _ in ()).throw(OSError(28, "disk full")))
        with pytest.raises(DeliveryError, match="cannot be copied") as caught:
            fetched(tmp_path / "store", tmp_path / "raw")
    assert (caught.value.exit_code, caught.value.got) == (3, "disk full")
    assert visible(tmp_path / "raw" / MONTH) == []
    _, folder = fetched(tmp_path / "store", tmp_path / "raw")
    assert list((tmp_path / "raw" / MONTH).iterdir()) == [folder]


def test_a_file_that_changes_while_it_is_copied(tmp_path: Path) -> None:
    delivery = newest(overwritten(tmp_path / "store"))
    write(tmp_path / f"store/billing/acme/data/{PERIOD}/acme-00001.snappy.parquet", "longer now")
    with pytest.raises(DeliveryError, match="changed while it was copied") as caught:
        copied(delivery, tmp_path / "raw")
    assert caught.value.exit_code == 3
    assert visible(tmp_path / "raw" / MONTH) == []


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    delivery = newest(overwritten(tmp_path / "store"))
    (tmp_path / f"store/billing/acme/data/{PERIOD}/acme-00001.snappy.parquet").unlink()
    with pytest.raises(DeliveryError, match="cannot be read") as caught:
        copied(delivery, tmp_path / "raw")
    assert (caught.value.exit_code, caught.value.got) == (3, "No such file or directory")


def test_files_in_several_folders_keep_what_tells_them_apart(tmp_path: Path) -> None:
    for part in ("a", "b"):
        write(tmp_path / "store/deep" / part / "x.csv", part)
    text = manifest("s3://bucket/deep/a/x.csv", "s3://bucket/deep/b/x.csv")
    write(tmp_path / "store/Manifest.json", text)
    receipt, _ = fetched(tmp_path / "store", tmp_path / "raw")
    assert [file.name for file in receipt.files] == ["a/x.csv", "b/x.csv"]


def test_without_manifest_the_copies_keep_all_their_folders(tmp_path: Path) -> None:
    write(tmp_path / "store" / PERIOD / "x.csv", "rows")
    receipt, _ = fetched(tmp_path / "store", tmp_path / "raw")
    assert [file.name for file in receipt.files] == [f"{PERIOD}/x.csv"]


def test_the_module_is_a_connector_and_the_folder_a_store(tmp_path: Path) -> None:
    connector: Connector = aws
    store: Store = FolderStore(str(tmp_path))
    assert (connector, store.listing()) == (aws, [])
