"""What every provider keeps. A provider is covered by being listed in `pipelines.providers`.

The exports are those of its sources in the demo's configuration.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from pipelines import config as configuration
from pipelines import exports
from pipelines import month as months
from pipelines.config import Config
from pipelines.errors import ConfigurationError
from pipelines.fetching import Fetched, fetch
from pipelines.lake import Lake
from pipelines.providers import PROVIDERS, Provider
from pipelines.slicing import slice_source
from tests.conftest import ROOT
from transforms.errors import InputError
from transforms.schema import COST_VIEWS, REASONS, RESOURCE_KINDS, polars_schema
from transforms.sliced import Sliced
from transforms.snapshots import bill_nodes

MONTH = "2026-10"
FIXTURES = ROOT / "fixtures"

every_provider = pytest.mark.parametrize("provider", PROVIDERS.values(), ids=PROVIDERS)


@dataclass(frozen=True)
class Source:
    """One source of the demo, fetched and sliced."""

    fetched: Fetched
    sliced: Sliced

    @property
    def views(self) -> tuple[str, ...]:
        """The cost views it has."""
        return self.fetched.provider.transform.views(self.fetched.context)


def demo(provider: Provider, lake: Path) -> Config:
    """The demo's configuration with the sources of one provider."""
    config = configuration.load(FIXTURES / "leerlauf.toml")
    place = config.lake.model_copy(update={"path": lake})
    own = tuple(source for source in config.sources if source.provider == provider.name)
    assert own, f"the demo has no source of {provider.name}"
    return config.model_copy(update={"lake": place, "sources": own})


def rows(frame: pl.DataFrame) -> list[str]:
    """Return the rows of a frame in an order of their own."""
    return sorted(map(repr, frame.rows()))


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Provider], list[Source]]:
    """Fetch and slice the sources of a provider, once."""

    @cache
    def sources_of(name: str) -> list[Source]:
        lake = Lake(tmp_path_factory.mktemp(name) / "lake")
        config = demo(PROVIDERS[name], lake.path)
        found = [fetch(source, config, MONTH, lake) for source in config.sources]
        return [
            Source(one, slice_source(one.provider, one.files, one.context, lake.path / "cache"))
            for one in found
        ]

    return lambda provider: sources_of(provider.name)


@pytest.fixture(scope="module")
def month_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Provider], Any]:
    """Run the month of a provider's sources, once; return its tables."""

    @cache
    def tables_of(name: str) -> duckdb.DuckDBPyConnection:
        lake = Lake(tmp_path_factory.mktemp(name) / "lake")
        outcome = months.run(demo(PROVIDERS[name], lake.path), MONTH)
        assert outcome.record.published, outcome.broken
        return lake.connect(outcome.record)

    return lambda provider: tables_of(provider.name)


# ------------------------------------------------------------------------------- slices


@every_provider
def test_slices_have_the_columns_of_the_schema_and_words_of_the_closed_lists(
    provider: Provider, sources: Callable[[Provider], list[Source]]
) -> None:
    words = {(kind, reason) for kind, reasons in REASONS.items() for reason in (*reasons, None)} - {
        (kind, None) for kind in REASONS if kind != "workload"
    }
    for one in sources(provider):
        slices = one.sliced.slices
        assert dict(slices.schema) == polars_schema("normalised")
        assert set(slices.select("row_kind", "reason").unique().iter_rows()) <= words
        assert set(slices.get_column("resource_kind").unique()) <= set(RESOURCE_KINDS)
        assert {*slices.get_column("provider"), *slices.get_column("source")} == {
            provider.name,
            one.fetched.context.source,
        }


@every_provider
def test_a_slice_is_outside_or_on_a_cluster_and_nothing_needed_is_missing(
    provider: Provider, sources: Callable[[Provider], list[Source]]
) -> None:
    for one in sources(provider):
        slices = one.sliced.slices
        is_outside = pl.col("row_kind") == "outside"
        assert slices.filter(is_outside == pl.col("cluster_id").is_not_null()).is_empty()
        needed = ("charge_period_start", "billing_currency", "origin_id", "source_file")
        assert slices.filter(pl.any_horizontal(pl.col(*needed).is_null())).is_empty()
        texts = slices.select(pl.col(pl.String))
        assert texts.filter(pl.any_horizontal(pl.all() == "")).is_empty()


@every_provider
def test_only_time_based_capacity_is_idle(
    provider: Provider, sources: Callable[[Provider], list[Source]]
) -> None:
    kinds = {
        kind
        for one in sources(provider)
        for kind in one.sliced.slices.filter(row_kind="idle").get_column("resource_kind")
    }
    assert kinds
    assert kinds <= {"cpu", "memory", "gpu", "compute", "storage"}


@every_provider
def test_a_view_that_a_source_has_is_filled_and_one_it_lacks_is_nowhere(
    provider: Provider, sources: Callable[[Provider], list[Source]]
) -> None:
    for one in sources(provider):
        assert one.views
        for view in COST_VIEWS:
            nulls = one.sliced.slices.get_column(f"{view}_cost").is_null()
            assert not nulls.any() if view in one.views else nulls.all()
        for table in (one.sliced.totals, one.sliced.cluster_bills):
            assert set(table.get_column("cost_view")) == set(one.views)


@every_provider
def test_every_node_of_the_bill_has_a_name_in_kubernetes_of_its_own_or_none_has(
    provider: Provider, sources: Callable[[Provider], list[Source]]
) -> None:
    ids = provider.transform.NODE_IDS
    others = [one.transform.NODE_IDS for one in PROVIDERS.values() if one is not provider]
    scheme = re.match(r"\^[a-z]+://", ids.provider_id)
    assert scheme
    assert not any(other.provider_id.startswith(scheme[0]) for other in others)
    assert re.compile(ids.provider_id).groups == (ids.billed is not None)
    nodes = pl.concat([bill_nodes(one.sliced.slices.lazy()) for one in sources(provider)])
    assert nodes.height
    named = nodes.drop_nulls("node_name")
    if ids.billed is None:
        assert named.is_empty()
        return
    billed = named.select("resource_id", key=ids.billed).unique()
    assert billed.height
    assert billed.get_column("key").null_count() == 0
    assert billed.get_column("key").n_unique() == billed.height
    assert billed.get_column("resource_id").n_unique() == billed.height


# -------------------------------------------------------------------------------- money


@every_provider
def test_slices_and_other_fates_are_what_was_read(
    provider: Provider, sources: Callable[[Provider], list[Source]]
) -> None:
    for one in sources(provider):
        for view in one.views:
            totals = one.sliced.totals.filter(cost_view=view, fate="sliced")
            sliced = one.sliced.slices.group_by("billing_currency").agg(
                pl.col(f"{view}_cost").sum()
            )
            read = totals.group_by("billing_currency").agg(pl.col("amount").sum())
            assert dict(sliced.iter_rows()) == dict(read.iter_rows())


@every_provider
def test_the_kinds_of_every_cluster_add_up_to_its_bill(
    provider: Provider, sources: Callable[[Provider], list[Source]]
) -> None:
    keys = ["cluster_id", "billing_currency"]
    for one in sources(provider):
        for view in one.views:
            inside = one.sliced.slices.filter(pl.col("row_kind") != "outside")
            kinds = inside.group_by(keys).agg(amount=pl.col(f"{view}_cost").sum())
            bills = one.sliced.cluster_bills.filter(cost_view=view).group_by(keys)
            assert sorted(kinds.iter_rows()) == sorted(bills.agg(pl.col("amount").sum()).rows())


@every_provider
def test_every_raw_row_has_one_fate(
    provider: Provider, sources: Callable[[Provider], list[Source]]
) -> None:
    """Rows are counted once more here, by an engine that knows nothing of the columns."""
    con = duckdb.connect()
    for one in sources(provider):
        count = sum(len(exports.open_relation(con, file.path)) for file in one.fetched.bills)
        for view in one.views:
            fates = one.sliced.totals.filter(cost_view=view)
            assert fates.get_column("rows").sum() == count


@every_provider
def test_no_file_and_no_row_has_a_place_of_its_own_in_the_result(
    provider: Provider, sources: Callable[[Provider], list[Source]], tmp_path: Path
) -> None:
    """The files in another order, read again without the cache, are the same slices."""
    for one in sources(provider):
        context = one.fetched.context
        again = slice_source(provider, one.fetched.files[::-1], context, tmp_path / context.source)
        for table in ("slices", "totals", "cluster_bills", "findings"):
            assert rows(getattr(again, table)) == rows(getattr(one.sliced, table))


# ----------------------------------------------------------------------------- the month


@every_provider
def test_the_month_is_published_and_every_idle_is_bridged(
    provider: Provider, month_of: Callable[[Provider], duckdb.DuckDBPyConnection]
) -> None:
    con = month_of(provider)
    assert con.sql("FROM findings WHERE severity = 'error'").fetchall() == []
    idle = con.sql("SELECT sum(cost) FROM charges WHERE row_kind = 'idle'").fetchall()
    bridged = con.sql("SELECT sum(amount) FROM reconciliation WHERE name = 'idle'").fetchall()
    assert idle == bridged
    assert idle[0][0] > 0
    shown = con.sql("SELECT sum(amount) FROM reconciliation WHERE name = 'provider_idle'")
    assert shown.fetchall()[0][0] > 0


@every_provider
def test_statements_add_up_to_the_clusters(
    provider: Provider, month_of: Callable[[Provider], duckdb.DuckDBPyConnection]
) -> None:
    con = month_of(provider)
    bills = con.sql(
        "SELECT cluster_id, billing_currency, sum(cost) FROM charges "
        "WHERE row_kind <> 'outside' GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    lines = con.sql(
        "SELECT cluster_id, billing_currency, sum(total) FROM statements GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    assert bills
    assert lines == bills


@every_provider
def test_a_row_that_a_transform_loses_is_not_published(
    provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else may notice: totals, slices and cluster bills still agree with each other."""
    slice_file = provider.transform.slice_file

    def forgetful(raw: pl.LazyFrame, context: Any) -> dict[str, pl.LazyFrame]:
        return slice_file(raw.slice(1), context)

    monkeypatch.setattr(provider.transform, "slice_file", forgetful)
    outcome = months.run(demo(provider, tmp_path / "lake"), MONTH)
    assert (outcome.record.status, outcome.record.published) == ("failed", False)
    assert {row["rule"] for row in outcome.broken} == {"promise_1_bill"}
    assert not (tmp_path / "lake" / "normalised").exists()


@every_provider
def test_a_second_fetch_copies_nothing(provider: Provider, tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    config = demo(provider, lake.path)
    first = [fetch(source, config, MONTH, lake) for source in config.sources]
    copies = {file.path: file.path.stat().st_mtime_ns for one in first for file in one.files}
    again = [fetch(source, config, MONTH, lake) for source in config.sources]
    assert again == first
    assert {copied.is_new for one in first for copied in one.deliveries} == {True}
    assert {copied.is_new for one in again for copied in one.deliveries} == {False}
    assert {path: path.stat().st_mtime_ns for path in copies} == copies


@every_provider
def test_a_month_run_again_is_there_once(provider: Provider, tmp_path: Path) -> None:
    config = demo(provider, tmp_path / "lake")
    glob = f"read_parquet('{tmp_path}/lake/normalised/**/*.parquet')"
    counted = []
    for _ in range(2):
        assert months.run(config, MONTH).record.published
        counted.append(duckdb.sql(f"SELECT count(*), sum(effective_cost) FROM {glob}").fetchall())
    assert counted[0] == counted[1]
    assert counted[0][0][0] > 0


@every_provider
def test_a_view_a_source_lacks_is_refused(provider: Provider, tmp_path: Path) -> None:
    config = demo(provider, tmp_path / "lake")
    for source in config.sources:
        for view in COST_VIEWS:
            alone = config.model_copy(
                update={
                    "sources": (source,),
                    "report": config.report.model_copy(update={"cost_view": view}),
                }
            )
            context = fetch(source, alone, MONTH, Lake(tmp_path / "lake")).context
            if view not in provider.transform.views(context):
                with pytest.raises(ConfigurationError, match=f"{source.id} has no {view} cost"):
                    months.run(alone, MONTH)


# ---------------------------------------------------------------------------- bad input


@every_provider
def test_a_file_without_the_needed_columns_is_refused(
    provider: Provider, sources: Callable[[Provider], list[Source]]
) -> None:
    raw = pl.LazyFrame({"one": ["1"], "two": ["2"]})
    with pytest.raises(InputError) as refused:
        provider.transform.slice_file(raw, sources(provider)[0].fetched.context)
    assert refused.value.expected
    assert refused.value.got
    assert refused.value.hint


@every_provider
def test_a_truncated_file_is_wrong_input(
    provider: Provider, sources: Callable[[Provider], list[Source]], tmp_path: Path
) -> None:
    one = sources(provider)[0]
    whole = one.fetched.bills[0]
    cut = tmp_path / whole.path.name
    cut.write_bytes(whole.path.read_bytes()[: whole.size // 2])
    broken = type(whole)(cut, whole.name, cut.stat().st_size, "0" * 64)
    with pytest.raises(InputError) as refused:
        slice_source(provider, [broken], one.fetched.context, tmp_path / "cache")
    assert whole.name in refused.value.where


# --------------------------------------------------------------------------- the house


@every_provider
def test_a_provider_has_its_rooms(provider: Provider) -> None:
    for room in (
        f"connectors/{provider.name}.py",
        f"transforms/{provider.name}/README.md",
        f"transforms/{provider.name}/bill.sql",
        f"transforms/{provider.name}/recognise.py",
        f"fixtures/{provider.name}/__init__.py",
        f"tests/oracle_{provider.name}.py",
    ):
        assert (ROOT / room).is_file(), room


def test_currencies_stand_side_by_side() -> None:
    """The demo has more than one, so that adding them would be seen."""
    config = configuration.load(FIXTURES / "leerlauf.toml")
    assert len({source.currency for source in config.sources}) > 1
