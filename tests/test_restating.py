"""A month under another month's rules: the same ledger, the rows of the lake."""

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from pipelines import in_force, ledger, month, two_months, variance_figures
from pipelines.config import Config
from pipelines.lake import Lake
from pipelines.two_months import Variance
from pipelines.variance_figures import PER_UNIT, Line, Statement
from tests.ledger_cases import SHOP
from tests.test_month import load
from tests.two_months import (
    OCTOBER,
    SEPTEMBER,
    Row,
    config,
    correction,
    day,
    fee,
    idle,
    pods,
    publish,
    rule,
)

SHARED, EVEN = config(rule("shared", "proportional")), config(rule("even", "even"))
ROWS = [pods("a", "10"), pods("b", "30"), idle("40")]
LABEL = {"label": "acme.io/owner"}


def compared(path: Path, rows: Sequence[Row], older: Config, newer: Config) -> Variance:
    """Publish the same rows in both months, each under its own configuration."""
    publish(path, SEPTEMBER, rows, older)
    publish(path, OCTOBER, rows, newer)
    return two_months.compared(Lake(path), SEPTEMBER, OCTOBER)


def totals(found: Variance, cluster: str = SHOP) -> dict[tuple[str, str | None], tuple[str, str]]:
    """Return (month, team) -> the total by its own rules, and by the other month's."""
    return {
        (one.month, one.line.team): (f"{one.total:.2f}", f"{one.other:.2f}")
        for one in found.totals
        if one.line.place.cluster_id == cluster and one.other is not None
    }


def reasons(found: Variance) -> set[tuple[str, str, str | None]]:
    """Return month, cluster and reason of what cannot be known."""
    return {
        (one.month, one.line.place.cluster_id, one.reason)
        for one in found.totals
        if one.other is None
    }


def test_both_months_stand_under_both_rules(tmp_path: Path) -> None:
    assert totals(compared(tmp_path, ROWS, SHARED, EVEN)) == {
        (SEPTEMBER, "a"): ("20.00", "30.00"),
        (SEPTEMBER, "b"): ("60.00", "50.00"),
        (OCTOBER, "a"): ("30.00", "20.00"),
        (OCTOBER, "b"): ("50.00", "60.00"),
    }


def test_the_rules_are_those_of_the_other_months_last_day_on_every_day(tmp_path: Path) -> None:
    older = config(
        rule("early", "even", valid_to="2026-09-30"), rule("last", "proportional", by="total")
    )
    newer = config(rule("early", "none", valid_to="2026-10-31"), rule("last", "even"))
    rows = [row | {"charge_period_start": day(SEPTEMBER, 30)} for row in ROWS]
    publish(tmp_path, SEPTEMBER, rows, older)
    publish(tmp_path, OCTOBER, ROWS, newer)
    found = totals(two_months.compared(Lake(tmp_path), SEPTEMBER, OCTOBER))
    assert found[SEPTEMBER, "a"] == ("20.00", "30.00")
    assert found[OCTOBER, "a"] == ("10.00", "20.00")
    assert found[OCTOBER, "platform"] == ("40.00", "0.00")


def test_who_is_charged_is_restated_too(tmp_path: Path) -> None:
    later = config(rule("shared", "proportional"), teams=[{"team": "all"}])
    found = totals(compared(tmp_path, ROWS, SHARED, later))
    assert found == {
        (SEPTEMBER, "a"): ("20.00", "0.00"),
        (SEPTEMBER, "all"): ("0.00", "80.00"),
        (SEPTEMBER, "b"): ("60.00", "0.00"),
        (OCTOBER, "a"): ("0.00", "20.00"),
        (OCTOBER, "all"): ("80.00", "0.00"),
        (OCTOBER, "b"): ("0.00", "60.00"),
    }


def test_corrections_follow_the_rules_too(tmp_path: Path) -> None:
    rows = [*ROWS, correction(fee("6"))]
    found = totals(compared(tmp_path, rows, config(), config(rule("fee", "even", "cluster_fee"))))
    assert found[SEPTEMBER, "platform"] == ("46.00", "40.00")
    assert found[SEPTEMBER, "a"] == ("10.00", "13.00")


def test_what_closed_months_carried_into_one_is_in_it_by_any_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements = variance_figures.statements

    def carrying(con: duckdb.DuckDBPyConnection) -> dict[Line, Statement]:
        found = statements(con)
        if con.sql("SELECT max(billing_period) FROM settings").fetchall() == [(OCTOBER,)]:
            line = next(line for line in found if line.team == "a")
            before, five = found[line], 5 * PER_UNIT
            found[line] = before._replace(total=before.total + five, carried=five)
        return found

    monkeypatch.setattr(variance_figures, "statements", carrying)
    found = compared(tmp_path, ROWS, SHARED, EVEN)
    assert totals(found)[OCTOBER, "a"] == ("35.00", "25.00")
    a = next(move for line, move in found.moves.items() if line.team == "a")
    assert {part: whole // PER_UNIT for part, whole in a.parts.items() if whole} == {
        "rule_change": 10,
        "corrections": 5,
    }


def test_what_is_not_workload_has_no_team_by_any_rule(tmp_path: Path) -> None:
    system = pods("kube-system", "8", row_kind="system_overhead", reason="system_namespace")
    later = config(teams=[{"team": "all"}])
    found = totals(compared(tmp_path, [*ROWS, system], config(), later))
    assert found[OCTOBER, "platform"] == ("48.00", "48.00")


# ---------------------------------------------------------------------------------------------
# The month itself serves
# ---------------------------------------------------------------------------------------------


@pytest.fixture
def distributed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many clusters each restated month had."""
    counts: list[int] = []
    distribute = ledger.distribute

    def counting(con: object) -> None:
        distribute(con)  # type: ignore[arg-type]
        clusters = con.sql("SELECT count(DISTINCT cluster_id) FROM postings")  # type: ignore[attr-defined]
        counts.append(clusters.fetchall()[0][0])

    monkeypatch.setattr("pipelines.restating.ledger.distribute", counting)
    return counts


def test_where_the_rules_do_the_same_nothing_is_made_again(
    tmp_path: Path, distributed: list[int]
) -> None:
    publish(tmp_path, SEPTEMBER, ROWS, SHARED)
    publish(tmp_path, OCTOBER, ROWS, config(rule("renamed", "proportional")))
    distributed.clear()
    found = two_months.compared(Lake(tmp_path), SEPTEMBER, OCTOBER)
    assert distributed == []
    assert totals(found)[SEPTEMBER, "a"] == ("20.00", "20.00")


def test_only_clusters_on_which_the_rules_differ_are_made_again(
    tmp_path: Path, distributed: list[int]
) -> None:
    data = {"cluster_id": "data", "cluster_name": "data"}
    rows = [*ROWS, *(row | data for row in ROWS)]
    later = config(rule("data", "even", cluster=["data"]), rule("shared", "proportional"))
    publish(tmp_path, SEPTEMBER, rows, SHARED)
    publish(tmp_path, OCTOBER, rows, later)
    distributed.clear()
    found = two_months.compared(Lake(tmp_path), SEPTEMBER, OCTOBER)
    assert distributed == [1, 1]
    assert totals(found)[SEPTEMBER, "a"] == ("20.00", "20.00")
    assert totals(found, "data")[SEPTEMBER, "a"] == ("20.00", "30.00")


# ---------------------------------------------------------------------------------------------
# What cannot be known
# ---------------------------------------------------------------------------------------------


def labelled(namespace: str, cost: str, owner: str, key: str = "acme.io/owner") -> Row:
    """Return pods with a label."""
    return pods(namespace, cost, labels={key: owner})


def test_a_label_that_was_kept_is_found_in_any_spelling(tmp_path: Path) -> None:
    rows = [labelled("a", "10", "x", "acme_io_owner"), labelled("b", "30", "y", "acme_io_owner")]
    older = config(teams=[LABEL])
    newer = config(labels=["acme_io_owner"])
    publish(tmp_path, SEPTEMBER, [labelled("a", "10", "x"), labelled("b", "30", "y")], older)
    publish(tmp_path, OCTOBER, rows, newer)
    found = totals(two_months.compared(Lake(tmp_path), SEPTEMBER, OCTOBER))
    assert found[OCTOBER, "x"] == ("0.00", "10.00")
    assert found[OCTOBER, "b"] == ("30.00", "0.00")


def test_a_label_that_was_not_kept_makes_the_teams_unknown(tmp_path: Path) -> None:
    older = config(rule("shared", "proportional"), teams=[LABEL])
    publish(tmp_path, SEPTEMBER, [labelled("a", "10", "x"), idle("40")], older)
    publish(tmp_path, OCTOBER, ROWS, EVEN)
    found = two_months.compared(Lake(tmp_path), SEPTEMBER, OCTOBER)
    why = "label acme.io/owner was not kept in 2026-10"
    assert reasons(found) == {(OCTOBER, SHOP, why)}
    assert set(found.unknown.values()) == {why}
    # what is known of the change: a has 10 of 40 even, 20 in proportion
    a = next(move for line, move in found.moves.items() if line.team == "a")
    assert a.parts["rule_change"] == 10 * 10**12
    assert totals(found)[SEPTEMBER, "x"] == ("50.00", "0.00")


def test_a_label_rule_elsewhere_makes_nothing_unknown(tmp_path: Path) -> None:
    teams: list[Row] = [LABEL | {"cluster": ["data"]}, {"team": "a", "namespace": ["a", "b"]}]
    found = compared(tmp_path, ROWS, config(teams=teams), config())
    assert reasons(found) == set()
    assert totals(found)[OCTOBER, "b"] == ("30.00", "0.00")


def test_a_metric_is_read_for_the_other_month(tmp_path: Path) -> None:
    file = tmp_path / "egress.csv"
    file.write_text(
        "date,cluster,team,metric,value\n2026-09-01,shop,a,egress,1\n2026-10-01,shop,b,egress,1\n"
    )
    older = config(rule("egress", "metric", metric_file=str(file)))
    found = totals(compared(tmp_path / "lake", ROWS, older, SHARED))
    assert found[SEPTEMBER, "a"] == ("50.00", "20.00")
    assert found[OCTOBER, "b"] == ("60.00", "70.00")


def test_a_metric_that_cannot_be_read_makes_its_clusters_unknown(tmp_path: Path) -> None:
    file = tmp_path / "egress.csv"
    file.write_text("date,cluster,team,metric,value\n2026-09-01,shop,a,egress,1\n")
    data = {"cluster_id": "data", "cluster_name": "data"}
    rows = [*ROWS, *(row | data for row in ROWS)]
    older = config(
        rule("egress", "metric", metric_file=str(file), cluster=["shop"]), rule("rest", "even")
    )
    publish(tmp_path / "lake", SEPTEMBER, rows, older)
    publish(tmp_path / "lake", OCTOBER, rows, SHARED)
    file.unlink()
    found = two_months.compared(Lake(tmp_path / "lake"), SEPTEMBER, OCTOBER)
    ((of_month, cluster, why),) = reasons(found)
    assert (of_month, cluster) == (OCTOBER, SHOP)
    assert why is not None
    assert why.startswith("the metric cannot be read: [[allocation_rule]] egress: metric_file")
    assert totals(found, "data")[OCTOBER, "a"] == ("20.00", "30.00")
    assert totals(found)[SEPTEMBER, "a"] == ("50.00", "20.00")
    changes = {
        (line.place.cluster_id, line.team): move.parts["rule_change"]
        for line, move in found.moves.items()
    }
    assert changes[SHOP, "a"] == 0
    assert changes["data", "a"] == -10 * 10**12


# ---------------------------------------------------------------------------------------------
# Against a whole run
# ---------------------------------------------------------------------------------------------


def test_a_restated_month_is_what_a_run_by_those_rules_says(tmp_path: Path) -> None:
    """The demo of October under September's rules, and run under them as if they held."""
    read = load(tmp_path / "lake")
    names = ("aws-prod", "gcp-shop")
    read = read.model_copy(
        update={"sources": tuple(one for one in read.sources if one.id in names)}
    )
    for period in (SEPTEMBER, OCTOBER):
        assert month.run(read, period).record.published
    found = two_months.compared(Lake(read.lake.path), SEPTEMBER, OCTOBER)
    rules = in_force.as_of(read, day(SEPTEMBER, 30))
    elsewhere = rules.lake.model_copy(update={"path": tmp_path / "other"})
    record = month.run(rules.model_copy(update={"lake": elsewhere}), OCTOBER).record
    rows = (
        Lake(tmp_path / "other")
        .connect(record)
        .sql("SELECT cluster_id, team, billing_currency, total FROM statements")
    )
    expected = {row[:3]: row[3] for row in rows.fetchall()}
    restated = {
        (one.line.place.cluster_id, one.line.team, one.line.place.billing_currency): one.other
        for one in found.totals
        if one.month == OCTOBER
    }
    assert len(expected) > 20
    assert {key: total for key, total in restated.items() if total} == {
        key: total for key, total in expected.items() if total
    }
    assert any(one.other != one.total for one in found.totals)
    assert sum(one.total for one in found.totals) == sum(
        (one.other or Decimal(0) for one in found.totals), Decimal(0)
    )
