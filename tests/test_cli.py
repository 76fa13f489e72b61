"""The command line, from the demo to a lake that a newer version wrote."""

import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from pipelines import cli, config, failing
from pipelines.errors import LakeError
from pipelines.lake import Lake
from pipelines.objects import OBJECTS
from tests.conftest import ROOT
from tests.small_month import Said, said
from transforms.schema import CAUSES

MONTH = "2026-10"
COMMANDS = [
    "init",
    "demo",
    "check",
    "fetch",
    "run",
    "reconcile",
    "compare",
    "idle",
    "efficiency",
    "variance",
    "explain",
    "rules",
    "sql",
    "methods",
    "schema",
]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which `leerlauf demo` ran."""
    folder = tmp_path_factory.mktemp("demo")
    process = leerlauf(folder, "demo")
    assert (process.code, process.err) == (0, "")
    (folder / "demo.txt").write_text(process.out, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def lake(demo: Path) -> Path:
    """The lake of the demo."""
    return demo / "leerlauf-demo" / "lake"


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every command runs in an empty folder, 80 columns wide."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")


def leerlauf(folder: Path, *arguments: str, stdin: Any = subprocess.DEVNULL) -> Said:
    """Run one command as a process of its own, whose output is a pipe."""
    done = subprocess.run(
        [sys.executable, "-c", "from pipelines.cli import main; main()", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "80"},
        stdin=stdin,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    return Said(done.returncode, done.stdout, done.stderr)


# ---------------------------------------------------------------------------------------------
# Demo, run, reconcile, compare
# ---------------------------------------------------------------------------------------------


def test_the_demo_shows_the_worked_example_under_each_method(demo: Path) -> None:
    shown = [line.rstrip() for line in (demo / "demo.txt").read_text("utf-8").splitlines()]
    start = next(n for n, line in enumerate(shown) if line.startswith("worked-example  aws"))
    assert shown[start + 1 : start + 20] == [
        "█" * 47 + "░" * 33,
        "█  workload          98.48  58.7 %  what the pods of the teams cost",
        "░  idle              69.42  41.3 %  capacity that nobody asked for",
        "▒  headroom           0.00   0.0 %  kept free on purpose, for peaks",
        "▓  system overhead    0.00   0.0 %  what nodes and system pods need",
        "▄  cluster fee        0.00   0.0 %  control plane and similar fees",
        "▀  shared             0.00   0.0 %  load balancers, network, logs",
        "╱  unattributed       0.00   0.0 %  nobody can say whose it is",
        "   bill             167.90     USD  idle ratio 41.3 % of what nodes cost",
        "   idle: rest 100.0 %",
        "",
        "who pays, in USD, by the method for idle and headroom   * in force",
        "                                         proportional   proportional",
        "                        none     even   by resource *       by total",
        "────────────────────────────────────────────────────────────────────",
        "A                      56.50    79.64           95.58          96.34",
        "B                      20.99    44.13           36.16          35.78",
        "C                      20.99    44.13           36.16          35.78",
        "platform (operator)    69.42     0.00            0.00           0.00",
    ]
    assert "The books balance: every row of the bill has one place." in shown
    assert shown[-14] == "  leerlauf reconcile 2026-10 --config leerlauf-demo/leerlauf.toml"


def test_the_demo_lives_in_one_folder(demo: Path) -> None:
    assert sorted(path.name for path in demo.iterdir()) == ["demo.txt", "leerlauf-demo"]
    written = config.load(demo / "leerlauf-demo" / "leerlauf.toml")
    assert written.lake.path == demo / "leerlauf-demo" / "lake"
    places = [place for one in written.sources for place in (one.location, one.split_location)]
    exports = ROOT / "fixtures" / "exports"
    assert {Path(place) for place in places if place is not None} == {
        exports / name
        for name in (
            *("aws-prod", "aws-data", "aws-example", "gcp-shop"),
            *("azure-shop/billing", "azure-shop/splits", "azure-lab/costs", "azure-lab/splits"),
        )
    }


def test_the_demo_can_have_its_lake_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    demo = said(capsys, "demo", "--lake", tmp_path / "elsewhere", "--json")
    assert (demo.code, json.loads(demo.out)["status"]) == (0, "ok")
    assert not (tmp_path / "leerlauf-demo" / "lake").exists()
    assert Lake(tmp_path / "elsewhere").newest(MONTH).status == "ok"


def test_the_demo_brings_its_own_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    refused = said(capsys, "demo", "--config", "mine.toml")
    assert (refused.code, refused.out) == (2, "")
    assert "leerlauf run 2026-10 --config mine.toml" in refused.err


def test_run_prints_one_object_with_the_worked_example(
    demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = demo / "leerlauf-demo" / "leerlauf.toml"
    run = said(capsys, "run", MONTH, "--config", file, "--lake", tmp_path / "lake", "--json")
    result = json.loads(run.out)
    assert (run.code, run.err, result["status"]) == (0, "", "ok")
    assert [c for c in result["clusters"] if c["cluster_name"] == "worked-example"] == [
        {
            "provider": "aws",
            "cluster_id": "arn:aws:eks:us-east-1:777766665555:cluster/worked-example",
            "cluster_name": "worked-example",
            "billing_currency": "USD",
            "bill": "167.900000000000",
            "idle_ratio": "0.413461538461",
            "workload": "98.479807692420",
            "idle": "69.420192307580",
            "headroom": "0.000000000000",
            "system_overhead": "0.000000000000",
            "cluster_fee": "0.000000000000",
            "shared": "0.000000000000",
            "unattributed": "0.000000000000",
        }
    ]


def test_run_shows_the_statements(
    demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = demo / "leerlauf-demo" / "leerlauf.toml"
    run = said(capsys, "run", MONTH, "--config", file, "--lake", tmp_path / "lake")
    assert (run.code, run.err) == (0, "")
    assert "A         56.51   39.07    95.58" in [line.rstrip() for line in run.out.splitlines()]


def test_reading_needs_no_configuration(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reconciled = said(capsys, "reconcile", MONTH, "--lake", lake)
    assert (reconciled.code, reconciled.err) == (0, "")
    assert "idle the provider put on workloads   43.59    25.83   69.42" in reconciled.out


def test_the_lake_is_found_through_the_file_of_the_folder(
    demo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(demo / "leerlauf-demo")
    beside_the_file = said(capsys, "compare", MONTH, "--json")
    (demo / "plain").mkdir()
    (demo / "plain" / "lake").symlink_to(demo / "leerlauf-demo" / "lake")
    monkeypatch.chdir(demo / "plain")
    assert said(capsys, "compare", MONTH, "--json") == beside_the_file
    assert beside_the_file.code == 0


def test_compare_has_the_golden_figures(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compared = json.loads(said(capsys, "compare", MONTH, "--lake", lake, "--json").out)
    assert {
        (team["team"], team["method"], team["by"]): f"{float(team['total']):.2f}"
        for team in compared["teams"]
        if team["cluster_id"].endswith("worked-example") and team["team"] != "platform"
    } == {
        ("A", "none", None): "56.50",
        ("B", "none", None): "20.99",
        ("C", "none", None): "20.99",
        ("A", "even", None): "79.64",
        ("B", "even", None): "44.13",
        ("C", "even", None): "44.13",
        ("A", "proportional", "resource"): "95.57",
        ("B", "proportional", "resource"): "36.16",
        ("C", "proportional", "resource"): "36.16",
        ("A", "proportional", "total"): "96.34",
        ("B", "proportional", "total"): "35.78",
        ("C", "proportional", "total"): "35.78",
    }


@pytest.mark.parametrize("command", ["reconcile", "compare", "idle"])
def test_a_month_that_was_never_run(
    lake: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    missing = said(capsys, command, "2026-09", "--lake", lake)
    assert (missing.code, missing.out) == (2, "")
    assert missing.err.startswith("error: no run of 2026-09 is published in this lake")
    assert "leerlauf run 2026-09" in missing.err


def test_pages_name_commands_for_the_lake_they_show(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("reconcile", "compare", "idle"):
        told = said(capsys, command, MONTH, "--lake", lake).out
        assert f"--lake{lake}" in "".join(told.split())


@pytest.mark.parametrize("command", ["run", "check"])
def test_the_wrong_folder_is_told_where_to_go(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    told = json.loads(said(capsys, command, MONTH, "--json").out)
    (finding,) = told["findings"]
    assert (finding["where"], finding["actual"]) == (
        str(tmp_path / "leerlauf.toml"),
        "no configuration: no such file",
    )
    assert "`leerlauf init FOLDER`" in finding["hint"]


@pytest.mark.parametrize(
    "words",
    [("reconcile", MONTH), ("idle", MONTH), ("explain", "A", MONTH), ("sql", "FROM bill")],
)
def test_no_lake_in_the_wrong_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    told = said(capsys, *words, "--json")
    (finding,) = json.loads(told.out)["findings"]
    assert (told.code, finding["where"]) == (2, str(tmp_path / "lake"))
    assert finding["actual"] == "no lake here: neither"
    assert "--config" in finding["hint"]


def test_findings_of_the_month_decide_the_exit_code_of_every_reader(
    lake: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = Lake(lake).newest(MONTH)
    told = newest.model_copy(update={"status": "findings"})
    monkeypatch.setattr(Lake, "newest", lambda self, month: told)
    for command in ("reconcile", "compare"):
        read = said(capsys, command, MONTH, "--lake", lake, "--json")
        assert (read.code, json.loads(read.out)["status"]) == (1, "findings")


# ---------------------------------------------------------------------------------------------
# Idle
# ---------------------------------------------------------------------------------------------


def test_idle_adds_up_to_what_the_clusters_show(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = said(capsys, "idle", MONTH, "--lake", lake, "--json")
    whole = json.loads(said(capsys, "reconcile", MONTH, "--lake", lake, "--json").out)
    sums: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
    rows = json.loads(told.out)["rows"]
    for row in rows:
        sums[row["cluster_id"], row["billing_currency"]] += Decimal(row["amount"])
    assert (told.code, told.err, len(sums)) == (0, "", 12)
    for cluster in whole["clusters"]:
        key = cluster["cluster_id"], cluster["billing_currency"]
        assert Decimal(cluster["idle"] or 0) == sums[key]
    assert {row["cause"] for row in rows} <= set(CAUSES)
    assert {row["pricing_category"] for row in rows} >= {"Standard", "Dynamic", "Committed"}


def test_idle_answers_how_much_why_where_and_when(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = said(capsys, "idle", MONTH, "--lake", lake)
    shown = [line.rstrip() for line in told.out.splitlines()]
    start = next(n for n, line in enumerate(shown) if line.startswith("worked-example  aws"))
    start = next(n for n in range(start, len(shown)) if shown[n].startswith("idle 69.42 USD"))
    assert (told.code, told.err) == (0, "")
    assert shown[start : start + 12] == [
        "idle 69.42 USD   idle ratio 41.3 % of what nodes cost",
        "why",
        "rest  69.42  100.0 %  Check requests and the autoscaler's headroom; rightsize or",
        "                      commit to what must stay.",
        "where, and how it was bought",
        "node pool  not known                 69.42  100.0 %",
        "node       ip-10-9-0-1.ec2.internal  69.42  100.0 %",
        "resource   cpu                       43.59   62.8 %",
        "           memory                    25.83   37.2 %",
        "bought     on demand                 69.42  100.0 %",
        "day        ██████████████████████████████▄  1 to 31; most on day 1: 2.28",
        "reserve    still in this idle, of 1 node: nobody says what they can allocate",
    ]


# ---------------------------------------------------------------------------------------------
# Explain
# ---------------------------------------------------------------------------------------------


def test_explain_sums_to_the_statement(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    explained = said(capsys, "explain", "A", MONTH, "--lake", lake)
    assert (explained.code, explained.err) == (0, "")
    assert [line.rstrip() for line in explained.out.splitlines()] == [
        "arn:aws:eks:us-east-1:777766665555:cluster/worked-example  aws  USD",
        "                  method (rule)              of pools of      part      amount",
        "─" * 78,
        "workload cpu      none                         43.589423   100.0 %   43.589423",
        "workload memory   none                         12.915385   100.0 %   12.915385",
        "idle cpu          proportional (idle-2026)     43.589423    60.0 %   26.153654",
        "unrequested",
        "idle memory       proportional (idle-2026)     25.830769    50.0 %   12.915384",
        "unrequested",
        "─" * 78,
        "total                                                                95.573846",
        "",
        "idle cpu",
        "  rule idle-2026: proportional within the cluster, 31 days",
        "  weight 43.589423 of 72.649038 summed over 31 days, each by itself",
        "  from                      cause  stood idle       part",
        "  ip-10-9-0-1.ec2.internal  rest    43.589423  26.153654",
        "",
        "idle memory",
        "  rule idle-2026: proportional within the cluster, 31 days",
        "  weight 12.915385 of 25.830769 summed over 31 days, each by itself",
        "  from                      cause  stood idle       part",
        "  ip-10-9-0-1.ec2.internal  rest    25.830769  12.915384",
        "",
        "note: includes what the nodes reserve for themselves, which is unknown",
        "  arn:aws:eks:us-east-1:777766665555:cluster/worked-example  idle, 31 days",
        "from",
        "  acme-example-00002.snappy.parquet",
    ]


def test_explain_gives_every_posting_with_its_files(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    explained = json.loads(said(capsys, "explain", "A", MONTH, "--lake", lake, "--json").out)
    first = explained["rows"][0]
    assert (explained["billing_period"], len(explained["rows"])) == (MONTH, 124)
    assert (first["charge_date"], first["team"], first["billing_currency"]) == (
        "2026-10-01",
        "A",
        "USD",
    )
    assert {row["source_file"] for row in explained["rows"]} == {
        "acme-example-00002.snappy.parquet"
    }


def test_money_without_team_can_be_explained(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    explained = said(capsys, "explain", "-", MONTH, "--lake", lake)
    assert explained.code == 0
    assert "unattributed storage" in explained.out
    assert said(capsys, "explain", "(no team)", MONTH, "--lake", lake) == explained


def test_the_operator_is_known_as_a_statement_shows_it(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = said(capsys, "explain", "platform (operator)", MONTH, "--lake", lake)
    assert shown == said(capsys, "explain", "platform", MONTH, "--lake", lake)
    assert shown.code == 0


def test_an_unknown_team_is_told_the_nearest(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unknown = said(capsys, "explain", "chekcout", MONTH, "--lake", lake)
    assert (unknown.code, unknown.out) == (2, "")
    assert unknown.err.splitlines()[-1].strip() == "do       Did you mean `checkout`?"


# ---------------------------------------------------------------------------------------------
# SQL
# ---------------------------------------------------------------------------------------------


def test_sql_in_a_pipe_is_csv_that_no_spreadsheet_runs(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query = """
        SELECT team, total_rounded AS "=total", NULL AS nothing, [1, NULL] AS list
        FROM statements WHERE cluster_id LIKE '%/shop-us' ORDER BY team
    """
    answered = said(capsys, "sql", query, "--lake", lake)
    read = list(csv.reader(io.StringIO(answered.out)))
    assert (answered.code, read[0]) == (0, ["team", "'=total", "nothing", "list"])
    assert read[3][:3] == ['\'=HYPERLINK("http://example.com")', "0.250000000000", ""]
    assert read[4][0] == "'@SUM(A1:A9)"
    assert read[6] == ["checkout", "12.320000000000", "", "[1, None]"]


def test_sql_as_json_keeps_every_digit(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = "SELECT count(*) AS n, 1.10::DECIMAL(38,12) AS amount, NULL AS x, 1 AS n FROM bill"
    answered = json.loads(said(capsys, "sql", query, "--lake", lake, "--json").out)
    assert answered == {
        "billing_period": None,
        "rows": [{"n": 150, "amount": "1.100000000000", "x": None, "n_1": 1}],
    }


@pytest.mark.parametrize("view", ["unit_prices", "idle_ratio", "normalised", "findings"])
def test_tables_and_views_can_be_asked(
    lake: Path, capsys: pytest.CaptureFixture[str], view: str
) -> None:
    assert said(capsys, "sql", f"FROM {view} LIMIT 1", "--lake", lake).code == 0


FORBIDDEN = {
    "another file": "SELECT * FROM read_text('{secret}')",
    "a file by its name": "FROM '{secret}'",
    "a listing": "FROM glob('/*')",
    "a copy": "COPY statements TO '{folder}/out.csv'",
    "a copy over the lake": "COPY (SELECT 1) TO '{table}' (FORMAT parquet, USE_TMP_FILE false)",
    "an explained copy": "EXPLAIN ANALYZE COPY (SELECT 1) TO '{table}' (USE_TMP_FILE false)",
    "an export": "EXPORT DATABASE '{folder}/out'",
    "a database": "ATTACH '{folder}/out.db'",
    "a setting": "SET enable_external_access = true",
    "an extension": "INSTALL httpfs",
    "the network": "FROM 'http://127.0.0.1:1/x.csv'",
    "two queries": "SELECT 1; SELECT 2",
    "a copy and a query": "COPY (SELECT 1) TO '{table}' (USE_TMP_FILE false); SELECT 1",
    "a query and a copy": "SELECT 1; COPY statements TO '{folder}/out.csv'",
    "nothing": "",
    "a comment": "-- nothing",
    "a wrong word": "SELEKT 1",
    "a wrong table": "FROM statement",
    "a wrong value": "SELECT 'x'::DECIMAL(38, 12)",
}


@pytest.mark.parametrize("case", FORBIDDEN)
def test_sql_reads_the_lake_and_nothing_else(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("password\nhunter2\n")
    opened = Lake(lake)
    (table,) = (
        path
        for path in opened.files(opened.newest(MONTH), "statements")
        if path.suffix == ".parquet"
    )
    before = table.read_bytes()
    names = {"secret": secret, "folder": tmp_path, "table": table}
    refused = said(capsys, "sql", FORBIDDEN[case].format_map(names), "--lake", lake)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("error: ")
    assert "hunter2" not in refused.err
    assert "Traceback" not in refused.err
    assert table.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["secret.csv"]


def test_a_pivot_is_a_query(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = "PIVOT bill ON cost_view USING sum(rows) GROUP BY provider"
    assert said(capsys, "sql", query, "--lake", lake).out.splitlines()[0] == (
        "provider,billed,effective"
    )


def test_a_reader_that_has_seen_enough_is_no_error(lake: Path) -> None:
    command = "from pipelines.cli import main; main()"
    query = "FROM postings a, postings b LIMIT 300000"
    process = subprocess.Popen(
        [sys.executable, "-c", command, "sql", query, "--lake", str(lake)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), errors) == (cli.PIPE_CLOSED, b"")


# ---------------------------------------------------------------------------------------------
# Terminals
# ---------------------------------------------------------------------------------------------


def on_a_terminal(*arguments: str) -> str:
    """Run one command whose stdout and stderr are a terminal; return what it showed."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", "from pipelines.cli import main; main()", *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "80", "TERM": "xterm"},
        stdin=subprocess.DEVNULL,
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    shown = b""
    while True:
        try:
            shown += os.read(master, 65536)
        except OSError:
            break
    os.close(master)
    assert process.wait() == 0
    return shown.decode()


def test_a_terminal_sees_a_table_and_colour(lake: Path) -> None:
    shown = on_a_terminal("sql", "SELECT 1 AS n, 'x' AS text", "--lake", str(lake))
    assert "\x1b[" in shown
    assert "1 row" in shown


def test_progress_goes_to_a_terminal_only(
    demo: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = demo / "leerlauf-demo" / "leerlauf.toml"
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert said(capsys, "run", MONTH, "--config", file, "--lake", tmp_path / "lake").err == ""
    monkeypatch.delenv("FORCE_COLOR")
    shown = on_a_terminal("run", MONTH, "--config", str(file), "--lake", str(tmp_path / "lake"))
    assert all(stage in shown for stage in ("fetch", "slice", "normalise", "ledger", "write"))


# ---------------------------------------------------------------------------------------------
# Methods, schema, help
# ---------------------------------------------------------------------------------------------


def test_methods_are_listed_with_what_is_unfair(capsys: pytest.CaptureFixture[str]) -> None:
    listed = said(capsys, "methods")
    assert (listed.code, listed.err) == (0, "")
    methods = ["even", "fixed", "metric", "none", "proportional"]
    assert re.findall(r"^\w+", listed.out, re.MULTILINE) == methods
    assert listed.out.count("unfair when") == 5
    rows = json.loads(said(capsys, "methods", "--json").out)["rows"]
    assert [row["method"] for row in rows] == methods


def test_the_schema_shows_tables_and_system_namespaces(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = said(capsys, "schema")
    assert (shown.code, shown.err) == (0, "")
    assert "  workload_idle " in shown.out
    assert "kube-system" in shown.out
    assert "idle_ratio: " in shown.out


def test_json_schema_of_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    shown = said(capsys, "schema", "--json-schema", "reconcile")
    assert (shown.code, json.loads(shown.out)["title"]) == (0, "Result")
    assert said(capsys, "schema", "--json-schema", "invoice").code == 2


def test_every_command_has_help_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(OBJECTS) == COMMANDS
    for command in COMMANDS:
        shown = said(capsys, command, "--help")
        assert (shown.code, shown.err) == (0, "")
        assert f"Example: leerlauf {command}" in shown.out
        assert all(option in shown.out for option in ("--config", "--lake", "--json"))


def test_alone_it_shows_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    shown = said(capsys)
    assert shown.code == 0
    assert all(command in shown.out for command in COMMANDS)


def test_help_loads_nothing_heavy(tmp_path: Path) -> None:
    script = "import sys; from pipelines import cli; cli.call(['--help']); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert {"polars", "duckdb", "pyarrow", "pydantic"}.isdisjoint(loaded)


# ---------------------------------------------------------------------------------------------
# What goes wrong
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ("run",),
        ("run", MONTH, "--verbose"),
        ("invoice", MONTH),
        ("explain", "A"),
        ("run", "October"),
    ],
)
def test_wrong_use_is_exit_2_and_one_object(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    told = said(capsys, *arguments)
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith("error: ")
    as_json = said(capsys, *arguments, "--json")
    printed = json.loads(as_json.out)
    assert (as_json.code, as_json.err, printed["status"]) == (2, "", "failed")
    assert [finding["severity"] for finding in printed["findings"]] == ["error"]


def test_every_mistake_of_a_file_is_one_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "leerlauf.toml").write_text("[lake]\npaht = 'x'\n")
    printed = json.loads(said(capsys, "run", MONTH, "--json").out)
    assert [(f["rule"], f["where"], f["actual"], f["hint"]) for f in printed["findings"]] == [
        (
            "configuration",
            "leerlauf.toml: lake.paht",
            "unknown key: paht",
            "Did you mean `path`?",
        ),
        ("configuration", "leerlauf.toml: source", "missing key: nothing", None),
    ]
    assert (printed["billing_period"], printed["clusters"]) == (MONTH, [])


def test_a_lake_that_another_run_holds(
    demo: Path, lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = demo / "leerlauf-demo" / "leerlauf.toml"
    with Lake(lake).lock():
        told = said(capsys, "run", MONTH, "--config", file)
        read = said(capsys, "reconcile", MONTH, "--lake", lake, "--json")
    assert (told.code, told.out) == (3, "")
    assert told.err.startswith("error: another run holds the lake")
    assert read.code == 0


def test_a_disk_that_fails(demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("no folder")
    file = demo / "leerlauf-demo" / "leerlauf.toml"
    told = said(capsys, "run", MONTH, "--config", file, "--lake", tmp_path / "file" / "lake")
    assert (told.code, told.out) == (3, "")
    assert "Traceback" not in told.err


def test_an_error_of_the_system_is_told_in_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "/lake/part.parquet")

    monkeypatch.setattr(config, "load", full)
    told = said(capsys, "run", MONTH)
    assert (told.code, told.out) == (3, "")
    assert [line.split() for line in told.err.splitlines()[:2]] == [
        ["error:", "no", "space", "left", "on", "device"],
        ["where", "/lake/part.parquet"],
    ]


def test_a_defect_shows_where_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(config, "load", broken)
    told = said(capsys, "run", MONTH, "--json")
    (finding,) = json.loads(told.out)["findings"]
    assert (told.code, finding["rule"], finding["actual"]) == (
        failing.DEFECT,
        "defect",
        "a defect of leerlauf: ZeroDivisionError: by zero",
    )
    assert "Traceback" in told.err


def test_a_message_cannot_draw_on_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def hostile(*_: object, **__: object) -> None:
        raise LakeError("[red]x\x1b[2J", where="a\x1b]0;title\x07", got="line 1\nline\r2")

    monkeypatch.setattr(config, "load", hostile)
    told = said(capsys, "run", MONTH)
    assert not set(told.err) & {"\x1b", "\x07", "\r"}
    assert told.err.startswith("error: [red]x�[2J")
