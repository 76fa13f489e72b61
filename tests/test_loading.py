"""What the ledger reads beside the rows: the relations have the shapes that its tests assume."""

from datetime import date
from decimal import Decimal
from pathlib import Path

import duckdb

from pipelines import config, loading
from pipelines.metrics import METRIC_VALUES
from tests.ledger_cases import ledger

CONFIGURATION = """
[[source]]
id = "prod"
provider = "aws"
dataset = "cur2"
location = "exports"

[[operator]]
team = "platform"
cluster = ["shop-*", "lab"]

[[allocation_rule]]
id = "traffic"
kinds = "shared"
method = "metric"
metric_file = "egress.csv"

[[allocation_rule]]
id = "logs"
kinds = "shared"
method = "metric"
metric_file = "egress.csv"
fallback = "even"

[[allocation_rule]]
id = "fees"
kinds = ["cluster_fee"]
method = "fixed"
shares = { "data science" = 60, ads = 39.9, ops = "0.1" }
except = "ops"

[[allocation_rule]]
id = "idle"
kinds = ["idle", "headroom"]
method = "proportional"
scope = "node_pool"
by = "total"
cluster = "shop-*"
valid_from = 2026-01-01
valid_to = 2027-01-01
teams = ["ads", "web"]
"""
EGRESS = "date,cluster,team,metric,value\n2026-10-01,shop,ads,egress,2.5\n"


def loaded(folder: Path) -> duckdb.DuckDBPyConnection:
    """Return a connection with the rules of CONFIGURATION."""
    (folder / "leerlauf.toml").write_text(CONFIGURATION)
    (folder / "egress.csv").write_text(EGRESS)
    con = duckdb.connect()
    loading.load_rules(con, config.load(folder / "leerlauf.toml"))
    return con


def test_allocation_rules_stand_in_file_order_with_what_their_method_needs(tmp_path: Path) -> None:
    anywhere = ("cluster", "resource", ["*"], None, None, None)
    shares = [
        {"team": "data science", "share": Decimal(60)},
        {"team": "ads", "share": Decimal("39.9")},
        {"team": "ops", "share": Decimal("0.1")},
    ]
    assert loaded(tmp_path).sql("FROM allocation_rules ORDER BY position").fetchall() == [
        (0, "traffic", ["shared"], "metric", *anywhere, None, "none", None),
        (1, "logs", ["shared"], "metric", *anywhere, None, "even", None),
        (2, "fees", ["cluster_fee"], "fixed", *anywhere, ["ops"], None, shares),
        (
            *(3, "idle", ["idle", "headroom"], "proportional", "node_pool", "total", ["shop-*"]),
            *(date(2026, 1, 1), date(2027, 1, 1), ["ads", "web"], None, None, None),
        ),
    ]


def test_operators_and_metric_values_stand_by_rule(tmp_path: Path) -> None:
    con = loaded(tmp_path)
    assert con.sql("FROM operators").fetchall() == [(0, "platform", ["shop-*", "lab"])]
    values = con.sql("FROM metric_values ORDER BY position").fetchall()
    day = (date(2026, 10, 1), "shop", "ads", Decimal("2.5"))
    assert values == [(0, *day), (1, *day)]
    assert con.table("metric_values").columns == list(METRIC_VALUES)


def test_the_relations_are_those_that_tests_of_the_ledger_fill(tmp_path: Path) -> None:
    ours, theirs = loaded(tmp_path), ledger([])
    for table in ("allocation_rules", "operators", "metric_values"):
        shapes = [
            list(zip(con.table(table).columns, map(str, con.table(table).types), strict=True))
            for con in (ours, theirs)
        ]
        assert shapes[0] == shapes[1]
