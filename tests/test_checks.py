"""Checks and findings: each fires where it must, stays silent where it must, never on nothing."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import duckdb
import pytest

from pipelines import ledger, queries
from tests.ledger_cases import DAY, SHOP, Row, book, charge, idle, outside, rule, workload
from tests.ledger_cases import ledger as prepared
from transforms.schema import CAUSES

CHECKS = queries.names("checks")
PUBLISHING = [name for name in CHECKS if name.startswith(tuple(f"promise_{n}_" for n in "1234"))]

GOOD = [
    workload("ads", "3", provider_idle_cost=Decimal(6), workload_idle=Decimal(1)),
    workload("web", "1", provider_idle_cost=Decimal(2)),
    workload(None, "1"),
    idle("8", allocatable_quantity=Decimal(4), capacity_quantity=Decimal(4)),
    charge("0.5", row_kind="system_overhead", reason="system_namespace"),
    charge("2", row_kind="headroom", reason="placeholder_pods"),
    charge("3", row_kind="cluster_fee", reason="control_plane", resource_kind="other"),
    charge("4", row_kind="shared", reason="network", resource_kind="network"),
    outside("5", "tax"),
]
"""A month without a single finding."""

RULES = (rule("idle", "proportional"), rule("network", "even", "shared"))

IN_SHOP = f"2026-10-01/aws/{SHOP}/USD/-"
IN_CLUSTER = f"cpu/cluster/{SHOP}"

Findings = list[tuple[Any, ...]]


def asked_again(con: duckdb.DuckDBPyConnection, name: str) -> Findings:
    """Ask one check, and return severity, where, expected, actual, difference."""
    con.execute("CREATE OR REPLACE TABLE findings AS FROM findings LIMIT 0")
    con.execute(f"INSERT INTO findings BY NAME {queries.read(f'checks/{name}')}")
    return found(con, name)


def found(con: duckdb.DuckDBPyConnection, name: str) -> Findings:
    """Return severity, where, expected, actual, difference of the findings of one rule."""
    return con.execute(
        'SELECT severity, "where", expected, actual, difference FROM findings '
        "WHERE rule = $name ORDER BY ALL",
        {"name": name},
    ).fetchall()


def test_a_good_month_has_no_finding() -> None:
    con = book(GOOD, *RULES)
    assert con.table("findings").fetchall() == []
    assert ledger.broken_promises(con) == []


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_is_named_after_its_file_and_speaks_of_this_month(name: str) -> None:
    assert f"'{name}' AS rule" in queries.read(f"checks/{name}")


# ----------------------------------------------------- each check, broken on purpose


BREAKS: dict[str, Sequence[tuple[str, Findings]]] = {
    "promise_1_slices": [
        (
            "DELETE FROM both_views WHERE is_outside AND cost_view = 'billed'",
            [
                (
                    "error",
                    "aws-test, USD, billed",
                    "27.500000000000",
                    "22.500000000000",
                    "-5.000000000000",
                )
            ],
        ),
        (
            (
                "UPDATE both_views SET amount = amount + 0.000000000001 "
                "WHERE is_outside AND cost_view = 'effective'"
            ),
            [
                (
                    "error",
                    "aws-test, USD, effective",
                    "27.500000000000",
                    "27.500000000001",
                    "0.000000000001",
                )
            ],
        ),
        (
            "DELETE FROM totals WHERE cost_view = 'billed'",
            [("error", "aws-test, USD, billed", "a sliced amount", "27.500000000000", None)],
        ),
        (
            "DELETE FROM both_views WHERE cost_view = 'billed'",
            [("error", "aws-test, USD, billed", "27.500000000000", "no row", None)],
        ),
    ],
    "promise_1_bill": [
        (
            "UPDATE bill SET rows = rows + 1 WHERE cost_view = 'billed'",
            [
                (
                    "error",
                    "aws-test, USD, billed",
                    "10 rows, 27.500000000000",
                    "9 rows, 27.500000000000",
                    "0.000000000000",
                )
            ],
        ),
        (
            "UPDATE bill SET amount = amount + 0.00000000001 WHERE cost_view = 'billed'",
            [
                (
                    "error",
                    "aws-test, USD, billed",
                    "9 rows, 27.500000000010",
                    "9 rows, 27.500000000000",
                    "-0.000000000010",
                )
            ],
        ),
        (
            "DELETE FROM bill WHERE cost_view = 'billed'",
            [
                (
                    "error",
                    "aws-test, USD, billed",
                    "rows of the bill",
                    "9 rows, 27.500000000000",
                    None,
                )
            ],
        ),
        (
            "DELETE FROM totals WHERE cost_view = 'billed'",
            [("error", "aws-test, USD, billed", "9 rows, 27.500000000000", "no row", None)],
        ),
    ],
    "promise_2_cluster": [
        (
            "UPDATE cluster_bills SET amount = amount - 0.000000000001 WHERE cost_view = 'billed'",
            [
                (
                    "error",
                    "aws-test, USD, billed",
                    "22.499999999999",
                    "22.500000000000",
                    "0.000000000001",
                )
            ],
        ),
        (
            "DELETE FROM both_views WHERE NOT is_outside AND cost_view = 'billed'",
            [("error", "aws-test, USD, billed", "22.500000000000", "no row", None)],
        ),
        (
            "DELETE FROM cluster_bills WHERE cost_view = 'billed'",
            [
                (
                    "error",
                    "aws-test, USD, billed",
                    "a bill of this cluster",
                    "22.500000000000",
                    None,
                )
            ],
        ),
        (
            "DELETE FROM both_views WHERE NOT is_outside; DELETE FROM cluster_bills",
            [("warning", "no bill knows a cluster", "a bill of this cluster", "no row", None)],
        ),
    ],
    "promise_3_distribution": [
        (
            "UPDATE shares SET amount = amount + 0.000000000001 WHERE amount = 2",
            [
                (
                    "error",
                    f"none: {IN_SHOP}/headroom/placeholder_pods/{IN_CLUSTER}",
                    "2.000000000000",
                    "2.000000000001",
                    "0.000000000001",
                )
            ],
        ),
        (
            "DELETE FROM shares WHERE claimant = 'ads' AND amount = 4.8",
            [
                (
                    "error",
                    f"proportional {by}: {IN_SHOP}/idle/unrequested/{IN_CLUSTER}",
                    "8.000000000000",
                    "3.200000000000",
                    "-4.800000000000",
                )
                for by in ("resource", "total")
            ],
        ),
        (
            "DELETE FROM shares WHERE amount = 0.5",
            [
                (
                    "error",
                    f"none: {IN_SHOP}/system_overhead/system_namespace/{IN_CLUSTER}",
                    "0.500000000000",
                    "no posting",
                    None,
                )
            ],
        ),
    ],
    "promise_3_postings": [
        (
            "DELETE FROM postings WHERE row_kind = 'shared' AND team = 'ads'",
            [
                (
                    "error",
                    "2026-10-01, shared, USD",
                    "4.000000000000",
                    "2.666666666666",
                    "-1.333333333334",
                )
            ],
        ),
        (
            "DELETE FROM postings WHERE row_kind = 'cluster_fee'",
            [("error", "2026-10-01, cluster_fee, USD", "3.000000000000", "no posting", None)],
        ),
        (
            "UPDATE postings SET row_kind = 'workload' WHERE row_kind = 'cluster_fee'",
            [
                ("error", "2026-10-01, cluster_fee, USD", "3.000000000000", "no posting", None),
                (
                    "error",
                    "2026-10-01, workload, USD",
                    "5.000000000000",
                    "8.000000000000",
                    "3.000000000000",
                ),
            ],
        ),
    ],
    "promise_4_lines": [
        (
            "DELETE FROM statement_lines WHERE team IS NULL AND variant = 'even'",
            [
                (
                    "error",
                    "variant even, USD",
                    "22.500000000000",
                    "21.500000000000",
                    "-1.000000000000",
                )
            ],
        ),
        (
            "DELETE FROM statement_lines WHERE variant = 'rules'",
            [("error", "variant rules, USD", "22.500000000000", "no line", None)],
        ),
        (
            "UPDATE statement_lines SET corrections = 1 WHERE team = 'ads' AND variant = 'none'",
            [
                (
                    "error",
                    "variant none, USD",
                    "22.500000000000",
                    "21.500000000000",
                    "-1.000000000000",
                )
            ],
        ),
    ],
    "promise_4_rounding": [
        (
            (
                "UPDATE statement_lines SET idle = idle + 0.000000000001 "
                "WHERE team = 'web' AND variant = 'even'"
            ),
            [
                (
                    "error",
                    "variant even, web, USD",
                    "5.666666666667, rounded 5.670000000000",
                    "5.666666666668, rounded 5.670000000000",
                    None,
                )
            ],
        ),
        (
            (
                "UPDATE statement_lines SET shared_rounded = shared_rounded + 0.01, "
                "total_rounded = total_rounded + 0.01 WHERE team = 'web' AND variant = 'even'"
            ),
            [("error", "variant even, USD", "22.500000000000", "22.510000000000", None)],
        ),
    ],
    "promise_5_visible": [
        (
            (
                "UPDATE statement_lines SET workload = workload + idle, idle = 0 "
                "WHERE variant = 'rules'"
            ),
            [
                (
                    "error",
                    "variant rules, idle, USD",
                    "8.000000000000",
                    "0.000000000000",
                    "-8.000000000000",
                )
            ],
        ),
        (
            "UPDATE statement_lines SET headroom = NULL WHERE variant = 'even'",
            [("error", "variant even, headroom, USD", "2.000000000000", "not shown", None)],
        ),
        (
            "DELETE FROM statement_lines WHERE variant = 'none'",
            [
                ("error", "variant none, headroom, USD", "2.000000000000", "not shown", None),
                ("error", "variant none, idle, USD", "8.000000000000", "not shown", None),
                (
                    "error",
                    "variant none, system_overhead, USD",
                    "0.500000000000",
                    "not shown",
                    None,
                ),
            ],
        ),
    ],
    "promise_6_idle": [
        (
            "UPDATE normalised SET row_kind = 'idle' WHERE resource_kind = 'network'",
            [
                (
                    "error",
                    "network",
                    "no idle of this resource kind: it is billed by use",
                    "1 idle rows",
                    None,
                )
            ],
        ),
        (
            "UPDATE normalised SET allocatable_quantity = 3 WHERE row_kind = 'idle'",
            [
                (
                    "error",
                    "node-1, 2026-10-01, cpu",
                    "node reserve apart from idle: 1.000000000000 of 4.000000000000",
                    "0.000000000000 apart, 8.000000000000 stood idle",
                    None,
                )
            ],
        ),
    ],
    "idle_has_cause": [
        (
            "UPDATE normalised SET cause = NULL WHERE row_kind = 'idle'",
            [("error", "idle", "one of the six causes", "1 rows with no cause", None)],
        ),
        (
            "UPDATE normalised SET cause = 'lazy' WHERE row_kind = 'idle'",
            [("error", "idle", "one of the six causes", "1 rows with lazy", None)],
        ),
        (
            "UPDATE normalised SET cause = 'rest' WHERE row_kind IN ('headroom', 'workload')",
            [
                ("error", "headroom", "no cause: it is not idle", "1 rows with rest", None),
                ("error", "workload", "no cause: it is not idle", "3 rows with rest", None),
            ],
        ),
        (
            "UPDATE normalised SET cause = 'lazy' WHERE row_kind = 'outside'",
            [("error", "outside", "no cause: it is not idle", "1 rows with lazy", None)],
        ),
    ],
    "promise_7_one_rule": [
        (
            "UPDATE postings SET allocation_rule = 'network' WHERE row_kind = 'idle'",
            [("error", "idle, 2026-10-01", "idle", "network", None)],
        ),
        (
            (
                "UPDATE postings SET allocation_rule = 'other' "
                "WHERE row_kind = 'idle' AND team = 'ads'"
            ),
            [("error", "idle, 2026-10-01", "idle", "idle, other", None)],
        ),
        (
            "UPDATE allocation_rules SET valid_to = DATE '2026-10-01' WHERE id = 'network'",
            [("error", "shared, 2026-10-01", "default", "network", None)],
        ),
        (
            "UPDATE allocation_rules SET position = -1, kinds = ['idle'] WHERE id = 'network'",
            [
                ("error", "idle, 2026-10-01", "network", "idle", None),
                ("error", "shared, 2026-10-01", "default", "network", None),
            ],
        ),
    ],
    "promise_9_no_mixing": [
        (
            "UPDATE normalised SET effective_cost = NULL WHERE reason = 'tax'",
            [
                (
                    "error",
                    "aws-test",
                    "the month's cost view on every row",
                    "1 of 9 rows lack it",
                    None,
                )
            ],
        ),
        (
            "UPDATE normalised SET billing_currency = NULL WHERE reason = 'tax'",
            [("error", "aws-test", "a currency on every row", "1 rows without one", None)],
        ),
        (
            (
                "UPDATE statement_lines SET billing_currency = 'EUR' "
                "WHERE team = 'web' AND variant = 'rules'"
            ),
            [
                ("error", "all charges in EUR", "0.000000000000", "3.933333333333", None),
                ("error", "all charges in USD", "22.500000000000", "18.566666666667", None),
            ],
        ),
    ],
    "promise_11_missing": [
        (
            "UPDATE statement_lines SET idle = NULL WHERE team = 'ads' AND variant = 'rules'",
            [("error", "variant rules, idle", "a figure", "3 of 4 lines have a figure", None)],
        ),
        (
            "UPDATE normalised SET team = '' WHERE team = 'ads'",
            [("error", "team", "NULL where a value is missing", "1 rows with empty text", None)],
        ),
    ],
    "bridge_closes": [
        (
            "DELETE FROM reconciliation",
            [("error", "node-1, cpu, USD", "8.000000000000", "no bridge", None)],
        ),
        (
            "UPDATE reconciliation SET amount = amount + 1 WHERE name = 'node_reserve'",
            [
                (
                    "error",
                    "node-1, cpu, USD",
                    "8.000000000000",
                    "9.000000000000, of which rebased 0.000000000000",
                    "0.000000000000",
                )
            ],
        ),
        (
            (
                "UPDATE reconciliation SET amount = 0.000001 WHERE name = 'rebased'; "
                "UPDATE reconciliation SET amount = 7.999999 WHERE name = 'provider_idle'"
            ),
            [
                (
                    "error",
                    "node-1, cpu, USD",
                    "8.000000000000",
                    "8.000000000000, of which rebased 0.000001000000",
                    "0.000001000000",
                )
            ],
        ),
    ],
}


def test_every_check_is_broken_here() -> None:
    assert sorted(BREAKS) == CHECKS


CASES = [
    pytest.param(name, statement, expected, id=f"{name}-{number}")
    for name, breaks in BREAKS.items()
    for number, (statement, expected) in enumerate(breaks, start=1)
]


@pytest.fixture(scope="module")
def good() -> duckdb.DuckDBPyConnection:
    """The good month, built once; what breaks it is rolled back."""
    return book(GOOD, *RULES)


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_stays_silent_on_a_good_month(good: duckdb.DuckDBPyConnection, name: str) -> None:
    good.begin()
    assert asked_again(good, name) == []
    good.rollback()


@pytest.mark.parametrize(("name", "statement", "expected"), CASES)
def test_a_check_fires(
    good: duckdb.DuckDBPyConnection, name: str, statement: str, expected: Findings
) -> None:
    good.begin()
    good.execute(statement)
    fired = asked_again(good, name)
    good.rollback()
    assert fired == expected


# ----------------------------------------------------------------------- not on nothing


@pytest.mark.parametrize("cause", CAUSES)
def test_every_cause_of_idle_is_known_to_its_check(cause: str) -> None:
    assert found(book([idle("8", cause=cause), workload("a", "1")]), "idle_has_cause") == []


def test_an_empty_month_breaks_every_promise_that_needs_rows() -> None:
    con = book([])
    nothing = con.sql('SELECT rule, severity, "where" FROM findings ORDER BY rule').fetchall()
    assert nothing == [
        ("promise_1_bill", "error", "effective view: nothing to compare"),
        ("promise_1_slices", "error", "effective view: nothing to compare"),
        ("promise_2_cluster", "error", "no bill knows a cluster"),
        ("promise_3_postings", "error", "normalised has no row"),
        ("promise_4_lines", "error", "normalised has no row"),
    ]
    assert [broken["rule"] for broken in ledger.broken_promises(con)] == [
        rule for rule, _, _ in nothing
    ]


def test_a_view_that_no_source_has_is_nothing_to_compare() -> None:
    """Amounts of the other view must not stand in for it."""
    rows = [row | {"billed_cost": None} for row in GOOD]
    con = book(rows, *RULES, cost_view="billed")
    assert found(con, "promise_1_slices") == [
        ("error", "billed view: nothing to compare", "a sliced amount", "no row", None)
    ]
    assert found(con, "promise_9_no_mixing")[0][3] == "9 of 9 rows lack it"


def test_a_bill_without_any_cluster_is_published_with_a_warning() -> None:
    con = book([outside("5", "tax")])
    assert con.sql('SELECT rule, severity, "where" FROM findings').fetchall() == [
        ("promise_2_cluster", "warning", "no bill knows a cluster")
    ]
    assert ledger.broken_promises(con) == []


def test_cost_of_a_cluster_that_has_no_name_is_not_lost_in_silence() -> None:
    con = book([workload("ads", "1"), workload("web", "2", cluster_id=None)])
    rules = {broken["rule"] for broken in ledger.broken_promises(con)}
    assert rules == {"promise_2_cluster", "promise_3_postings", "promise_4_lines"}


# -------------------------------------------------------------------------- tolerance


@pytest.mark.parametrize(
    ("difference", "fires"),
    [
        ("0", False),
        ("0.000000000002", False),
        ("-0.000000000002", False),
        ("0.000000000003", True),
        ("-0.000000000003", True),
    ],
)
def test_two_engines_may_differ_by_a_quantum_per_row(difference: str, fires: bool) -> None:
    con = prepared([workload("ads", "1"), workload("web", "1")])
    con.execute("UPDATE bill SET amount = amount + $d", {"d": Decimal(difference)})
    ledger.build(con)
    assert bool(found(con, "promise_1_bill")) == fires


@pytest.mark.parametrize(
    ("difference", "fires"), [("0.000000002002", False), ("0.000000002003", True)]
)
def test_and_by_a_small_part_of_the_absolute_amounts(difference: str, fires: bool) -> None:
    """Two rows of a million: 2 quanta of 1e-12 for two rows, and 2 * 1e6 * 1e-15 = 2e-9."""
    con = prepared([workload("ads", "1000000"), workload("web", "-1000000")])
    con.execute("UPDATE bill SET amount = amount + $d", {"d": Decimal(difference)})
    ledger.build(con)
    assert bool(found(con, "promise_1_bill")) == fires


@pytest.mark.parametrize(("dust", "fires"), [("0.000000048", False), ("0.000000048001", True)])
def test_a_bridge_may_leave_dust(dust: str, fires: bool) -> None:
    """Two rows of a day: 48 raw rows at most, 1e-9 each."""
    rows = [workload("ads", "1", provider_idle_cost=Decimal(1)), idle(1 + Decimal(dust))]
    assert bool(found(book(rows), "bridge_closes")) == fires


# ------------------------------------------------------------------- broken promises


def test_broken_promises_are_the_errors_of_the_first_four_alone() -> None:
    con = book([])
    con.execute("DELETE FROM findings")
    for name, severity in [
        ("promise_1_x", "error"),
        ("promise_4_x", "error"),
        ("promise_2_x", "warning"),
        ("promise_5_x", "error"),
        ("promise_11_x", "error"),
        ("unknown_line_item_type", "error"),
    ]:
        values = {"name": name, "severity": severity}
        con.execute("INSERT INTO findings (rule, severity) VALUES ($name, $severity)", values)
    broken = ledger.broken_promises(con)
    assert [finding["rule"] for finding in broken] == ["promise_1_x", "promise_4_x"]
    assert set(broken[0]) == set(con.table("findings").columns)


def test_the_promises_that_forbid_publishing_have_checks() -> None:
    assert {name.split("_")[1] for name in PUBLISHING} == {"1", "2", "3", "4"}


# ----------------------------------------------------------------------- other findings


def test_findings_of_the_transforms_are_kept() -> None:
    handed_on = {"billing_period": "2026-10", "rule": "orphan_split", "severity": "error"}
    con = book(GOOD, *RULES, findings=[handed_on])
    assert con.sql("SELECT rule, severity FROM findings").fetchall() == [("orphan_split", "error")]


GAP = {"row_kind": "unattributed", "reason": "split_gap", "resource_kind": "compute"}


@pytest.mark.parametrize(
    ("gaps", "warnings"),
    [
        ([], []),
        (["0"], []),
        (
            ["0.000000000001"],
            [("warning", "resources: 1 days: 1", "0", "0.000000000001", "0.000000000001")],
        ),
        (
            ["2", "-2"],
            [("warning", "resources: 1 days: 1", "0", "0.000000000000", "0.000000000000")],
        ),
    ],
    ids=["none", "zero", "a quantum", "two that cancel"],
)
def test_a_gap_between_bill_and_split_is_a_warning(gaps: list[str], warnings: Findings) -> None:
    con = book([workload("ads", "1"), *(charge(gap, **GAP) for gap in gaps)])
    assert found(con, "split_gap") == warnings


@pytest.mark.parametrize(
    ("more", "actual"),
    [
        (
            [],
            (
                "none on these days, so their cost is unattributed; "
                "not known: headroom, idle, workload"
            ),
        ),
        (
            [
                workload("ads", "1", provider_idle_cost=Decimal(1)),
                idle("1"),
                charge("1", row_kind="headroom", reason="placeholder_pods"),
            ],
            "none on these days, so their cost is unattributed",
        ),
    ],
    ids=["never split", "split for a part"],
)
def test_a_cluster_without_a_split_is_a_warning(more: list[Row], actual: str) -> None:
    unsplit = charge(
        "7",
        row_kind="unattributed",
        reason="no_split_source",
        resource_kind="compute",
        split_source=None,
    )
    con = book([unsplit, *more])
    assert found(con, "no_split_source") == [
        (
            "warning",
            f"{DAY} to {DAY}",
            "node cost split by workload",
            actual,
            "7.000000000000",
        )
    ]


def test_a_bridge_from_a_split_with_money_of_its_own_may_leave_more() -> None:
    rows = [idle("9", split_source=name, provider_idle_cost=Decimal(8)) for name in ("asked", "x")]
    bridged = {"splits_apart": ["asked"]}
    assert found(book(rows[:1], **bridged), "bridge_closes") == []
    assert len(found(book(rows[1:], **bridged), "bridge_closes")) == 1


def test_a_reserve_that_the_provider_sets_apart_is_known() -> None:
    ours = charge("1", row_kind="system_overhead", reason="node_reserve")
    rows = [idle("1", resource_id="i-1", allocatable_quantity=None), ours]
    assert len(found(book(rows), "reserve_unknown")) == 1
    assert found(book([*rows, ours | {"provider_class": "reserved"}]), "reserve_unknown") == []


def test_an_unknown_node_reserve_is_said_once_per_cluster() -> None:
    unknown: Row = {"allocatable_quantity": None}
    rows = [
        idle("1", resource_id="i-1", **unknown),
        idle("1", resource_id="i-2", **unknown),
        idle("1", resource_id="i-2", resource_kind="memory", **unknown),
        idle("1", resource_id="i-3"),
        idle("1", resource_id="i-3", reason="empty_node", **unknown),
        idle("1", resource_id="disk", resource_kind="storage", **unknown),
        idle("1", cluster_id="b"),
    ]
    actual = "unknown: 3.000000000000 USD of idle includes what kubelet and system reserve"
    assert found(book(rows), "reserve_unknown") == [
        ("info", "2 nodes", "allocatable capacity of every node", actual, None)
    ]


def test_a_posting_of_idle_says_that_it_includes_an_unknown_reserve() -> None:
    unknown: Row = {"allocatable_quantity": None}
    rows = [
        workload("A", "1"),
        idle("1", resource_id="i-1", **unknown),
        idle("2", resource_id="i-2"),
        idle("1", resource_id="i-2", reason="empty_node", **unknown),
        idle("1", resource_id="i-1", resource_kind="memory", charge_period_start=DAY),
        idle("1", resource_id="i-1", node_name=None, resource_kind="gpu", **unknown),
        idle("1", resource_id="disk", resource_kind="storage", **unknown),
    ]
    note = "includes what the nodes reserve for themselves, which is unknown"
    told = book(rows).execute(
        "SELECT resource_kind, reason FROM postings WHERE contains(note, $1) ORDER BY ALL", [note]
    )
    assert told.fetchall() == [("cpu", "unrequested"), ("gpu", "unrequested")]


def test_a_reserve_that_nobody_knows_is_not_missed() -> None:
    rows = [
        workload("A", "6"),
        idle("4", capacity_quantity=Decimal(96), allocatable_quantity=None),
    ]
    assert found(book(rows), "promise_6_idle") == []


@pytest.mark.parametrize(
    ("left", "apart", "kept_free", "fires"),
    [
        ("1.5", "2.5", "0", False),
        ("0.5", "2.5", "1", False),
        ("1.500000002", "2.499999998", "0", True),
        ("0", "1", "0", False),
        ("0.2", "0.8", "0", True),
        ("-1", "0", "0", False),
    ],
)
def test_as_much_of_a_reserve_is_apart_as_stood_idle(
    left: str, apart: str, kept_free: str, fires: bool
) -> None:
    """A node of 10 USD, a quarter of which cannot be allocated."""
    used = str(10 - Decimal(left) - Decimal(apart) - Decimal(kept_free))
    rows = [
        workload("A", used),
        idle(left, capacity_quantity=Decimal(96), allocatable_quantity=Decimal(72)),
        charge(apart, row_kind="system_overhead", reason="node_reserve"),
        charge(kept_free, row_kind="headroom", reason="policy"),
    ]
    assert bool(found(book(rows), "promise_6_idle")) == fires
