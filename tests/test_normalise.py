"""Rules change who is charged and what a row is called, never an amount."""

import datetime as dt
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from transforms.inventory import nothing_known
from transforms.normalise import normalise
from transforms.schema import polars_schema
from transforms.sliced import Sliced

DAY = dt.date(2026, 10, 5)


def slice_(namespace: str | None = "shop", kind: str = "workload", **cells: Any) -> dict[str, Any]:
    base = {
        "row_kind": kind,
        "namespace": namespace,
        "cluster_id": "arn:cluster/shop-eu",
        "cluster_name": "shop-eu",
        "charge_period_start": DAY,
        "effective_cost": 1,
    }
    return base | cells


def rule(**cells: Any) -> Any:
    base = {
        "placeholder_pods": None,
        "keep_free": None,
        "node_pool": ("*",),
        "label": None,
        "team": None,
        "namespace": ("*",),
        "cluster": ("*",),
        "valid_from": None,
        "valid_to": None,
    }
    return SimpleNamespace(**(base | cells))


def normalised(rows: Iterable[dict[str, Any]], **decided: Any) -> pl.DataFrame:
    """Rows under some decisions; nothing else happens to them."""
    frame = pl.DataFrame(list(rows), schema=polars_schema("normalised"))
    nothing: dict[str, Any] = {"team_rules": (), "system": (), "headroom": (), "node_pools": ()}
    sliced = Sliced(frame, pl.DataFrame(), pl.DataFrame(), pl.DataFrame())
    result = normalise(sliced, SimpleNamespace(**nothing | decided), nothing_known())
    assert result.findings.is_empty()
    rows_after = result.rows.collect()
    assert rows_after["effective_cost"].sum() == frame["effective_cost"].sum()
    return rows_after


def teams(rows: Iterable[dict[str, Any]], *rules: Any) -> list[tuple[Any, Any]]:
    result = normalised(rows, team_rules=rules)
    return list(zip(result["team"], result["team_rule"], strict=True))


def kinds(rows: Iterable[dict[str, Any]], *, system: Any = (), headroom: Any = ()) -> list[Any]:
    result = normalised(rows, system=system, headroom=headroom)
    return list(zip(result["row_kind"], result["reason"], strict=True))


def test_the_first_rule_that_names_a_team_wins() -> None:
    by_label, by_namespace = rule(label="team"), rule(team="fallback", namespace=("shop",))
    rows = [slice_(labels={"team": "payments"}), slice_(), slice_("other")]
    assert teams(rows, by_label, by_namespace) == [
        ("payments", "team_rule[0]"),
        ("fallback", "team_rule[1]"),
        (None, None),
    ]


@pytest.mark.parametrize(
    ("cells", "matches"),
    [
        ({"valid_from": DAY}, True),
        ({"valid_from": DAY + dt.timedelta(1)}, False),
        ({"valid_to": DAY}, False),
        ({"valid_to": DAY + dt.timedelta(1)}, True),
        ({"cluster": ("shop-*",)}, True),
        ({"cluster": ("arn:cluster/*",)}, True),
        ({"cluster": ("SHOP-*",)}, False),
        ({"namespace": ("sho?",)}, True),
        ({"namespace": ("pay-*",)}, False),
        ({"namespace": ("pay-*", "shop")}, True),
    ],
)
def test_dates_and_globs_decide_where_a_rule_holds(cells: dict[str, Any], matches: bool) -> None:
    expected = ("t", "team_rule[0]") if matches else (None, None)
    assert teams([slice_()], rule(team="t", **cells)) == [expected]


def test_only_workloads_have_a_team() -> None:
    rows = [slice_(kind=kind) for kind in ("idle", "shared", "unattributed", "outside")]
    assert teams(rows, rule(team="t")) == [(None, None)] * 4


def test_a_workload_without_namespace_is_charged_by_its_label() -> None:
    assert teams([slice_(None, labels={"team": "a"})], rule(label="team")) == [
        ("a", "team_rule[0]")
    ]


def test_system_namespaces_are_overhead_and_placeholder_pods_headroom() -> None:
    held = rule(placeholder_pods=SimpleNamespace(namespace=("over*",)))
    rows = [slice_("kube-system"), slice_("overprovisioning"), slice_("shop"), slice_(kind="idle")]
    assert kinds(rows, system=[rule(namespace=("kube-system",))], headroom=[held]) == [
        ("system_overhead", "system_namespace"),
        ("headroom", "placeholder_pods"),
        ("workload", None),
        ("idle", None),
    ]


def test_headroom_has_dates_and_clusters() -> None:
    pods = SimpleNamespace(namespace=("*",))
    for cells in ({"valid_from": DAY + dt.timedelta(1)}, {"cluster": ("other",)}):
        held = rule(placeholder_pods=pods, **cells)
        assert kinds([slice_()], headroom=[held]) == [("workload", None)]
