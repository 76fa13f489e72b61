"""The methods `metric` and `fixed`, who takes part by `teams` and `except`, and what is told."""

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import duckdb
import pytest

from pipelines import queries
from tests.ledger_cases import (
    SHOP,
    Row,
    book,
    charge,
    idle,
    measured,
    rule,
    shares,
    workload,
)
from transforms.errors import InputError

NEXT_DAY = date(2026, 10, 2)
TRAFFIC = {"row_kind": "shared", "reason": "network", "resource_kind": "network"}

Bearers = dict[str | None, str]


def traffic(cost: str, **columns: Any) -> Row:
    """Return what a cluster's traffic cost."""
    return charge(cost, split_source=None, node_name=None, **(TRAFFIC | columns))


def bearers(con: duckdb.DuckDBPyConnection, kind: str = "shared") -> Bearers:
    """Return what each team bears of a kind, under the rules in force."""
    rows = con.execute(
        "SELECT team, sum(amount) FROM postings WHERE row_kind = $kind GROUP BY team",
        {"kind": kind},
    ).fetchall()
    return {team: f"{amount.normalize():f}" for team, amount in rows}


def notes(con: duckdb.DuckDBPyConnection, kind: str = "shared") -> list[tuple[Any, ...]]:
    """Return team, method, weight, weight_total and note of the postings of a kind."""
    return con.execute(
        "SELECT team, method, weight, weight_total, note FROM postings "
        "WHERE row_kind = $kind ORDER BY ALL",
        {"kind": kind},
    ).fetchall()


def told(con: duckdb.DuckDBPyConnection, *names: str) -> list[tuple[Any, ...]]:
    """Return rule, severity, cluster, where, expected, actual, difference of some findings."""
    return con.execute(
        'SELECT rule, severity, cluster_id, "where", expected, actual, difference FROM findings '
        "WHERE rule IN (SELECT unnest($names)) ORDER BY ALL",
        {"names": list(names)},
    ).fetchall()


WEIGHED = (
    "fixed_share_unused",
    "metric_incomplete",
    "metric_missing",
    "metric_not_participant",
    "metric_on_idle",
)

TEAMS = [workload("ads", "3"), workload("web", "1")]
MEASURED = [measured("ads", "2.5"), measured("web", "7.5")]


# ------------------------------------------------------------------------------- fixed


@pytest.mark.parametrize(
    ("of_teams", "borne"),
    [
        ({"ads": 60, "web": 40}, {"ads": "6", "web": "4"}),
        ({"ads": "0.1", "web": "0.3"}, {"ads": "2.5", "web": "7.5"}),
        ({"ads": 1, "web": 1, "gone": 2}, {"ads": "5", "web": "5"}),
        ({"ads": 1}, {"ads": "10"}),
        ({"gone": 1}, {"platform": "10"}),
        ({"platform": 1, "web": 1}, {"web": "10"}),
        ({"ads": "999999999999.999999999999", "web": "0.000000000001"}, {"ads": "10", "web": "0"}),
    ],
    ids=[
        "percent",
        "fractions",
        "a team that is not there",
        "one alone",
        "nobody there",
        "the operator without workload",
        "a share too small to see",
    ],
)
def test_fixed_is_what_was_agreed_among_those_who_are_there(
    of_teams: Mapping[str, str | int], borne: Bearers
) -> None:
    con = book([*TEAMS, traffic("10")], rule("r", "fixed", "shared", **shares(**of_teams)))
    assert bearers(con) == borne


def test_a_fixed_share_is_the_weight_that_is_told() -> None:
    con = book([*TEAMS, traffic("-10")], rule("r", "fixed", "shared", **shares(ads=60, web=40)))
    assert notes(con) == [("ads", "fixed", 60, 100, None), ("web", "fixed", 40, 100, None)]
    assert bearers(con) == {"ads": "-6", "web": "-4"}
    assert told(con, *WEIGHED) == []


def test_a_share_of_a_team_that_is_not_there_is_told_with_what_it_would_have_shared() -> None:
    rows = [
        *TEAMS,
        traffic("10"),
        *(row | {"charge_period_start": NEXT_DAY} for row in (TEAMS[0], traffic("4"))),
    ]
    con = book(rows, rule("r", "fixed", "shared", **shares(ads=1, web=1, Web=2)))
    assert bearers(con) == {"ads": "9", "web": "5"}
    expected = "workload where its share is due"
    left = "its share is left to the others, or to the operator where there are none"
    assert told(con, *WEIGHED) == [
        (
            *("fixed_share_unused", "warning", SHOP, "allocation rule r, team Web", expected),
            f"pools without: 2, 2026-10-01 to 2026-10-02; {left}",
            "14.000000000000",
        ),
        (
            *("fixed_share_unused", "warning", SHOP, "allocation rule r, team web", expected),
            f"pools without: 1, 2026-10-02 to 2026-10-02; {left}",
            "4.000000000000",
        ),
    ]


# ------------------------------------------------------------------------------ metric


@pytest.mark.parametrize("cluster", ["shop", SHOP])
def test_metric_is_what_was_measured_in_a_cluster_by_its_name_or_id(cluster: str) -> None:
    values = [value | {"cluster": cluster} for value in MEASURED]
    con = book([*TEAMS, traffic("10")], rule("r", "metric", "shared"), metrics=values)
    assert bearers(con) == {"ads": "2.5", "web": "7.5"}
    assert notes(con) == [
        ("ads", "metric", Decimal("2.5"), 10, None),
        ("web", "metric", Decimal("7.5"), 10, None),
    ]
    assert told(con, *WEIGHED) == []


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"cluster": "Shop"},
        {"cluster": "sho?"},
        {"cluster": "*"},
        {"cluster": "cluster/shop"},
        {"charge_date": NEXT_DAY},
        {"position": 1},
    ],
    ids=["capital", "pattern", "star", "end of an id", "day", "rule"],
)
def test_a_metric_from_elsewhere_counts_for_nothing(elsewhere: Row) -> None:
    values = [MEASURED[0], MEASURED[1] | elsewhere]
    rules = [rule("r", "metric", "shared"), rule("other", "metric", "cluster_fee")]
    con = book([*TEAMS, traffic("10")], *rules, metrics=values)
    assert bearers(con) == {"ads": "10"}
    assert [finding[0] for finding in told(con, *WEIGHED)] == ["metric_incomplete"]


def test_each_rule_has_the_values_of_its_own_metric() -> None:
    fee = charge("8", row_kind="cluster_fee", reason="control_plane", resource_kind="other")
    con = book(
        [*TEAMS, traffic("10"), fee],
        rule("egress", "metric", "shared"),
        rule("calls", "metric", "cluster_fee"),
        metrics=[*MEASURED, *(measured(team, 1, position=1) for team in ("ads", "web"))],
    )
    assert bearers(con) == {"ads": "2.5", "web": "7.5"}
    assert bearers(con, "cluster_fee") == {"ads": "4", "web": "4"}


def test_one_name_of_two_clusters_gives_each_the_value() -> None:
    other = {"cluster_id": "arn:other", "cluster_name": "shop"}
    rows = [*TEAMS, traffic("10"), workload("ads", "1", **other), traffic("4", **other)]
    con = book(rows, rule("r", "metric", "shared"), metrics=MEASURED)
    assert bearers(con) == {"ads": "6.5", "web": "7.5"}


def test_each_cluster_has_its_own_values() -> None:
    other = {"cluster_id": "arn:other", "cluster_name": "other"}
    rows = [*TEAMS, traffic("10"), *(row | other for row in (*TEAMS, traffic("10")))]
    values = [*MEASURED, measured("ads", 9, cluster="other"), measured("web", 1, cluster="other")]
    con = book(rows, rule("r", "metric", "shared"), metrics=values)
    posted = con.sql(
        "SELECT cluster_id, team, amount FROM postings WHERE row_kind = 'shared' ORDER BY ALL"
    ).fetchall()
    assert posted == [
        (SHOP, "ads", Decimal("2.5")),
        (SHOP, "web", Decimal("7.5")),
        ("arn:other", "ads", Decimal(9)),
        ("arn:other", "web", Decimal(1)),
    ]


def test_one_rule_gives_its_values_to_all_its_kinds() -> None:
    fee = charge("10", row_kind="cluster_fee", reason="control_plane", resource_kind="other")
    con = book(
        [*TEAMS, traffic("10"), fee],
        rule("r", "metric", "shared", "cluster_fee"),
        metrics=MEASURED,
    )
    assert bearers(con) == bearers(con, "cluster_fee") == {"ads": "2.5", "web": "7.5"}


def test_workload_without_a_team_has_a_value_where_the_file_names_no_team() -> None:
    rows = [*TEAMS, workload(None, "1"), traffic("10")]
    con = book(rows, rule("r", "metric", "shared"), metrics=[*MEASURED, measured(None, 10)])
    assert bearers(con) == {"ads": "1.25", "web": "3.75", "platform": "5"}
    assert told(con, *WEIGHED) == []


def test_who_has_no_value_bears_nothing_and_that_is_told() -> None:
    rows = [*TEAMS, workload("new", "1"), workload(None, "1"), traffic("10")]
    rows += [row | {"charge_period_start": NEXT_DAY} for row in (*TEAMS, traffic("10"))]
    values = [*MEASURED, measured("ads", 1, charge_date=NEXT_DAY)]
    con = book(rows, rule("r", "metric", "shared"), metrics=values)
    assert bearers(con) == {"ads": "12.5", "web": "7.5"}
    name, day = "metric_incomplete", "a value on each day with workload"
    first = "days without: 1, 2026-10-01 to 2026-10-01; it bears nothing there"
    second = "days without: 1, 2026-10-02 to 2026-10-02; it bears nothing there"
    assert told(con, *WEIGHED) == [
        (name, "warning", SHOP, "allocation rule r, team new", day, first, None),
        (name, "warning", SHOP, "allocation rule r, team web", day, second, None),
        (name, "warning", SHOP, "allocation rule r, workload without a team", day, first, None),
    ]


def test_a_value_of_0_is_a_value() -> None:
    values = [measured("ads", 0), measured("web", 1)]
    con = book([*TEAMS, traffic("10")], rule("r", "metric", "shared"), metrics=values)
    assert bearers(con) == {"web": "10"}
    assert told(con, *WEIGHED) == []


def test_a_value_of_a_team_that_takes_no_part_is_told() -> None:
    values = [*MEASURED, measured("Ads", 5), measured("idle", 0), measured(None, 1)]
    values.append(measured("ads", 5, charge_date=NEXT_DAY))
    rows = [*TEAMS, traffic("10"), traffic("4", charge_period_start=NEXT_DAY)]
    con = book(rows, rule("r", "metric", "shared"), metrics=values)
    assert bearers(con) == {"ads": "2.5", "web": "7.5", "platform": "4"}
    name, day = "metric_not_participant", "workload on each day with a value"
    ends = "its value counts for nothing there"
    assert told(con, *WEIGHED) == [
        (
            *(name, "warning", SHOP, "allocation rule r, team Ads", day),
            *(f"days without: 1, 2026-10-01 to 2026-10-01; {ends}", None),
        ),
        (
            *(name, "warning", SHOP, "allocation rule r, team ads", day),
            *(f"days without: 1, 2026-10-02 to 2026-10-02; {ends}", None),
        ),
        (
            *(name, "warning", SHOP, "allocation rule r, workload without a team", day),
            *(f"days without: 1, 2026-10-01 to 2026-10-01; {ends}", None),
        ),
    ]


def test_whom_the_rule_leaves_out_may_have_a_value() -> None:
    rows = [*TEAMS, workload("ops", "1"), workload("lab", "1"), traffic("10")]
    values = [*MEASURED, measured("ops", 5), measured("lab", 5)]
    for limits in ({"excepted": ["ops", "lab"]}, {"teams": ["ads", "web"]}):
        con = book(rows, rule("r", "metric", "shared", **limits), metrics=values)
        assert bearers(con) == {"ads": "2.5", "web": "7.5"}
        assert told(con, *WEIGHED) == []


@pytest.mark.parametrize("kind", ["idle", "headroom"])
def test_a_metric_on_what_stands_idle_is_told(kind: str) -> None:
    rows = [*TEAMS, idle("10"), charge("10", row_kind="headroom", reason="policy")]
    con = book(rows, rule("r", "metric", kind), metrics=MEASURED)
    assert bearers(con, kind) == {"ads": "2.5", "web": "7.5"}
    assert told(con, *WEIGHED) == [
        (
            *("metric_on_idle", "warning", SHOP, f"allocation rule r, {kind}"),
            *("a method that follows what teams request", "metric", "10.000000000000"),
        )
    ]


# ---------------------------------------------------------------------------- fallback


FALLEN = "nobody who takes part has a value of the metric: distributed by fallback "


@pytest.mark.parametrize(
    "values",
    [[], [measured("ads", 0)], [measured("gone", 5)], [measured("ads", 5, charge_date=NEXT_DAY)]],
    ids=["no value", "zero", "of a stranger", "of another day"],
)
@pytest.mark.parametrize(
    ("fallback", "posted"),
    [
        (
            "none",
            [
                (
                    *("platform", "metric", None, None),
                    f"{FALLEN}none; nobody has weight in this pool: it stays with the operator",
                )
            ],
        ),
        ("even", [(team, "metric", 1, 2, f"{FALLEN}even") for team in ("ads", "web")]),
        (
            "proportional",
            [
                ("ads", "metric", 3, 4, f"{FALLEN}proportional"),
                ("web", "metric", 1, 4, f"{FALLEN}proportional"),
            ],
        ),
    ],
)
def test_without_a_value_the_fallback_distributes_and_says_so(
    values: Sequence[Row], fallback: str, posted: list[tuple[Any, ...]]
) -> None:
    applied = rule("r", "metric", "shared", fallback=fallback)
    con = book([*TEAMS, traffic("10")], applied, metrics=values)
    assert notes(con) == posted
    assert (
        bearers(con)
        == {
            "none": {"platform": "10"},
            "even": {"ads": "5", "web": "5"},
            "proportional": {"ads": "7.5", "web": "2.5"},
        }[fallback]
    )
    assert told(con, "metric_missing") == [
        (
            *("metric_missing", "warning", SHOP, "allocation rule r, shared"),
            "a value above 0 of somebody who takes part",
            f"days without: 1, 2026-10-01 to 2026-10-01; distributed by fallback {fallback}",
            "10.000000000000",
        )
    ]
    assert told(con, "metric_incomplete") == []


def test_a_fallback_goes_by_what_the_rule_goes_by() -> None:
    rows = [*TEAMS, workload("web", "4", resource_kind="memory"), idle("8")]
    for by, borne in (("resource", {"ads": "6", "web": "2"}), ("total", {"ads": "3", "web": "5"})):
        con = book(rows, rule("r", "metric", fallback="proportional", by=by))
        assert bearers(con, "idle") == borne


def test_each_pool_falls_back_by_itself() -> None:
    rows = [*TEAMS, traffic("10")]
    rows += [row | {"charge_period_start": NEXT_DAY} for row in rows]
    con = book(rows, rule("r", "metric", "shared", fallback="even"), metrics=MEASURED)
    assert bearers(con) == {"ads": "7.5", "web": "12.5"}
    assert [(team, note) for team, *_, note in notes(con)] == [
        ("ads", f"{FALLEN}even"),
        ("ads", None),
        ("web", f"{FALLEN}even"),
        ("web", None),
    ]


def test_where_nobody_takes_part_nothing_falls_back() -> None:
    con = book([traffic("10")], rule("r", "metric", "shared", fallback="even"), metrics=MEASURED)
    note = "nobody has weight in this pool: it stays with the operator"
    assert notes(con) == [("platform", "metric", None, None, note)]
    assert told(con, "metric_missing") == []


# -------------------------------------------------------------- exactly, whatever the size


AWKWARD = {
    "beyond 10^15": ["1e24", "7e23", "3"],
    "all the same": ["1", "1", "1"],
    "the largest sum": ["99999999999999999999999999", "0.999999999999", "0"],
    "quanta": ["0.000000000001", "0.000000000001", "0.000000000001"],
    "none": ["0", "0", "0"],
}
AMOUNTS = ("170000000000", "-170000000000", "0.000000000001", "-0.000000000001", "-100", "0")


@pytest.mark.parametrize("values", AWKWARD.values(), ids=AWKWARD)
def test_a_metric_of_any_size_gives_the_pool_exactly(values: list[str]) -> None:
    teams = ("ads", "web", "zoo")
    rows = [workload(team, "1") for team in teams]
    rows += [traffic(amount, reason=f"{n}") for n, amount in enumerate(AMOUNTS)]
    metrics = [measured(team, value) for team, value in zip(teams, values, strict=True)]
    con = book(rows, rule("r", "metric", "shared"), metrics=metrics)
    posted = con.sql(
        "SELECT reason, sum(amount) FROM postings WHERE row_kind = 'shared' GROUP BY ALL"
    ).fetchall()
    assert {amount for _, amount in posted} == {Decimal(amount) for amount in AMOUNTS}
    assert con.sql("FROM findings WHERE severity = 'error'").fetchall() == []


def test_a_cluster_named_by_name_and_by_id_is_refused() -> None:
    values = [*MEASURED, measured("web", 1, cluster=SHOP)]
    with pytest.raises(InputError) as refused:
        book([*TEAMS, traffic("10")], rule("r", "metric", "shared"), metrics=values)
    error = refused.value
    assert (error.what, error.where, error.got) == (
        "two values of a metric are about one team",
        "metric of allocation rule r: 2026-10-01, web",
        f"one by the name of {SHOP}, one by this id",
    )


# -------------------------------------------------------------------- teams and except


WEIGHING = [method for method in queries.methods() if method != "none"]
NEEDS = {"fixed": shares(ads=3, web=1, ops=2), "metric": {}}
EVERYBODY = [*TEAMS, workload("ops", "2"), workload(None, "2")]
VALUES = [measured(team, 1) for team in ("ads", "web", "ops", None)]
LIMITS: dict[str, tuple[Row, dict[str, Bearers]]] = {
    "teams": (
        {"teams": ["ads", "web"]},
        {
            "even": {"ads": "6", "web": "6"},
            "proportional": {"ads": "9", "web": "3"},
            "fixed": {"ads": "9", "web": "3"},
            "metric": {"ads": "6", "web": "6"},
        },
    ),
    "except": (
        {"excepted": ["ops"]},
        {
            "even": {"ads": "4", "web": "4", "platform": "4"},
            "proportional": {"ads": "6", "web": "2", "platform": "4"},
            "fixed": {"ads": "9", "web": "3"},
            "metric": {"ads": "4", "web": "4", "platform": "4"},
        },
    ),
    "both": (
        {"teams": ["ads", "ops"], "excepted": ["ops"]},
        {method: {"ads": "12"} for method in WEIGHING},
    ),
    "names are exact": (
        {"teams": ["a*", "Ads"]},
        {method: {"platform": "12"} for method in WEIGHING},
    ),
}


@pytest.mark.parametrize("case", LIMITS)
@pytest.mark.parametrize("method", WEIGHING)
def test_who_takes_part_is_limited_under_every_method(method: str, case: str) -> None:
    limits, borne = LIMITS[case]
    applied = rule("r", method, "shared", **NEEDS.get(method, {}), **limits)
    con = book([*EVERYBODY, traffic("12")], applied, metrics=VALUES if method == "metric" else ())
    assert bearers(con) == borne[method]


def test_a_comparison_keeps_whom_the_rule_leaves_out() -> None:
    con = book([*EVERYBODY, idle("12")], rule("r", "none", excepted=["ops"], teams=["ads", "ops"]))
    compared = con.sql(
        'SELECT method, "by", team, idle FROM comparison WHERE idle <> 0 ORDER BY ALL'
    ).fetchall()
    assert compared == [
        ("even", None, "ads", 12),
        ("none", None, "platform", 12),
        ("proportional", "resource", "ads", 12),
        ("proportional", "total", "ads", 12),
    ]


def test_a_rule_leaves_nobody_out_where_it_does_not_apply() -> None:
    rows = [*TEAMS, idle("4"), traffic("4")]
    con = book(rows, rule("r", "even", excepted=["ads"]), rule("s", "even", "shared"))
    assert bearers(con, "idle") == {"web": "4"}
    assert bearers(con) == {"ads": "2", "web": "2"}


# ------------------------------------------------------------------- a node pool of its own


DEDICATED = [
    workload("ml", "5", node_pool="gpu", resource_id="i-1"),
    workload("ads", "3", node_pool="default", resource_id="i-2"),
    workload("web", "1", node_pool="default", resource_id="i-2"),
    idle("40", node_pool="gpu", resource_id="i-1"),
    idle("4", node_pool="default", resource_id="i-2"),
]


@pytest.mark.parametrize(
    ("method", "borne"),
    [
        ("proportional", {"ml": "40", "ads": "3", "web": "1"}),
        ("even", {"ml": "40", "ads": "2", "web": "2"}),
        ("fixed", {"ml": "40", "ads": "2", "web": "2"}),
        ("metric", {"ml": "40", "ads": "1", "web": "3"}),
    ],
)
def test_idle_of_a_dedicated_node_pool_stays_with_its_users(method: str, borne: Bearers) -> None:
    needed = {"fixed": shares(ml=1, ads=1, web=1)}.get(method, {})
    values = [measured("ml", 1), *MEASURED] if method == "metric" else ()
    con = book(DEDICATED, rule("r", method, scope="node_pool", **needed), metrics=values)
    assert bearers(con, "idle") == borne
    compared = con.sql(
        "SELECT idle FROM comparison WHERE team = 'ml' AND method <> 'none' ORDER BY ALL"
    ).fetchall()
    assert compared == [(40,), (40,), (40,)]


def test_in_scope_cluster_everybody_shares_the_dedicated_pool_too() -> None:
    con = book(DEDICATED, rule("r", "proportional", scope="cluster"))
    assert bearers(con, "idle") == {
        "ml": "24.444444444444",
        "ads": "14.666666666667",
        "web": "4.888888888889",
    }


def test_an_id_that_is_called_default_is_a_rule_of_its_own() -> None:
    rows = [*TEAMS, idle("4"), traffic("4")]
    con = book(rows, rule("default", "even", "shared", excepted=["ads"]))
    compared = con.sql("SELECT idle FROM comparison WHERE team = 'ads' AND method = 'even'")
    assert compared.fetchall() == [(2,)]
