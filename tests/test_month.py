"""One month from exports to tables, against the oracle, against its bill, against itself."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import transforms.aws
from pipelines import config as configuration
from pipelines import month as months
from pipelines import slicing
from pipelines.config import Config
from pipelines.lake import Lake
from pipelines.providers import PROVIDERS
from tests.oracle import COMPARED, KINDS, Books
from tests.random_agreement import without_estimates
from transforms.schema import CAUSES
from transforms.sliced import Context, Sliced

FIXTURES = Path(__file__).parent.parent / "fixtures"
MONTH = "2026-10"
QUANTUM = Fraction(1, 10**12)


def load(lake: Path, moved_sources: Mapping[str, str] | None = None) -> Config:
    """The demo configuration with its lake elsewhere, and some sources at another export."""
    config = configuration.load(FIXTURES / "leerlauf.toml")
    moves = moved_sources or {}
    moved = tuple(
        source.model_copy(update={"location": str(FIXTURES / "exports" / moves[source.id])})
        if source.id in moves
        else source
        for source in config.sources
    )
    place = config.lake.model_copy(update={"path": lake})
    return config.model_copy(update={"lake": place, "sources": moved})


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with the demo month."""
    path = tmp_path_factory.mktemp("month") / "lake"
    outcome = months.run(load(path), MONTH)
    assert (outcome.record.status, outcome.record.published) == ("ok", True)
    return path


@pytest.fixture(scope="module")
def con(lake: Path) -> duckdb.DuckDBPyConnection:
    """The tables of the demo month."""
    opened = Lake(lake)
    return opened.connect(opened.newest(MONTH))


@pytest.fixture(scope="module")
def books() -> Books:
    """The oracle's figures for the same exports and rules."""
    return Books.load(FIXTURES / "leerlauf.toml", MONTH)


# ---------------------------------------------------------------- against the oracle


def figures(con: duckdb.DuckDBPyConnection, query: str, *values: Any) -> dict[Any, Fraction]:
    """Rows as key -> last column; NULL amounts are left out."""
    rows = con.execute(query, list(values)).fetchall()
    return {row[:-1]: Fraction(row[-1]) for row in rows if row[-1] is not None}


def lines(con: duckdb.DuckDBPyConnection, table: str, *method: Any, end: str = "") -> Any:
    """Every kind of every line of a statement."""
    names = [f"{kind}{end}" for kind in (*KINDS, "total")]
    chosen = 'WHERE method = $1 AND "by" IS NOT DISTINCT FROM $2' if method else ""
    return figures(
        con,
        f"UNPIVOT (SELECT cluster_id, billing_currency, team, {', '.join(names)} FROM {table} "
        f"{chosen}) ON {', '.join(names)}",
        *method,
    )


def expected(lines: Mapping[Any, Mapping[str, Any]], end: str = "") -> dict[Any, Fraction]:
    """The oracle's lines in the same form."""
    names = {f"{kind}{end}" for kind in (*KINDS, "total")}
    return {
        (*line, name): amount
        for line, amounts in lines.items()
        for name, amount in amounts.items()
        if name in names and amount is not None
    }


def agree(
    con: duckdb.DuckDBPyConnection, ours: dict[Any, Fraction], theirs: dict[Any, Fraction]
) -> bool:
    """Say whether figures are the same, to the quantum.

    Where the split comes apart from the bill, equal remainders may have been given to other
    slices: there a cluster's figures may differ by a quantum for each of its slices.
    """
    apart = sorted({name for provider in PROVIDERS.values() for name in provider.splits})
    counts = "SELECT cluster_id, count(*) FROM normalised WHERE split_source IN $1 GROUP BY ALL"
    slices = dict(con.execute(counts, [apart]).fetchall())
    assert ours.keys() == theirs.keys()
    return all(abs(ours[key] - theirs[key]) <= QUANTUM * slices.get(key[0], 0) for key in ours)


def test_every_kind_of_every_cluster_is_the_oracles(
    con: duckdb.DuckDBPyConnection, books: Books
) -> None:
    ours = figures(
        con,
        "SELECT cluster_id, billing_currency, row_kind, reason, resource_kind, sum(effective_cost) "
        "FROM normalised WHERE cluster_id IS NOT NULL GROUP BY ALL",
    )
    assert len(ours) > 50
    assert agree(con, ours, books.kinds("effective"))


def test_the_invoice_view_is_the_oracles_within_a_quantum_a_row(
    con: duckdb.DuckDBPyConnection, books: Books
) -> None:
    query = "SELECT cluster_id, billing_currency, row_kind, reason, resource_kind, {} "
    query += "FROM normalised WHERE cluster_id IS NOT NULL GROUP BY ALL"
    ours = figures(con, query.format("sum(billed_cost)"))
    rows = figures(con, query.format("count(*)"))
    theirs = {key: amount for key, amount in books.kinds("billed").items() if key in ours}
    views = con.sql("SELECT count(DISTINCT provider) FROM normalised WHERE billed_cost IS NOT NULL")
    assert views.fetchall() == [(2,)]  # Azure's exports are amortised
    assert ours.keys() == theirs.keys()
    assert all(abs(ours[key] - theirs[key]) <= QUANTUM * rows[key] for key in ours)


@pytest.mark.parametrize("view", ["effective", "billed"])
def test_what_is_outside_is_the_oracles(
    con: duckdb.DuckDBPyConnection, books: Books, view: str
) -> None:
    ours = figures(
        con,
        f"SELECT source, reason, billing_currency, sum({view}_cost) "
        "FROM normalised WHERE row_kind = 'outside' GROUP BY ALL",
    )
    assert ours == books.outside(view)


def test_statements_are_the_oracles_to_the_quantum_and_to_the_cent(
    con: duckdb.DuckDBPyConnection, books: Books
) -> None:
    assert agree(con, lines(con, "statements"), expected(books.statements("effective")))
    rounded = lines(con, "statements", end="_rounded")
    assert rounded == expected(books.statements("effective"), end="_rounded")


@pytest.mark.parametrize("method", COMPARED)
def test_every_method_is_the_oracles(
    con: duckdb.DuckDBPyConnection, books: Books, method: tuple[str, str | None]
) -> None:
    theirs = expected(books.teams("effective", method))
    assert agree(con, lines(con, "comparison", *method), theirs)


def test_the_bridge_is_the_oracles(con: duckdb.DuckDBPyConnection, books: Books) -> None:
    ours = figures(
        con,
        "SELECT cluster_id, node_name, resource_kind, billing_currency, name, sum(amount) "
        "FROM reconciliation GROUP BY ALL",
    )
    theirs = {
        (*key, name): amount
        for key, amounts in books.bridges().items()
        for name, amount in amounts.items()
    }
    assert agree(con, without_estimates(ours, books), without_estimates(theirs, books))


def test_causes_of_idle_are_the_oracles(con: duckdb.DuckDBPyConnection, books: Books) -> None:
    ours = figures(
        con,
        "SELECT cluster_id, billing_currency, resource_kind, cause, sum(effective_cost) "
        "FROM normalised WHERE row_kind = 'idle' GROUP BY ALL HAVING sum(effective_cost) <> 0",
    )
    theirs: dict[Any, Fraction] = {}
    for piece in books.clustered:
        if piece.row_kind == "idle" and piece.effective:
            key = (piece.cluster, piece.currency, piece.resource_kind, piece.cause)
            theirs[key] = theirs.get(key, Fraction(0)) + piece.effective
    assert {cause for *_, cause in ours} == set(CAUSES)
    assert agree(con, ours, theirs)


def test_workload_idle_is_the_oracles_up_to_doubles(
    con: duckdb.DuckDBPyConnection, books: Books
) -> None:
    ours = figures(con, "SELECT cluster_id, billing_currency, team, workload_idle FROM statements")
    theirs = {key: value for key, value in books.workload_idle().items() if value is not None}
    assert ours.keys() == theirs.keys()
    assert all(abs(ours[key] - theirs[key]) < 10_000 * QUANTUM for key in ours)


def test_the_worked_example(con: duckdb.DuckDBPyConnection) -> None:
    found = {
        (row[0], row[1], row[2]): float(row[3])
        for row in con.execute(
            'SELECT method, "by", team, total FROM comparison '
            "WHERE cluster_id LIKE '%/worked-example'"
        ).fetchall()
    }
    page = {
        ("none", None, "A"): 56.50,
        ("none", None, "B"): 20.95,
        ("none", None, "platform"): 69.42,
        ("even", None, "A"): 79.65,
        ("even", None, "B"): 44.14,
        ("proportional", "total", "A"): 96.36,
        ("proportional", "total", "B"): 35.77,
    }
    assert {key: found[key] for key in page} == pytest.approx(page, abs=0.04)
    assert round(found["proportional", "resource", "A"], 2) == 95.57
    assert round(found["proportional", "resource", "B"], 2) == 36.16


# ---------------------------------------------------------------- against the bill


def test_anybody_can_sum_the_lake_to_the_bill(lake: Path) -> None:
    glob = str(lake / "normalised" / "**" / "*.parquet")
    views = duckdb.sql(
        f"SELECT source, sum(effective_cost), sum(billed_cost) "
        f"FROM read_parquet('{glob}', hive_partitioning = true) GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    bill = duckdb.sql(
        "PIVOT (SELECT source, cost_view, amount FROM "
        f"read_parquet('{lake}/bill/**/*.parquet') "
        "WHERE class NOT IN ('other_period', 'split_information', 'provider_reallocation')) "
        "ON cost_view IN ('effective', 'billed') USING sum(amount) ORDER BY source"
    ).fetchall()
    assert len(views) == len(load(lake).sources)
    for ours, theirs in zip(views, bill, strict=True):
        assert ours[0] == theirs[0]
        for one, other in zip(ours[1:], theirs[1:], strict=True):
            assert one == (other if other is None else pytest.approx(other, abs=Decimal("1e-8")))


def test_a_row_that_gets_lost_breaks_promise_1_and_publishes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    combine = transforms.aws.combine

    def forgetful(parts: Mapping[str, pl.LazyFrame], context: Context) -> Sliced:
        sliced = combine(parts, context)
        return replace(sliced, slices=sliced.slices.slice(1))

    monkeypatch.setattr(transforms.aws, "combine", forgetful)
    outcome = months.run(load(tmp_path / "lake"), MONTH)
    assert (outcome.record.status, outcome.record.published) == ("failed", False)
    assert outcome.broken
    assert not (tmp_path / "lake" / "normalised").exists()


def test_a_transform_that_misreads_amounts_is_caught_by_the_independent_sum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Totals, slices and cluster bills agree with each other here; only the bill does not."""
    slice_file = transforms.aws.slice_file

    def generous(raw: pl.LazyFrame, context: Context) -> dict[str, pl.LazyFrame]:
        dearer = pl.col("line_item_unblended_cost") + 0.01
        return slice_file(raw.with_columns(line_item_unblended_cost=dearer), context)

    monkeypatch.setattr(transforms.aws, "slice_file", generous)
    config = load(tmp_path / "lake")
    only = tuple(source for source in config.sources if source.id == "aws-example")
    outcome = months.run(config.model_copy(update={"sources": only}), MONTH)
    assert outcome.record.status == "failed"
    assert {row["rule"] for row in outcome.broken} == {"promise_1_bill"}


# ---------------------------------------------------------------- against itself

_RUN = """
import os, sys
cores = int(sys.argv[2])
os.sched_setaffinity(0, set(list(os.sched_getaffinity(0))[:cores]))
from pathlib import Path
from pipelines import month
from tests.test_month import MONTH, load
month.run(load(Path(sys.argv[1])), MONTH)
"""


def digests(lake: Path) -> dict[str, str]:
    """sha256 of every published table file."""
    found = Lake(lake).newest(MONTH)
    return {
        file.path: hashlib.sha256((lake / file.path).read_bytes()).hexdigest()
        for files in found.tables.values()
        for file in files
    }


@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_bytes_with_any_number_of_threads(
    lake: Path, tmp_path: Path, threads: int
) -> None:
    again = tmp_path / "lake"
    subprocess.run(
        [sys.executable, "-c", _RUN, str(again), str(threads)],
        check=True,
        cwd=FIXTURES.parent,
        env=os.environ | {"POLARS_MAX_THREADS": str(threads)},
    )
    assert digests(again) == digests(lake)


@pytest.mark.parametrize(
    ("source", "form"), [("aws-prod", "aws-prod-csv"), ("aws-data", "aws-data-parquet")]
)
def test_the_form_of_the_export_makes_no_difference(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, source: str, form: str
) -> None:
    other = Lake(tmp_path / "lake")
    outcome = months.run(load(other.path, {source: form}), MONTH)
    query = "SELECT * EXCLUDE (source_file, source_dataset) FROM normalised ORDER BY ALL"
    assert other.connect(outcome.record).sql(query).fetchall() == con.sql(query).fetchall()


def test_a_changed_rule_reads_no_raw_file_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = load(tmp_path / "lake")
    months.run(config, MONTH)
    monkeypatch.setattr(slicing, "scan", lambda path: pytest.fail(f"{path} was read again"))
    rules = config.allocation_rules[0].model_copy(update={"method": "even"})
    outcome = months.run(
        config.model_copy(update={"allocation_rules": (rules,), "operators": ()}), MONTH
    )
    assert outcome.record.published
