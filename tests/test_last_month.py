"""The month before: which run it is, what is read of it, and when there is none."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipelines import config, last_month, month
from pipelines.lake import Lake
from pipelines.record import RunRecord
from tests.conftest import ROOT
from tests.ledger_cases import SHAPES, SHOP
from tests.two_months import OCTOBER, SEPTEMBER, idle, pods, publish, rule
from tests.two_months import config as configured
from transforms.schema import TABLES

BY_COST = configured(
    rule("shop", "proportional", scope="node_pool", by="total"),
    report={"charge_basis": "request"},
)


def loaded(path: Path, of: str = OCTOBER) -> tuple[str | None, duckdb.DuckDBPyConnection]:
    """Return which run was read, and where to."""
    con = duckdb.connect()
    return last_month.load(con, Lake(path), of), con


def rows(con: duckdb.DuckDBPyConnection, relation: str) -> list[dict[str, Any]]:
    """Return the rows of a relation."""
    found = con.sql(f"FROM {relation} ORDER BY ALL")
    return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]


def test_the_newest_run_of_the_month_before_is_read(tmp_path: Path) -> None:
    publish(tmp_path, "2026-08", [pods("a", "1")], BY_COST)
    publish(tmp_path, SEPTEMBER, [pods("a", "1")], BY_COST)
    newest = publish(
        tmp_path,
        SEPTEMBER,
        [
            pods("a", "3", "4", requested_quantity=Decimal(4), used_quantity=Decimal(1)),
            pods("b", "1", "2", resource_kind="memory", requested_quantity=Decimal(2)),
            idle("4", node_pool="m5"),
        ],
        BY_COST,
    )
    publish(tmp_path, OCTOBER, [pods("a", "1")], BY_COST)
    run, con = loaded(tmp_path)
    assert run == newest.run
    place = {"provider": "aws", "cluster_id": SHOP, "billing_currency": "USD"}
    assert rows(con, "last_clusters") == [
        {
            "billing_period": SEPTEMBER,
            "cost_view": "effective",
            "charge_basis": "request",
            **place,
            "bill": Decimal(8),
            "day_count": 1,
            "idle_ratio": 0.5,
            "requested_cpu": Decimal(4),
            "requested_memory": Decimal(2),
            "requested_gpu": None,
            "used_cpu": Decimal(1),
            "used_memory": None,
            "idle_rules": ["proportional by total in each node_pool"],
            "is_weighed": True,
            "is_by_cost": True,
        }
    ]
    assert [(row["team"], row["workload"]) for row in rows(con, "last_teams")] == [
        ("a", Decimal(3)),
        ("b", Decimal(1)),
        ("platform", Decimal(0)),
    ]
    assert rows(con, "last_teams")[0].keys() == {*place, "team", "workload", "idle"}


def test_the_year_turns(tmp_path: Path) -> None:
    before = publish(tmp_path, "2026-12", [pods("a", "1")], BY_COST)
    assert loaded(tmp_path, "2027-01")[0] == before.run


def test_without_a_month_before_the_relations_are_empty_and_the_same(tmp_path: Path) -> None:
    publish(tmp_path, OCTOBER, [pods("a", "1")], BY_COST)
    run, con = loaded(tmp_path)
    assert run is None
    shapes = duckdb.connect()
    for relation in ("last_clusters", "last_teams"):
        assert rows(con, relation) == []
        shapes.execute(f"CREATE TABLE {relation} ({SHAPES[relation]})")
        assert con.table(relation).columns == shapes.table(relation).columns
        assert con.table(relation).types == shapes.table(relation).types


@pytest.mark.parametrize("table", ["statements", "normalised"])
def test_a_month_whose_files_are_gone_is_none(tmp_path: Path, table: str) -> None:
    record = publish(tmp_path, SEPTEMBER, [pods("a", "1")], BY_COST)
    [file] = record.tables[table]
    for place in (tmp_path / file.path, tmp_path / "history" / record.run / file.path):
        place.unlink()
    assert loaded(tmp_path)[0] is None


@pytest.mark.parametrize(
    "other", [{"schema_version": 0}, {"tables": {}}], ids=["another schema", "fewer tables"]
)
def test_what_another_version_wrote_is_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: dict[str, object]
) -> None:
    old = publish(tmp_path, SEPTEMBER, [pods("a", "1")], BY_COST).model_copy(update=other)
    monkeypatch.setattr(Lake, "newest", lambda self, month: old)
    assert loaded(tmp_path)[0] is None


def test_a_record_of_old_names_no_last_run(tmp_path: Path) -> None:
    record = publish(tmp_path, SEPTEMBER, [pods("a", "1")], BY_COST)
    document = record.model_dump(mode="json", exclude={"last_run"})
    assert RunRecord.model_validate(document).last_run is None


def test_a_run_names_the_run_it_compared_with_and_the_same_inputs_give_the_same_bytes(
    tmp_path: Path,
) -> None:
    file = tmp_path / "leerlauf.toml"
    file.write_text(
        f"""
        [[source]]
        id = "gcp-shop"
        provider = "gcp"
        dataset = "gke_detailed"
        location = "{ROOT / "fixtures" / "exports" / "gcp-shop"}"
        """
    )
    read = config.load(file)
    october = month.run(read, "2026-10").record
    november = [month.run(read, "2026-11").record for _ in range(2)]
    assert (october.last_run, [one.last_run for one in november]) == (None, [october.run] * 2)
    hashes = [
        {file.path: file.sha256 for table in TABLES for file in one.tables[table]}
        for one in november
    ]
    assert hashes[0] == hashes[1]
