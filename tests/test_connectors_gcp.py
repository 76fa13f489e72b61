"""A folder of Google's export: flat, by invoice month, or by day; never two that could count."""

import gzip
import hashlib
from pathlib import Path

import pytest

from connectors import gcp
from connectors.base import Connector, Delivery, ExportSource, Receipt, silent
from connectors.errors import DeliveryError

MONTH = "2026-10"
FORMS = (
    "rows.parquet, rows.csv, rows.csv.gz, rows.json, rows.jsonl, rows.ndjson, rows.json.gz,"
    " rows.jsonl.gz, rows.ndjson.gz"
)
SUFFIXES = FORMS.replace("rows", "")


def laid_out(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return root


def discovered(location: Path, month: str = MONTH) -> list[str]:
    """The paths of the one delivery."""
    (delivery,) = gcp.discover(ExportSource(str(location), "gke_detailed"), month)
    assert (delivery.month, delivery.location) == (month, str(location))
    assert (delivery.manifest, delivery.provider_run_id) == (None, None)
    return [file.path for file in delivery.files]


def refusal(location: Path | str, month: str = MONTH) -> DeliveryError:
    with pytest.raises(DeliveryError) as caught:
        gcp.discover(ExportSource(str(location), "gke_detailed"), month)
    error = caught.value
    assert all((error.what, error.where, error.expected, error.got, error.hint))
    return error


# --------------------------------------------------------------------------- what counts


def test_every_form_of_a_flat_folder_counts(tmp_path: Path) -> None:
    names = FORMS.split(", ")
    laid_out(tmp_path, *names, "ROWS-2.PARQUET", "notes.txt", "rows.avro", ".rows.json", "_SUCCESS")
    assert discovered(tmp_path) == sorted([*names, "ROWS-2.PARQUET"])


def test_the_receipt_of_a_copy_is_no_data(tmp_path: Path) -> None:
    assert discovered(laid_out(tmp_path, "receipt.json", "rows.json")) == ["rows.json"]


@pytest.mark.parametrize("month", ["2026-09", "2026-10", "2031-01"])
def test_a_flat_folder_is_of_every_month(tmp_path: Path, month: str) -> None:
    assert discovered(laid_out(tmp_path / "export", "a.json", "b.json"), month) == [
        "a.json",
        "b.json",
    ]


def test_one_folder_below_the_location_is_flat_too(tmp_path: Path) -> None:
    assert discovered(laid_out(tmp_path, "billing/rows/a.json")) == ["billing/rows/a.json"]


@pytest.mark.parametrize(
    "spelling", ["{}{}", "{}-{}", "invoice_month={}{}", "invoice_month={}-{}", "INVOICE.MONTH={}{}"]
)
@pytest.mark.parametrize("above", ["", "billing/detailed/"])
def test_only_the_folder_of_the_invoice_month_counts(
    tmp_path: Path, spelling: str, above: str
) -> None:
    names = [f"{above}{spelling.format('2026', n)}/part.json" for n in ("09", "10", "11")]
    laid_out(tmp_path, *names)
    assert discovered(tmp_path) == [names[1]]
    assert discovered(tmp_path / Path(names[2]).parent, "2026-11") == ["part.json"]


@pytest.mark.parametrize("spelling", ["{}-{}-{}", "{}{}{}", "partition_date={}-{}-{}", "dt={}{}{}"])
@pytest.mark.parametrize("above", ["", "billing/"])
def test_all_days_count_also_those_of_other_months(
    tmp_path: Path, spelling: str, above: str
) -> None:
    days = [("2026", "10", "05"), ("2026", "10", "06"), ("2026", "11", "02")]
    names = [f"{above}{spelling.format(*day)}/part.json" for day in days]
    assert discovered(laid_out(tmp_path, *names)) == names


def test_days_below_a_month_count_and_may_have_a_folder_of_the_same_name_each(
    tmp_path: Path,
) -> None:
    laid_out(
        tmp_path,
        *("202610/2026-10-05/rows/a.json", "202610/2026-11-02/rows/a.json"),
        *("202609/2026-09-05/rows/a.json", "202609/2026-10-01/rows/a.json"),
    )
    assert discovered(tmp_path) == [
        "202610/2026-10-05/rows/a.json",
        "202610/2026-11-02/rows/a.json",
    ]


# ------------------------------------------------------------------------ what is refused

WHICH = "nothing says which of them count"


@pytest.mark.parametrize(
    ("names", "what", "got"),
    [
        (
            ["new/a.json", "old/a.json"],
            "several folders whose names are no days",
            "new, old",
        ),
        (["a.json", "old/a.json"], "several folders whose names are no days", "., old"),
        (
            ["2026-10-05/a.json", "2026-10-06/a.json", "all.json"],
            "several folders whose names are no days",
            "., 2026-10-05, 2026-10-06",
        ),
        (
            ["2026-10-05/a.json", "2026-10-05/again/a.json"],
            "several folders whose names are no days",
            "2026-10-05, 2026-10-05/again",
        ),
        (
            ["2026-10-05/run-1/a.json", "2026-10-05/run-2/a.json"],
            "several folders whose names are no days",
            "2026-10-05/run-1, 2026-10-05/run-2",
        ),
        (
            ["2026-02-30/a.json", "2026-02-31/a.json"],
            "several folders whose names are no days",
            "2026-02-30, 2026-02-31",
        ),
        (
            ["usage_month=202609/a.json", "usage_month=202610/a.json"],
            "several folders whose names are no days",
            "usage_month=202609, usage_month=202610",
        ),
        (
            ["2026-10-05/a.json", "20261005/a.json"],
            "two folders of one day",
            "2026-10-05, 20261005",
        ),
        (
            ["2026-10/a.json", "202610/a.json"],
            "several folders whose names are no days",
            "2026-10, 202610",
        ),
        (
            ["202610/a.json", "202609/a.json", "all.json"],
            "folders of months, and files beside them",
            "., 202610",
        ),
        (
            ["202609/a.json", "all.json"],
            "folders of months, and files beside them",
            ".",
        ),
    ],
)
def test_two_folders_that_could_hold_the_same_rows(
    tmp_path: Path, names: list[str], what: str, got: str
) -> None:
    location = laid_out(tmp_path / "export", *names)
    error = refusal(location)
    assert (error.exit_code, error.what, error.got) == (2, f"{what}: {WHICH}", got)
    assert error.where == str(location)
    assert error.expected == (
        "one folder of files, or one folder for each invoice month or each day"
    )


@pytest.mark.parametrize(
    ("names", "got"),
    [
        ([], "no such files"),
        (["notes.txt", "rows.avro", "receipt.json"], "no such files"),
        (["202609/a.json", "2026-11/a.json"], "files of 2026-09, 2026-11"),
    ],
)
def test_nothing_of_the_month(tmp_path: Path, names: list[str], got: str) -> None:
    (tmp_path / "export").mkdir()
    error = refusal(laid_out(tmp_path / "export", *names))
    assert (error.exit_code, error.what, error.got) == (2, "no delivery of 2026-10", got)
    assert error.expected == f"files ({SUFFIXES}) of 2026-10"


def test_the_folder_of_another_month_does_not_pass_for_this_one(tmp_path: Path) -> None:
    laid_out(tmp_path, "invoice_month=202609/a.json")
    assert refusal(tmp_path / "invoice_month=202609").got == "files of 2026-09"


@pytest.mark.parametrize(
    ("table", "got"),
    [
        (
            "gcp_billing_export_v1_0A1B_2C3D",
            "the standard export: only the detailed one splits clusters by namespace",
        ),
        (
            "gcp_billing_export_*",
            "a wildcard may match the standard and the detailed table: a doubled bill",
        ),
        (
            "gcp_billing_export_resource_v1_*",
            "a wildcard may match the standard and the detailed table: a doubled bill",
        ),
        (
            "gcp_billing_export_resource_v1_0A1B_2C3D$20261001",
            "one partition: the rows of an invoice come on many days",
        ),
        (
            "reseller_billing_detailed_export_v1",
            "a reseller's export: its rows are those of many payers, in other columns",
        ),
    ],
)
def test_a_table_that_can_never_be_the_source(table: str, got: str) -> None:
    error = refusal(f"acme-billing.exports.{table}")
    assert (error.exit_code, error.what) == (2, "this table cannot be the source")
    assert (error.where, error.got) == (f"acme-billing.exports.{table}", got)
    assert error.expected == (
        "the detailed table, gcp_billing_export_resource_v1_<account>, or a view with its columns"
    )


def test_a_location_that_is_no_folder(tmp_path: Path) -> None:
    laid_out(tmp_path, "rows.json")
    for name, what in (("rows.json", "the location is not a folder"), ("x", "no such folder")):
        with pytest.raises(DeliveryError, match=what) as caught:
            gcp.discover(ExportSource(str(tmp_path / name), "gke_detailed"), MONTH)
        assert caught.value.exit_code == 2


# ------------------------------------------------------------------------------ the copies


def copied(delivery: Delivery, into: Path) -> Receipt:
    return gcp.fetch(ExportSource(delivery.location, "gke_detailed"), delivery, into, silent)


def test_copies_are_exact_and_keep_their_folders(tmp_path: Path) -> None:
    packed = gzip.compress(b'{"cost": 1}\n')
    location = laid_out(tmp_path / "export", "2026-10-05/a.json", "2026-10-06/a.json.gz")
    (location / "2026-10-06/a.json.gz").write_bytes(packed)
    (delivery,) = gcp.discover(ExportSource(str(location), "gke_detailed"), MONTH)
    receipt = copied(delivery, tmp_path / "raw/gcp-prod")
    assert [(file.name, file.sha256) for file in receipt.files] == [
        ("2026-10-05/a.json", hashlib.sha256(b"2026-10-05/a.json").hexdigest()),
        ("2026-10-06/a.json.gz", hashlib.sha256(packed).hexdigest()),
    ]
    copies = tmp_path / "raw/gcp-prod" / MONTH / delivery.id
    assert (copies / "2026-10-06/a.json.gz").read_bytes() == packed
    assert receipt.manifest is None


def test_a_link_never_leads_outside(tmp_path: Path) -> None:
    laid_out(tmp_path, "secret.json", "export/a.json")
    (tmp_path / "export/b.json").symlink_to(tmp_path / "secret.json")
    (delivery,) = gcp.discover(ExportSource(str(tmp_path / "export"), "gke_detailed"), MONTH)
    with pytest.raises(DeliveryError, match="a link leads outside the location") as caught:
        copied(delivery, tmp_path / "raw")
    assert caught.value.exit_code == 3
    assert list((tmp_path / "raw" / MONTH).glob("[!.]*")) == []


def test_the_module_is_a_connector() -> None:
    connector: Connector = gcp
    assert connector is gcp
