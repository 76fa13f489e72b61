"""Rules that change inside the fiscal year are told, with the old rule and the new one."""

from pathlib import Path

import pytest

from pipelines import in_force, month, rule_changes
from pipelines.config import Config
from pipelines.in_force import Cluster
from pipelines.lake import Lake
from tests.test_month import load
from tests.two_months import OCTOBER, SEPTEMBER, Row, config, pods, publish, rule

SHOP = Cluster("aws", "arn:aws:eks:eu-central-1:111111111111:cluster/shop", "shop")
DATA = Cluster("gcp", "acme/europe-west1/data", "data")
HALF = "2026-10-16"


def told(
    read: Config,
    *clusters: Cluster,
    of: str = OCTOBER,
    before: Config | None = None,
) -> list[tuple[str | None, ...]]:
    """Return where, expected and actual of what is found."""
    found = rule_changes.findings(read, of, clusters or (SHOP,), before)
    return [(one["where"], one["expected"], one["actual"]) for one in found]


OLD = rule("old", "proportional", "idle", "headroom", scope="node_pool", valid_to=HALF)
NEW = rule("new", "proportional", "idle", "headroom", valid_from=HALF)
CHANGED = (
    f"idle and headroom on shop, from {HALF}, rule old to new",
    "proportional by resource, per node pool",
    "proportional by resource, per cluster",
)


# ---------------------------------------------------------------------------------------------
# By the dates of the file
# ---------------------------------------------------------------------------------------------


def test_a_dated_change_is_a_whole_finding() -> None:
    assert rule_changes.findings(config(OLD, NEW), OCTOBER, [SHOP], None) == [
        {
            "billing_period": OCTOBER,
            "rule": "rule_changed_in_year",
            "severity": "warning",
            "provider": "aws",
            "source": None,
            "cluster_id": SHOP.cluster_id,
            "where": CHANGED[0],
            "expected": CHANGED[1],
            "actual": CHANGED[2],
            "difference": None,
            "hint": "leerlauf variance 2026-09 2026-10 shows both months under both rules",
        }
    ]


@pytest.mark.parametrize("of", ["2026-10", "2026-12"])
def test_it_is_told_until_the_fiscal_year_ends(of: str) -> None:
    assert told(config(OLD, NEW), of=of) == [CHANGED]


@pytest.mark.parametrize("of", ["2026-09", "2027-01"])
def test_before_and_in_another_year_it_is_not(of: str) -> None:
    assert told(config(OLD, NEW), of=of) == []


@pytest.mark.parametrize(("start", "expected"), [(10, 1), (11, 0), (1, 1)])
def test_the_year_is_the_fiscal_one(start: int, expected: int) -> None:
    read = config(OLD, NEW, report={"fiscal_year_start": start})
    assert len(told(read, of="2026-11")) == expected


def test_the_first_day_of_the_fiscal_year_is_no_change_inside_it() -> None:
    rules = [
        rule("old", "even", valid_to="2026-04-01"),
        rule("new", "none", valid_from="2026-04-01"),
    ]
    assert told(config(*rules, report={"fiscal_year_start": 4})) == []
    assert told(config(*rules, report={"fiscal_year_start": 3})) == [
        ("idle on shop, from 2026-04-01, rule old to new", "even, per cluster", NONE)
    ]


NONE = "none: the operator keeps it"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"method": "even"}, {"method": "none"}, ("even, per cluster", NONE)),
        (
            {"method": "proportional"},
            {"method": "proportional", "by": "total"},
            ("proportional by resource, per cluster", "proportional by total, per cluster"),
        ),
        (
            {"method": "even"},
            {"method": "even", "teams": ["a", "b"], "except": ["c"]},
            ("even, per cluster", "even, per cluster, a and b only, without c"),
        ),
        (
            {"method": "fixed", "shares": {"a": 60, "b": 40}},
            {"method": "fixed", "shares": {"a": 70, "b": 30}},
            ("fixed a 60 and b 40, per cluster", "fixed a 70 and b 30, per cluster"),
        ),
        (
            {"method": "metric", "metric_file": "m.csv", "metric": "egress"},
            {"method": "metric", "metric_file": "m.csv", "metric": "visits", "fallback": "even"},
            (
                "by metric egress (none where it is missing), per cluster",
                "by metric visits (even where it is missing), per cluster",
            ),
        ),
    ],
)
def test_all_that_a_rule_does_counts(old: Row, new: Row, expected: tuple[str, str]) -> None:
    read = config(rule("old", **old, valid_to=HALF), rule("new", **new, valid_from=HALF))
    assert [one[1:] for one in told(read)] == [expected]


def test_a_rule_that_only_begins_or_ends_is_a_change_from_or_to_none() -> None:
    assert told(config(rule("new", "even", valid_from=HALF))) == [
        (f"idle on shop, from {HALF}, rule default to new", NONE, "even, per cluster")
    ]


def test_a_new_name_and_a_new_place_change_nothing() -> None:
    renamed = NEW | {"scope": "node_pool"}
    assert told(config(OLD, renamed)) == []
    before = config(rule("x", "even", "shared"), rule("y", "none"))
    after = config(rule("z", "none"), rule("x", "even", "shared"))
    assert told(after, before=before) == []


def test_only_clusters_of_the_month_count() -> None:
    elsewhere = [one | {"cluster": ["data"]} for one in (OLD, NEW)]
    assert told(config(*elsewhere)) == []
    both = rule_changes.findings(config(OLD, NEW), OCTOBER, [DATA, SHOP], None)
    assert [(one["where"], one["provider"], one["cluster_id"]) for one in both] == [
        (f"idle and headroom on data and shop, from {HALF}, rule old to new", None, None)
    ]


def test_team_rules_count() -> None:
    teams: list[Row] = [
        {"team": "payments", "namespace": ["pay-*"], "valid_to": HALF},
        {"team": "money", "namespace": ["pay-*"], "valid_from": HALF},
        {"label": "team"},
    ]
    expected = (
        f"team rule on shop, from {HALF}",
        "team payments for namespace pay-*",
        "team money for namespace pay-*",
    )
    assert told(config(teams=teams)) == [expected]
    there = SHOP._replace(namespaces=frozenset({"pay-1"}))
    assert told(config(teams=teams), there) == [expected]
    assert told(config(teams=teams), SHOP._replace(namespaces=frozenset({"web"}))) == []


def test_a_team_rule_that_ends_has_no_heir() -> None:
    teams = [{"team": "payments", "namespace": ["pay-*"], "valid_to": HALF}]
    (found,) = told(config(teams=teams))
    assert found[1:] == ("team payments for namespace pay-*", "no rule")


# ---------------------------------------------------------------------------------------------
# By what the month before was run with
# ---------------------------------------------------------------------------------------------


def test_an_edited_rule_is_told_once_the_file_says_something_else() -> None:
    before, after = config(rule("idle", "even")), config(rule("idle", "none"))
    where = "idle on shop, edited since the run of 2026-09, rule idle"
    assert told(after, before=before) == [(where, "even, per cluster", NONE)]
    assert told(after, before=after) == []
    assert told(after, before=None) == []


def test_at_the_first_month_of_the_year_rules_may_change() -> None:
    before, after = config(rule("idle", "even")), config(rule("idle", "none"))
    assert told(after, of="2027-01", before=before) == []


def test_a_dated_change_on_the_first_day_is_told_once() -> None:
    rules = [rule("old", "even", valid_to="2026-10-01"), rule("new", "none")]
    told_once = [("idle on shop, from 2026-10-01, rule old to new", "even, per cluster", NONE)]
    assert told(config(*rules), before=config(rule("old", "even"))) == told_once
    assert told(config(*rules), before=config(*rules)) == told_once


def test_an_edit_beside_a_dated_change_is_told_apart() -> None:
    before = config(rule("old", "proportional"), rule("fees", "even", "cluster_fee"))
    after = config(rule("old", "even", valid_to="2026-10-01"), rule("new", "none"))
    assert [one[0] for one in told(after, before=before)] == [
        "idle on shop, from 2026-10-01, rule old to new",
        "idle on shop, edited since the run of 2026-09, rule old to new",
        "cluster fee on shop, edited since the run of 2026-09, rule fees to default",
    ]


def test_another_order_of_team_rules_is_told_where_it_matters() -> None:
    one, other = {"team": "a", "namespace": ["pay-*"]}, {"label": "owner"}
    last = {"team": "rest"}
    before, after = config(teams=[one, other, last]), config(teams=[other, one, last])
    (found,) = told(after, before=before)
    assert found[1:] == (
        "team a for namespace pay-* then whoever label owner names",
        "whoever label owner names then team a for namespace pay-*",
    )


# ---------------------------------------------------------------------------------------------
# At a run
# ---------------------------------------------------------------------------------------------


def test_a_run_tells_what_changed_since_the_newest_run_of_the_month_before(tmp_path: Path) -> None:
    read = load(tmp_path / "lake")
    only = tuple(source for source in read.sources if source.id == "aws-example")
    later = [one for one in read.allocation_rules if one.id != "idle-2026"]
    read = read.model_copy(update={"sources": only})
    publish(read.lake.path, SEPTEMBER, [pods("a", "1")], config(rule("first", "none")))
    publish(read.lake.path, SEPTEMBER, [pods("a", "1")], read)
    outcome = month.run(read.model_copy(update={"allocation_rules": tuple(later)}), OCTOBER)
    con = Lake(read.lake.path).connect(outcome.record)
    found = con.sql(
        'SELECT "where", expected, actual FROM findings WHERE rule = $rule ORDER BY ALL',
        params={"rule": rule_changes.RULE},
    ).fetchall()
    where = "idle and headroom on worked-example, edited since the run of 2026-09, rule idle-2026"
    assert (f"{where} to default", "proportional by resource, per cluster", NONE) in found


def test_the_clusters_of_a_month_have_the_namespaces_of_their_workload(tmp_path: Path) -> None:
    rows = [
        pods("a", "1"),
        pods("b", "1"),
        pods("kube-system", "1", row_kind="system_overhead", reason="system_namespace"),
        pods("a", "1", cluster_id="acme/x/data", cluster_name=None, provider="gcp"),
    ]
    record = publish(tmp_path, SEPTEMBER, rows, config())
    assert in_force.clusters_of(Lake(tmp_path).connect(record)) == [
        SHOP._replace(namespaces=frozenset({"a", "b"})),
        Cluster("gcp", "acme/x/data", None, frozenset({"a"})),
    ]


def test_a_month_before_that_nobody_can_read_is_not_compared(tmp_path: Path) -> None:
    record = publish(tmp_path, SEPTEMBER, [pods("a", "1")], config(rule("first", "none")))
    path = tmp_path / "runs" / f"{record.run}.json"
    path.write_text(path.read_text().replace('"locale"', '"of_another_version"'))
    con = Lake(tmp_path).connect(record)
    con.execute("CREATE TABLE findings_in AS FROM findings")
    rule_changes.add_findings(con, config(rule("first", "even")), OCTOBER, Lake(tmp_path))
    assert con.sql("SELECT count(*) FROM findings_in").fetchall() == [(0,)]
