"""Metric files: what is read of them, what is refused and in which words."""

import gzip
import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipelines import config, metrics
from pipelines.errors import ConfigurationError
from pipelines.lake import Lake
from pipelines.record import InputFile
from tests.conftest import ROOT
from tests.small_month import said
from transforms.errors import InputError
from transforms.metrics import COLUMNS, VALUES, read
from transforms.schema import MONEY

DAY = date(2026, 10, 1)
HEADER = "date,cluster,team,metric,value"
GOOD = """date,cluster,team,metric,value
2026-10-01,shop,ads,egress,2.5
2026-10-01,shop,web,egress,7.5
2026-10-02,shop,web,egress,1e3
"""
Parts = tuple[str, str, str, str, str]


# ------------------------------------------------------------------------------- frames


def frame(*rows: Sequence[Any], **columns: Any) -> pl.DataFrame:
    """Return a metric file of rows in the order of COLUMNS; columns are put over them."""
    return pl.DataFrame(rows, schema=COLUMNS, orient="row").with_columns(**columns)


ROW = ("2026-10-01", "shop", "ads", "egress", "1")


def parts(error: InputError | ConfigurationError) -> Parts:
    return error.what, error.where, error.expected, error.got, error.hint


def refused(rows: pl.DataFrame) -> Parts:
    with pytest.raises(InputError) as raised:
        read(rows)
    assert raised.value.exit_code == 3
    return parts(raised.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", "0"),
        ("-0", "0"),
        ("1e3", "1000"),
        ("1.5E-3", "0.0015"),
        ("0.1", "0.1"),
        (".5", "0.5"),
        ("0.0000000000015", "0.000000000002"),
        ("123456789.1234567890125", "123456789.123456789012"),
        ("99999999999999900000000000.000000000001", "99999999999999900000000000.000000000001"),
    ],
)
def test_a_value_is_read_by_its_digits(text: str, value: str) -> None:
    assert read(frame((*ROW[:-1], text))).to_dicts() == [
        {
            "charge_date": DAY,
            "cluster": "shop",
            "team": "ads",
            "metric": "egress",
            "value": Decimal(value),
        }
    ]


@pytest.mark.parametrize(
    "values",
    [
        pl.Series([1], dtype=pl.UInt8),
        pl.Series([1], dtype=pl.Int64),
        pl.Series([1.0], dtype=pl.Float32),
        pl.Series([1.0]),
        pl.Series([Decimal("1.00")]),
        pl.Series([Decimal(1)], dtype=MONEY),
    ],
    ids=lambda values: str(values.dtype),
)
def test_a_number_of_any_type_is_a_value(values: pl.Series) -> None:
    assert read(frame(ROW, value=values)).get_column("value").to_list() == [Decimal(1)]


@pytest.mark.parametrize(
    "days",
    [
        pl.Series([DAY]),
        pl.Series([datetime(2026, 10, 1)]),  # noqa: DTZ001 -- what pandas writes has no zone
        pl.Series([datetime(2026, 10, 1, tzinfo=UTC)]),
        pl.Series([datetime(2026, 10, 1, tzinfo=UTC)]).dt.convert_time_zone("Asia/Tokyo"),
    ],
    ids=lambda days: str(days.dtype),
)
def test_a_day_of_any_type_is_a_day(days: pl.Series) -> None:
    assert read(frame(ROW, date=days)).get_column("charge_date").to_list() == [DAY]


def test_a_file_is_read_whole() -> None:
    rows = frame(ROW, (None,) * 5, (*ROW[:2], "", *ROW[3:]), (*ROW[:2], None, "calls", "2"))
    more = rows.with_columns(unit=pl.lit("GiB")).select("unit", *reversed(COLUMNS))
    found = read(more)
    assert found.schema == VALUES
    assert found.rows() == [
        (DAY, "shop", "ads", "egress", Decimal(1)),
        (DAY, "shop", None, "egress", Decimal(1)),
        (DAY, "shop", None, "calls", Decimal(2)),
    ]


DATE = "a date YYYY-MM-DD, a day of UTC"
FILLED = "a value in every row"
LEFT_OUT = "Leave a row out where nothing was measured: that is not 0."
NUMBER = "a number, 0 or more, with '.' and not ','"
LARGER = "The values of a day and metric together must stay below 10^26: use a larger unit."
CELLS: dict[str, tuple[str, Any, Parts]] = {
    "no date": ("date", None, ("a value is missing", "", FILLED, "nothing", "")),
    "empty date": ("date", "", ("a value is missing", "", FILLED, "nothing", "")),
    "day first": ("date", "01.10.2026", ("no day", "", DATE, "01.10.2026", "")),
    "american": ("date", "10/01/2026", ("no day", "", DATE, "10/01/2026", "")),
    "short": ("date", "2026-1-1", ("no day", "", DATE, "2026-1-1", "")),
    "month": ("date", "2026-10", ("no day", "", DATE, "2026-10", "")),
    "time of day": (
        "date",
        "2026-10-01T12:00:00Z",
        ("no day", "", DATE, "2026-10-01T12:00:00Z", ""),
    ),
    "no such day": ("date", "2026-02-30", ("no day", "", DATE, "2026-02-30", "")),
    "no cluster": ("cluster", "", ("a value is missing", "", FILLED, "nothing", "")),
    "no metric": ("metric", None, ("a value is missing", "", FILLED, "nothing", "")),
    "no value": ("value", None, ("a value is missing", "", FILLED, "nothing", LEFT_OUT)),
    "empty value": ("value", "", ("a value is missing", "", FILLED, "nothing", LEFT_OUT)),
    "not a number": ("value", "NaN", ("no number", "", NUMBER, "NaN", "")),
    "infinite": ("value", "inf", ("no number", "", NUMBER, "inf", "")),
    "beyond doubles": ("value", "1e999", ("no number", "", NUMBER, "1e999", "")),
    "comma": ("value", "1,5", ("no number", "", NUMBER, "1,5", "")),
    "words": ("value", "n/a", ("no number", "", NUMBER, "n/a", "")),
    "unit": ("value", "5 GiB", ("no number", "", NUMBER, "5 GiB", "")),
    "blank": ("value", " ", ("no number", "", NUMBER, " ", "")),
    "negative": ("value", "-0.5", ("a negative value", "", "0 or more", "-0.5", "")),
    "minus infinity": ("value", "-inf", ("no number", "", NUMBER, "-inf", "")),
    "too large": (
        "value",
        "1e26",
        ("too large to weigh by", "", "less than 10^26", "1e26", LARGER),
    ),
    "too small": (
        "value",
        "1e-13",
        (
            *("too small to weigh by", "", "12 decimal places", "1e-13"),
            "It would count as 0: use a smaller unit.",
        ),
    ),
}


@pytest.mark.parametrize("case", CELLS)
def test_a_cell_that_cannot_be_used_is_named(case: str) -> None:
    column, cell, (what, _, *rest) = CELLS[case]
    bad = [cell if name == column else value for name, value in zip(COLUMNS, ROW, strict=True)]
    rows = frame((*ROW[:2], "web", *ROW[3:]), bad)
    assert refused(rows) == (what, f"row 2, column {column}", *rest)


@pytest.mark.parametrize(
    ("columns", "what", "got"),
    [
        ({"value": pl.Series([float("nan")])}, "no number", "nan"),
        ({"value": pl.Series([float("inf")])}, "no number", "inf"),
        ({"value": pl.Series([True])}, "no number", "True"),
        ({"value": pl.Series([-1])}, "a negative value", "-1"),
        ({"value": pl.Series([1e26])}, "too large to weigh by", "1e+26"),
        (
            {"value": pl.Series([Decimal("1e27")], dtype=pl.Decimal(38, 0))},
            *("too large to weigh by", "1000000000000000000000000000"),
        ),
        ({"date": pl.Series([20261001])}, "no day", "20261001"),
        (
            {"date": pl.Series([datetime(2026, 10, 1, 12, tzinfo=UTC)])},
            *("no day", "2026-10-01 12:00:00+00:00"),
        ),
    ],
    ids=["nan", "infinite", "boolean", "negative", "double", "decimal", "number", "noon"],
)
def test_a_typed_cell_that_cannot_be_used_is_named(
    columns: dict[str, pl.Series], what: str, got: str
) -> None:
    found = refused(frame(ROW, **columns))
    assert (found[0], found[1], found[3]) == (what, f"row 1, column {next(iter(columns))}", got)


def test_how_many_rows_are_wrong_is_told() -> None:
    rows = frame(ROW, *((*ROW[:2], f"team {n}", "egress", "-1") for n in range(5)))
    assert refused(rows)[1:4] == ("row 2, column value", "0 or more", "-1, and 4 more rows")


def test_values_of_a_day_that_together_are_too_large_are_refused() -> None:
    half = ("5e25", "5e25")
    rows = [(*ROW[:2], f"team {n}", "egress", value) for n, value in enumerate(half)]
    assert refused(frame(*rows)) == (
        *("too large to weigh by", "row 1, column value", "less than 10^26 in a day"),
        *("5e25, and 1 more rows", LARGER),
    )
    apart = [(f"2026-10-0{n + 1}", *row[1:]) for n, row in enumerate(rows)]
    assert read(frame(*apart)).height == 2


@pytest.mark.parametrize(
    ("second", "shown"),
    [(ROW, "ads"), ((*ROW[:-1], "2"), "ads")],
    ids=["the same again", "another value"],
)
def test_a_value_that_is_there_twice_is_refused(second: Sequence[str], shown: str) -> None:
    rows = frame(ROW, (*ROW[:3], "calls", "1"), (None,) * 5, second)
    assert refused(rows) == (
        "a value is there twice",
        "row 4",
        "one row for a date, cluster, team and metric",
        f"2026-10-01, shop, {shown}, egress as in row 1",
        "Add such rows up in the file, or remove one.",
    )


def test_no_team_twice_is_refused_however_it_is_written() -> None:
    nobody = [(*ROW[:2], team, *ROW[3:]) for team in (None, "")]
    assert refused(frame(*nobody))[3] == "2026-10-01, shop, nothing, egress as in row 1"


def test_columns_that_are_missing_are_named() -> None:
    assert refused(frame(ROW).rename({"value": "Value", "team": "owner"})) == (
        "the metric file lacks the column team, value",
        "",
        "date, cluster, team, metric, value",
        "date, cluster, owner, metric, Value",
        "Name the columns so; more of them may stand beside these.",
    )


@pytest.mark.parametrize("rows", [frame(ROW).clear(), frame((None,) * 5)], ids=["none", "empty"])
def test_a_file_without_a_row_is_refused(rows: pl.DataFrame) -> None:
    assert refused(rows)[0] == "a metric file without a row"


# -------------------------------------------------------------------------------- files


RULE = """
[[allocation_rule]]
id = "{id}"
kinds = "{kind}"
method = "metric"
metric_file = "{file}"
{more}
"""
SOURCE = """
[[source]]
id = "prod"
provider = "aws"
dataset = "cur2"
location = "exports"
"""


def configured(folder: Path, *rules: tuple[str, str, str]) -> config.Config:
    """Return a configuration with rules of method metric: id, file and one line more."""
    kinds = ("shared", "cluster_fee", "system_overhead")
    text = SOURCE + "".join(
        RULE.format(id=name, kind=kind, file=file, more=more)
        for kind, (name, file, more) in zip(kinds, rules, strict=False)
    )
    path = folder / "leerlauf.toml"
    path.write_text(text, encoding="utf-8")
    return config.load(path)


def written(folder: Path, name: str, text: str = GOOD) -> Path:
    """Write a metric file in the form that its name tells."""
    path = folder / name
    if name.endswith(".parquet"):
        typed = pl.read_csv(text.encode(), try_parse_dates=True)
        typed.write_parquet(path)
    else:
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def of_file(folder: Path, name: str = "egress.csv", more: str = "") -> metrics.Metrics:
    return metrics.of_rules(configured(folder, ("egress-2026", name, more)))


@pytest.mark.parametrize("name", ["egress.csv", "egress.CSV", "egress.csv.gz", "egress.parquet"])
def test_a_file_of_each_form_is_read(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, name)
    found = of_file(tmp_path, name)
    assert found.values.rows() == [
        (0, DAY, "shop", "ads", Decimal("2.5")),
        (0, DAY, "shop", "web", Decimal("7.5")),
        (0, date(2026, 10, 2), "shop", "web", Decimal(1000)),
    ]
    assert [(file.name, file.size, len(file.sha256)) for file in found.files] == [
        (str(path), path.stat().st_size, 64)
    ]


def test_each_rule_reads_its_metric_and_each_file_is_read_once(tmp_path: Path) -> None:
    written(tmp_path, "one.csv", GOOD + "2026-10-01,shop,ads,calls,3\n")
    written(tmp_path, "two.csv")
    rules = [
        ("calls", "one.csv", "metric = 'calls'"),
        ("egress", "./one.csv", "metric = 'egress'"),
        ("only", "two.csv", ""),
    ]
    found = metrics.of_rules(configured(tmp_path, *rules))
    assert found.values.group_by("position").len().sort("position").rows() == [
        (0, 1),
        (1, 3),
        (2, 3),
    ]
    assert [Path(file.name).name for file in found.files] == ["one.csv", "two.csv"]


def test_without_a_rule_nothing_is_read(tmp_path: Path) -> None:
    found = metrics.of_rules(configured(tmp_path))
    assert (found.values.schema, found.values.height, found.files) == (metrics.METRIC_VALUES, 0, ())


@pytest.mark.parametrize("text", [f"\ufeff{GOOD}", GOOD.replace("\n", "\r\n"), f"{GOOD}\n\n"])
def test_what_spreadsheets_write_is_read(tmp_path: Path, text: str) -> None:
    written(tmp_path, "egress.csv", text)
    assert of_file(tmp_path).values.height == 3


SEPARATED = "',' between columns and '.' in numbers"
SEMICOLONS = (
    *("semicolons between the columns", "", SEPARATED, "date;cluster;team;metric;value"),
    "write it again so; what a spreadsheet puts there follows its language",
)
BROKEN: dict[str, tuple[str, Parts]] = {
    "a row by its number in a spreadsheet": (
        GOOD.replace("7.5", "-7.5"),
        ("a negative value", "row 3, column value", "0 or more", "-7.5", ""),
    ),
    "blank rows count": (
        GOOD.replace("2026-10-02", "\n\n2026-13-02"),
        ("no day", "row 6, column date", DATE, "2026-13-02", ""),
    ),
    "twice": (
        GOOD + "2026-10-01,shop,ads,egress,9\n",
        (
            *("a value is there twice", "row 5", "one row for a date, cluster, team and metric"),
            *(
                "2026-10-01, shop, ads, egress as in row 2",
                "Add such rows up in the file, or remove one.",
            ),
        ),
    ),
    "a comma for a point": (
        GOOD.replace("7.5", "7,5"),
        (
            *("a row is longer than the header", "row 3", f"5 cells; {SEPARATED}"),
            *("6: 2026-10-01, shop, web, egress, 7, 5", "text with a comma stands in quotes"),
        ),
    ),
    "a short row": (
        GOOD.replace(",7.5", ""),
        ("a value is missing", "row 3, column value", FILLED, "nothing", LEFT_OUT),
    ),
    "semicolons": (GOOD.replace(",", ";"), SEMICOLONS),
    "semicolons and decimal commas": (GOOD.replace(",", ";").replace(".", ","), SEMICOLONS),
    "a decimal comma in quotes": (
        GOOD.replace("7.5", '"7,5"'),
        ("no number", "row 3, column value", NUMBER, "7,5", ""),
    ),
    "one name for two columns": (
        GOOD.replace("team", "value", 1),
        (
            *("two columns are both value", "", "one column of that name"),
            *("date, cluster, value, metric, value", "Keep one of the two."),
        ),
    ),
    "nothing": (
        "",
        (
            *("the metric file lacks the column date, cluster, team, metric, value", ""),
            *("date, cluster, team, metric, value", "no column"),
            "Name the columns so; more of them may stand beside these.",
        ),
    ),
    "a header alone": (
        HEADER,
        (
            *("a metric file without a row", "", "a row for each day, cluster and team"),
            "the names of the columns alone",
            "Let what writes the file write it again, or take the rule out.",
        ),
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_mistake_in_a_file_is_named_with_the_file_and_its_row(tmp_path: Path, case: str) -> None:
    text, (what, row, *rest) = BROKEN[case]
    path = written(tmp_path, "egress.csv", text)
    with pytest.raises(InputError) as raised:
        of_file(tmp_path)
    where = f"{path}, {row}" if row else str(path)
    assert parts(raised.value) == (what, where, *rest)
    assert raised.value.exit_code == 3


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("egress.parquet", b"PAR1"),
        ("egress.parquet", GOOD.encode()),
        ("egress.csv.gz", gzip.compress(GOOD.encode() * 100)[:60]),
        ("egress.csv", GOOD.encode("utf-16")),
        ("egress.csv", GOOD.encode() + "2026-10-09,shop-eu,Küche,egress_gib,1\n".encode("latin-1")),
        ("egress.csv", GOOD.encode() + b"2026-10-09," + b"x" * 200_000 + b'"\n'),
    ],
    ids=["truncated Parquet", "no Parquet", "truncated gzip", "UTF-16", "Latin-1", "quote"],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as raised:
        of_file(tmp_path, name)
    assert (raised.value.what, raised.value.where) == ("a file cannot be read", str(path))


def test_a_packed_file_with_the_name_of_a_plain_one_is_refused_alike(tmp_path: Path) -> None:
    for text, what in (
        (GOOD + "2026-10-09,shop-eu,checkout,egress_gib,1,5\n", "a row is longer than the header"),
        (GOOD.replace("value\n", "value,value\n", 1), "two columns are both value"),
    ):
        (tmp_path / "egress.csv").write_bytes(gzip.compress(text.encode()))
        with pytest.raises(InputError) as raised:
            of_file(tmp_path)
        assert raised.value.what == what


def misconfigured(folder: Path, name: str, more: str = "") -> Parts:
    with pytest.raises(ConfigurationError) as raised:
        of_file(folder, name, more)
    assert raised.value.exit_code == 2
    return parts(raised.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    for name in ("egress.csv", "folder.csv"):
        assert misconfigured(tmp_path, name) == (
            *("no such file", "[[allocation_rule]] egress-2026: metric_file"),
            *("a CSV or Parquet file", f"{tmp_path}/{name}"),
            "Correct `metric_file`, or put the file there.",
        )


def test_a_file_of_another_form(tmp_path: Path) -> None:
    written(tmp_path, "egress.xlsx")
    assert misconfigured(tmp_path, "egress.xlsx") == (
        *("not a metric file", "[[allocation_rule]] egress-2026: metric_file"),
        *("a name that ends in '.csv', '.csv.gz' or '.parquet'", "egress.xlsx", ""),
    )


@pytest.mark.parametrize(
    ("more", "what", "got"),
    [("", "which metric?", "nothing"), ("metric = 'Egress'", "no such metric", "'Egress'")],
)
def test_a_metric_that_is_not_there(tmp_path: Path, more: str, what: str, got: str) -> None:
    written(tmp_path, "egress.csv", GOOD + "2026-10-01,shop,ads,calls,3\n")
    assert misconfigured(tmp_path, "egress.csv", more) == (
        *(what, "[[allocation_rule]] egress-2026: metric"),
        *("'calls' or 'egress', as egress.csv has them", got, ""),
    )


# ------------------------------------------------------------------------------- months


CONFIGURATION = f"""
[[source]]
id = "test"
provider = "aws"
dataset = "cur2"
location = "{ROOT}/fixtures/exports/published-example/billing"

[[team_rule]]
team = "ads"
namespace = "Namespace1"

[[team_rule]]
team = "web"
namespace = "*"

[[operator]]
team = "platform"

[[allocation_rule]]
id = "calls-2026"
kinds = "idle"
method = "metric"
metric_file = "calls.csv"
"""
PUBLISHED = "arn:aws:eks:us-east-1:111122223333:cluster/published"
CALLS = """date,cluster,team,metric,value
2026-10-01,published,ads,calls,1
2026-10-01,published,web,calls,3
2026-09-30,published,web,calls,99
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose configuration distributes idle by calls.csv; that file is still missing."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "leerlauf.toml").write_text(CONFIGURATION)
    return tmp_path


def test_a_month_is_distributed_by_a_metric_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(folder, "calls.csv", CALLS)
    assert said(capsys, "run", "2026-10").code == 0
    lake = Lake(folder / "lake")
    record = lake.newest("2026-10")
    con = lake.connect(record)
    idle = con.sql(
        "SELECT team, sum(idle) / sum(sum(idle)) OVER () FROM statements "
        "WHERE idle <> 0 GROUP BY team ORDER BY team"
    ).fetchall()
    assert idle == [("ads", pytest.approx(0.25)), ("web", pytest.approx(0.75))]
    warnings = con.sql("SELECT rule FROM findings WHERE rule LIKE 'metric%'").fetchall()
    assert set(warnings) == {("metric_on_idle",)}
    sha256 = hashlib.sha256(CALLS.encode()).hexdigest()
    assert record.side_files == (InputFile(name=str(path), size=len(CALLS), sha256=sha256),)


def test_rows_of_a_cluster_that_the_month_lacks_are_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = """2026-10-01,publish,ads,calls,1
2026-10-01,publish,web,calls,1
2026-10-05,publish,ads,calls,1
2026-10-05,lab,ads,calls,0
2026-11-01,later,ads,calls,1
"""
    written(folder, "calls.csv", f"{CALLS}2026-10-02,{PUBLISHED},ads,calls,1\n{elsewhere}")
    assert said(capsys, "run", "2026-10").code == 0
    lake = Lake(folder / "lake")
    told = lake.connect(lake.newest("2026-10")).sql(
        'SELECT severity, "where", expected, actual, hint FROM findings '
        "WHERE rule = 'metric_cluster_unknown'"
    )
    assert told.fetchall() == [
        (
            "warning",
            "allocation rule calls-2026, calls.csv: lab, publish",
            "name or id of a cluster of 2026-10",
            "rows: 4, days: 2, 2026-10-01 to 2026-10-05; they count for nothing",
            "clusters of the month: published",
        )
    ]


def test_a_metric_file_that_changes_changes_the_month(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = []
    for text in (CALLS, CALLS.replace("web,calls,3", "web,calls,1"), CALLS):
        written(folder, "calls.csv", text)
        said(capsys, "run", "2026-10")
        told.append(said(capsys, "explain", "web", "2026-10", "--json").out)
    assert told[0] == told[2] != told[1]


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        (None, 2, "no such file"),
        ("date,cluster,team,value\n2026-10-01,published,ads,1\n", 3, "lacks the column metric"),
        (CALLS.replace(",3", ",-3"), 3, "a negative value"),
        (CALLS + "2026-10-01,published,ads,errors,1\n", 2, "which metric?"),
        (CALLS * 2, 3, "no day"),
        (
            CALLS + f"2026-10-01,{PUBLISHED},web,calls,3\n",
            *(3, "two values of a metric are about one team"),
        ),
    ],
    ids=["no file", "no column", "negative", "two metrics", "two headers", "name and id"],
)
def test_a_metric_file_that_cannot_be_used_stops_the_month(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str | None, code: int, line: str
) -> None:
    if text is not None:
        written(folder, "calls.csv", text)
    answer = said(capsys, "run", "2026-10")
    assert (answer.code, answer.out) == (code, "")
    assert line in answer.err
    assert "Traceback" not in answer.err
    assert not (folder / "lake" / "statements").exists()


def checked(capsys: pytest.CaptureFixture[str]) -> tuple[int, list[tuple[str | None, ...]]]:
    """Return how `check` ended, and status, actual, expected and hint about metrics."""
    answer = said(capsys, "check", "2026-10", "--json")
    parts = ("status", "actual", "expected", "hint")
    rows = [row for row in json.loads(answer.out)["rows"] if row["check"] == "metrics"]
    return answer.code, [tuple(row[part] for part in parts) for row in rows]


MONTHLY = "values of the month by day, cluster and team"


def test_check_says_whether_metric_files_can_be_used(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert checked(capsys) == (
        2,
        [
            (
                "error",
                f"[[allocation_rule]] calls-2026: metric_file: no such file: {folder}/calls.csv",
                "a CSV or Parquet file",
                "Correct `metric_file`, or put the file there.",
            )
        ],
    )
    path = written(folder, "calls.csv", CALLS.replace(",3", ",x"))
    code, told = checked(capsys)
    assert (code, told[0][:2]) == (3, ("error", f"{path}, row 3, column value: no number: x"))
    written(folder, "calls.csv", CALLS)
    assert checked(capsys) == (0, [("ok", "1 file, 2 values of 2026-10", MONTHLY, None)])


def test_check_warns_of_a_month_that_a_metric_lacks(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(folder, "calls.csv", CALLS.replace("2026-10-01", "2026-11-01"))
    code, told = checked(capsys)
    assert (code, told[1]) == (
        0,
        (
            "warning",
            "allocation rule calls-2026: no value of 2026-10",
            MONTHLY,
            "add it to calls.csv; the rule falls back to none",
        ),
    )
