"""leerlauf.toml: what is read, what is refused and in which words."""

import json
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from connectors.base import ExportSource
from pipelines import config, fetching, inventory, periods
from pipelines.decisions import (
    AllocationRule,
    Headroom,
    KeepFree,
    NodePool,
    Nodes,
    Operator,
    PlaceholderPods,
    System,
    TeamRule,
)
from pipelines.errors import ConfigurationError, SeveralError
from pipelines.rules import unused_rules
from pipelines.sources import ClusterPlace, Source

SOURCE = """
[[source]]
id = "prod"
provider = "aws"
dataset = "cur2"
location = "exports"
"""
RULE = """
[[allocation_rule]]
id = "idle-2026"
kinds = ["idle"]
method = "even"
"""

Message = tuple[str, str, str, str, str]


def read(folder: Path, text: str) -> config.Config:
    path = folder / "leerlauf.toml"
    path.write_text(text, encoding="utf-8")
    return config.load(path)


def mistakes(folder: Path, text: str) -> list[Message]:
    """Return what, where (without the folder), expected, got and hint of each mistake."""
    with pytest.raises((ConfigurationError, SeveralError)) as raised:
        read(folder, text)
    assert raised.value.exit_code == 2
    problems = getattr(raised.value, "problems", (raised.value,))
    return [
        (p.what, p.where.replace(f"{folder}/", ""), p.expected, p.got, p.hint) for p in problems
    ]


# ---------------------------------------------------------------------------------------------
# What is read
# ---------------------------------------------------------------------------------------------


def test_a_source_whose_split_comes_apart_is_read(tmp_path: Path) -> None:
    more = """metric = "amortized"
splits = ["query", "agent"]
split_location = "answers"
clusters = { "/Subscriptions/1/managedClusters/Shop" = { node_resource_group = "MC_shop" } }
"""
    (read_source,) = read(tmp_path, azure(more)).sources
    assert read_source == Source(
        id="prod",
        provider="azure",
        dataset="cost_export",
        location=f"{tmp_path}/exports",
        metric="amortized",
        splits=("query", "agent"),
        split_location=f"{tmp_path}/answers",
        clusters={
            "/subscriptions/1/managedclusters/shop": ClusterPlace(node_resource_group="MC_shop")
        },
    )


@pytest.mark.parametrize(
    ("written", "read_bytes"),
    [("'200GB'", 200 * 10**9), ("'1.5 GiB'", 3 << 29), ("4096", 4096)],
)
def test_a_number_of_bytes_is_read(tmp_path: Path, written: str, read_bytes: int) -> None:
    (read_source,) = read(tmp_path, gcp(f"maximum_bytes_billed = {written}")).sources
    assert fetching.export_of(read_source).maximum_bytes_billed == read_bytes


def test_a_connector_is_told_how_to_reach_its_provider(tmp_path: Path) -> None:
    more = "endpoint = 'https://storage.example'\nrole = 'arn:aws:iam::111122223333:role/reader'"
    (read_source,) = read(tmp_path, SOURCE + more).sources
    assert fetching.export_of(read_source) == ExportSource(
        location=f"{tmp_path}/exports",
        dataset="cur2",
        endpoint="https://storage.example",
        role="arn:aws:iam::111122223333:role/reader",
    )
    assert fetching.split_of(read_source) is None


def test_a_split_that_the_provider_is_asked_for_has_no_place(tmp_path: Path) -> None:
    more = """metric = "actual"
splits = "query"
clusters = { "/subscriptions/1/shop" = { node_resource_group = "MC_shop" } }
"""
    (read_source,) = read(tmp_path, azure(more)).sources
    assert fetching.split_of(read_source) == ExportSource(
        location="", dataset="cost_export", metric="actual", clusters=("/subscriptions/1/shop",)
    )


@pytest.mark.parametrize(
    "place",
    [
        "s3://bucket/prefix",
        "project.dataset.table",
        "/subscriptions/00000000-0000-4000-8000-000000000001",
        "/providers/Microsoft.Billing/billingAccounts/1",
    ],
)
def test_a_location_in_a_cloud_stays_as_it_is(tmp_path: Path, place: str) -> None:
    (read_source,) = read(tmp_path, source('"exports"', f'"{place}"')).sources
    assert read_source.location == place


def test_the_shortest_file_has_every_default(tmp_path: Path) -> None:
    assert config.to_document(read(tmp_path, SOURCE)) == {
        "lake": {"path": f"{tmp_path}/lake", "labels": []},
        "report": {
            "cost_view": "effective",
            "charge_basis": "provider",
            "fiscal_year_start": 1,
            "locale": "en",
        },
        "source": [
            {
                "id": "prod",
                "provider": "aws",
                "dataset": "cur2",
                "location": f"{tmp_path}/exports",
                "currency": None,
                "endpoint": None,
                "role": None,
                "maximum_bytes_billed": None,
                "metric": None,
                "splits": [],
                "split_location": None,
                "clusters": {},
            }
        ],
        "team_rule": [],
        "operator": [],
        "system": [{"namespace": list(config.SYSTEM_NAMESPACES), "cluster": ["*"]}],
        "headroom": [],
        "nodes": [],
        "node_pool": [],
        "allocation_rule": [],
    }


FULL = """
[lake]
path = "../lake"
labels = ["app.kubernetes.io/name"]

[report]
cost_view = "billed"
charge_basis = "request"
fiscal_year_start = 4
locale = "de"

[[source]]
id = "prod"
provider = "aws"
dataset = "cur_legacy"
location = "./a.b.c"
currency = "EUR"

[[team_rule]]
label = "team"

[[team_rule]]
team = "payments"
namespace = ["checkout", "pay-*"]
cluster = "shop-*"
valid_from = 2026-01-01
valid_to = "2027-01-01"

[[operator]]
team = "platform"

[[system]]
namespace = "kube-system"

[[headroom]]
cluster = "shop-*"
placeholder_pods = { namespace = "overprovisioning" }

[[headroom]]
cluster = "prod-*"
node_pool = ["web", "batch-*"]
keep_free = { cpu = "10%", memory = "4GiB", gpu = "1", compute = "0%" }
scope = "node_pool"
valid_from = 2026-01-01

[[nodes]]
path = "nodes/*.json"

[[nodes]]
path = ["/nodes/a.csv", "../b.json"]

[[node_pool]]
cluster = "shop-*"
node_pool = "web"
min_nodes = 3
valid_to = 2027-01-01

[[allocation_rule]]
id = "egress-2026"
kinds = "shared"
method = "metric"
metric_file = "metrics/egress.csv"
metric = "egress"
fallback = "even"
teams = "payments"

[[allocation_rule]]
id = "fees-2026"
kinds = "cluster_fee"
method = "fixed"
shares = { payments = 60, "data science" = 39.9, ops = "0.1" }
except = ["platform", "lab"]

[[allocation_rule]]
id = "idle-2026"
kinds = ["idle", "headroom"]
method = "proportional"
scope = "node_pool"
by = "total"
cluster = ["*"]
valid_from = 2026-01-01
"""


def test_every_key_is_read(tmp_path: Path) -> None:
    read_config = read(tmp_path, FULL)
    assert read_config.lake == config.LakeTable(
        path=tmp_path.parent / "lake", labels=("app.kubernetes.io/name",)
    )
    assert read_config.report == config.Report(
        cost_view="billed", charge_basis="request", fiscal_year_start=4, locale="de"
    )
    assert read_config.sources == (
        Source(
            id="prod",
            provider="aws",
            dataset="cur_legacy",
            location=f"{tmp_path}/a.b.c",
            currency="EUR",
        ),
    )
    assert read_config.team_rules == (
        TeamRule(label="team"),
        TeamRule(
            team="payments",
            namespace=("checkout", "pay-*"),
            cluster=("shop-*",),
            valid_from=date(2026, 1, 1),
            valid_to=date(2027, 1, 1),
        ),
    )
    assert read_config.operators == (Operator(team="platform", cluster=("*",)),)
    assert read_config.system == (System(namespace=("kube-system",)),)


def test_the_folder_of_the_file_is_no_pattern(tmp_path: Path) -> None:
    folder = tmp_path / "team [a]*"
    (folder / "nodes").mkdir(parents=True)
    (folder / "nodes" / "1.json").write_text('{"kind": "List", "items": []}', encoding="utf-8")
    found = read(folder, SOURCE + "[[nodes]]\npath = 'nodes/[0-9].json'")
    assert [Path(file.name) for file in inventory.read(found).files] == [folder / "nodes/1.json"]


def test_every_key_of_a_decision_about_nodes_is_read(tmp_path: Path) -> None:
    read_config = read(tmp_path, FULL)
    assert read_config.headroom == (
        Headroom(
            cluster=("shop-*",),
            placeholder_pods=PlaceholderPods(namespace=("overprovisioning",)),
        ),
        Headroom(
            cluster=("prod-*",),
            node_pool=("web", "batch-*"),
            keep_free=KeepFree(cpu="10%", memory="4GiB", gpu="1", compute="0%"),
            scope="node_pool",
            valid_from=date(2026, 1, 1),
        ),
    )
    assert read_config.nodes == (
        Nodes(path=(f"{tmp_path}/nodes/*.json",)),
        Nodes(path=("/nodes/a.csv", f"{tmp_path.parent}/b.json")),
    )
    assert read_config.node_pools == (
        NodePool(cluster=("shop-*",), node_pool=("web",), min_nodes=3, valid_to=date(2027, 1, 1)),
    )


def test_every_key_of_an_allocation_rule_is_read(tmp_path: Path) -> None:
    assert read(tmp_path, FULL).allocation_rules == (
        AllocationRule.model_validate(
            {
                "id": "egress-2026",
                "kinds": ("shared",),
                "method": "metric",
                "metric_file": tmp_path / "metrics" / "egress.csv",
                "metric": "egress",
                "fallback": "even",
                "teams": ("payments",),
            }
        ),
        AllocationRule.model_validate(
            {
                "id": "fees-2026",
                "kinds": ("cluster_fee",),
                "method": "fixed",
                "shares": {
                    "payments": Decimal(60),
                    "data science": Decimal("39.9"),
                    "ops": Decimal("0.1"),
                },
                "except": ("platform", "lab"),
            }
        ),
        AllocationRule(
            id="idle-2026",
            kinds=("idle", "headroom"),
            method="proportional",
            scope="node_pool",
            by="total",
            valid_from=date(2026, 1, 1),
        ),
    )


def test_a_document_survives_the_run_record(tmp_path: Path) -> None:
    written = read(tmp_path, FULL)
    assert config.from_document(json.loads(json.dumps(config.to_document(written)))) == written


def test_the_model_cannot_be_changed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="frozen"):
        read(tmp_path, SOURCE).report.locale = "de"  # type: ignore[misc]


# ---------------------------------------------------------------------------------------------
# What is refused
# ---------------------------------------------------------------------------------------------

READS = (
    "This version reads aws (cur2, cur_legacy), gcp (gke_detailed), "
    "azure (cost_export, focus_export)."
)
NO_SECRETS = "No secret belongs in this file: the provider's own credential chain is used."
SOURCE_KEYS = (
    "id, provider, dataset, location, currency, endpoint, role, maximum_bytes_billed, metric, "
    "splits, split_location, clusters"
)
METRIC = (
    "amortized: commitments spread over their use; actual: as invoiced. The settings of the "
    "export show its type."
)
WHO_SPLITS = "Name who split the cost of the clusters, the preferred first; the README tells how."
TABLES = (
    "lake, report, source, team_rule, operator, system, headroom, nodes, node_pool, allocation_rule"
)
RULE_KEYS = (
    "id, kinds, method, scope, by, cluster, teams, except, metric_file, metric, fallback, shares, "
    "valid_from, valid_to"
)
HEADROOM_KEYS = "cluster, placeholder_pods, node_pool, keep_free, scope, valid_from, valid_to"
CPU = "0% to 100%, or CPUs such as '500m' or '2'"
MEMORY = "0% to 100%, or memory with its unit such as '4GiB' or '512Mi'"
EITHER = "either `placeholder_pods` or `keep_free`"
KINDS = "'idle', 'headroom', 'system_overhead', 'cluster_fee' or 'shared'"
WRONG, UNKNOWN, MISSING = "wrong value", "unknown key", "missing key"


def source(old: str, new: str) -> str:
    assert old in SOURCE
    return SOURCE.replace(old, new)


def azure(extra: str) -> str:
    """Return a file with one Azure source that has some lines more."""
    return source('"aws"\ndataset = "cur2"', '"azure"\ndataset = "cost_export"') + extra


def gcp(extra: str) -> str:
    """Return a file with one Google source that has some lines more."""
    return source('"aws"\ndataset = "cur2"', '"gcp"\ndataset = "gke_detailed"') + extra


def rule(extra: str) -> str:
    """Return a file whose second allocation rule has one line more or another one."""
    name = extra.split(" = ", maxsplit=1)[0]
    lines = [line for line in RULE.splitlines() if not line.startswith(f"{name} ")]
    second = "\n".join([*lines, extra]).replace("idle-2026", "second")
    return SOURCE + RULE + second


def fixed(shares: str) -> str:
    """Return a file whose second allocation rule is of method `fixed`."""
    return rule(f"method = 'fixed'\nshares = {{ {shares} }}")


def headroom(lines: str) -> str:
    """Return a file with one table of headroom."""
    return f"{SOURCE}[[headroom]]\n{lines}"


CASES: dict[str, tuple[str, Message]] = {
    "unknown table": (
        SOURCE + "[lakes]\npath = 'x'",
        (
            UNKNOWN,
            "leerlauf.toml: lakes",
            TABLES,
            "lakes",
            "Did you mean `lake`?",
        ),
    ),
    "unknown key": (
        rule("metod = 'even'"),
        (
            UNKNOWN,
            "leerlauf.toml: allocation_rule[1].metod",
            RULE_KEYS,
            "metod",
            "Did you mean `method`?",
        ),
    ),
    "unknown key that may be a secret": (
        source("location", "aws_secret_access_key = 'hunter2'\nlocation"),
        (
            UNKNOWN,
            "leerlauf.toml: source[0].aws_secret_access_key",
            SOURCE_KEYS,
            "aws_secret_access_key",
            "",
        ),
    ),
    "no source": (
        "[lake]\npath = 'x'",
        (MISSING, "leerlauf.toml: source", "at least one [[source]]", "nothing", ""),
    ),
    "one source as a table": (
        SOURCE.replace("[[source]]", "[source]"),
        (WRONG, "leerlauf.toml: source", "a list of tables, written [[source]]", "a table", ""),
    ),
    "missing key": (
        source('dataset = "cur2"', ""),
        (MISSING, "leerlauf.toml: source[0].dataset", "dataset", "nothing", ""),
    ),
    "id": (
        source('"prod"', '"Prod"'),
        (
            WRONG,
            "leerlauf.toml: source[0].id",
            "small letters, digits and '-', a letter first",
            "'Prod'",
            "",
        ),
    ),
    "provider": (
        source('"aws"', '"oci"'),
        (
            WRONG,
            "leerlauf.toml: source[0].provider",
            "'aws', 'gcp' or 'azure'",
            "'oci'",
            READS,
        ),
    ),
    "dataset": (
        source('"cur2"', '"focus"'),
        (WRONG, "leerlauf.toml: source[0].dataset", "'cur2' or 'cur_legacy'", "'focus'", READS),
    ),
    "bucket": (
        source('"exports"', '"s3://key:secret@bucket/prefix?signature=secret"'),
        (
            WRONG,
            "leerlauf.toml: source[0].location",
            "an address without user, password or query",
            "'s3://bucket/prefix'",
            NO_SECRETS,
        ),
    ),
    "currency": (
        source("location", "currency = 'usd'\nlocation"),
        (
            WRONG,
            "leerlauf.toml: source[0].currency",
            "three capital letters, an ISO 4217 code such as 'EUR'",
            "'usd'",
            "",
        ),
    ),
    "endpoint that is no address": (
        source("location", "endpoint = '127.0.0.1:9000'\nlocation"),
        (
            WRONG,
            "leerlauf.toml: source[0].endpoint",
            "an http or https address",
            "'127.0.0.1:9000'",
            "Leave it out, unless the service is reached by an address of its own.",
        ),
    ),
    "endpoint with a secret": (
        source("location", "endpoint = 'https://key:hunter2@storage.example/?sig=1'\nlocation"),
        (
            WRONG,
            "leerlauf.toml: source[0].endpoint",
            "an address without user, password or query",
            "'https://storage.example/'",
            NO_SECRETS,
        ),
    ),
    "bytes of no unit": (
        gcp("maximum_bytes_billed = '200 pounds'"),
        (
            WRONG,
            "leerlauf.toml: source[0].maximum_bytes_billed",
            "a number of bytes such as '200GB'",
            "'200 pounds'",
            "",
        ),
    ),
    "bytes that are none": (
        gcp("maximum_bytes_billed = 'much'"),
        (
            WRONG,
            "leerlauf.toml: source[0].maximum_bytes_billed",
            "a number of bytes such as '200GB'",
            "'much'",
            "",
        ),
    ),
    "no bytes at all": (
        gcp("maximum_bytes_billed = 0"),
        (WRONG, "leerlauf.toml: source[0].maximum_bytes_billed", "more than 0", "0", ""),
    ),
    "role where nobody takes one": (
        gcp("role = 'reader'"),
        (
            WRONG,
            "leerlauf.toml: source[0].role",
            "nothing",
            "'reader'",
            "Only sources of 'aws' have this key: leave it out.",
        ),
    ),
    "key of another provider": (
        source("location", "metric = 'amortized'\nlocation"),
        (
            WRONG,
            "leerlauf.toml: source[0].metric",
            "nothing",
            "'amortized'",
            "Only sources of 'azure' have this key: leave it out.",
        ),
    ),
    "key the dataset needs": (
        source('"aws"\ndataset = "cur2"', '"azure"\ndataset = "cost_export"'),
        (
            WRONG,
            "leerlauf.toml: source[0]",
            "the key metric",
            "nothing",
            f"cost_export does not say it itself. {METRIC}",
        ),
    ),
    "metric": (
        azure("metric = 'net'"),
        (
            WRONG,
            "leerlauf.toml: source[0].metric",
            "'amortized' or 'actual'",
            "'net'",
            METRIC,
        ),
    ),
    "split that nobody offers": (
        azure("metric = 'actual'\nsplits = ['guess']\nsplit_location = 'splits'"),
        (
            WRONG,
            "leerlauf.toml: source[0].splits",
            "each of 'query' or 'agent' once",
            "'guess'",
            WHO_SPLITS,
        ),
    ),
    "splits that nobody can be asked for": (
        azure("metric = 'actual'\nsplits = ['query', 'agent']"),
        (
            WRONG,
            "leerlauf.toml: source[0]",
            "`split_location` beside `splits`",
            "nothing",
            "Name the folder or container with what 'agent' saved.",
        ),
    ),
    "a place of splits of nobody": (
        azure("metric = 'actual'\nsplit_location = 'splits'"),
        (
            WRONG,
            "leerlauf.toml: source[0]",
            "`splits` beside `split_location`",
            "nothing",
            WHO_SPLITS,
        ),
    ),
    "node resource group": (
        azure("metric = 'actual'\nclusters = { '/subscriptions/1' = {} }"),
        (
            MISSING,
            "leerlauf.toml: source[0].clusters./subscriptions/1.node_resource_group",
            "node_resource_group",
            "nothing",
            "",
        ),
    ),
    "nodes without a path": (
        SOURCE + "[[nodes]]",
        (MISSING, "leerlauf.toml: nodes[0].path", "path", "nothing", ""),
    ),
    "nodes of no path": (
        SOURCE + "[[nodes]]\npath = []",
        (WRONG, "leerlauf.toml: nodes[0].path", "at least one", "an empty list", ""),
    ),
    "nodes of an empty path": (
        SOURCE + "[[nodes]]\npath = ['nodes/*.json', '']",
        (WRONG, "leerlauf.toml: nodes[0].path[1]", "a name", "''", ""),
    ),
    "node pool of less than nothing": (
        SOURCE + "[[node_pool]]\nmin_nodes = -1",
        (WRONG, "leerlauf.toml: node_pool[0].min_nodes", "0 or more", "-1", ""),
    ),
    "more nodes than can be": (
        SOURCE + "[[node_pool]]\nmin_nodes = 99999999999999999999",
        (
            WRONG,
            "leerlauf.toml: node_pool[0].min_nodes",
            "1000000000 or less",
            "99999999999999999999",
            "",
        ),
    ),
    "node pool in parts": (
        SOURCE + "[[node_pool]]\nmin_nodes = 1.5",
        (WRONG, "leerlauf.toml: node_pool[0].min_nodes", "a whole number", "1.5", ""),
    ),
    "node pool without a number": (
        SOURCE + "[[node_pool]]\nnode_pool = 'web'",
        (MISSING, "leerlauf.toml: node_pool[0].min_nodes", "min_nodes", "nothing", ""),
    ),
    "node pool of no name": (
        SOURCE + "[[node_pool]]\nmin_nodes = 1\nnode_pool = ''",
        (
            *(WRONG, "leerlauf.toml: node_pool[0].node_pool[0]"),
            *("a name or a pattern of *, ? and [..]", "''", ""),
        ),
    ),
    "unknown key of a node pool": (
        SOURCE + "[[node_pool]]\nmin_nodes = 1\nmax_nodes = 3",
        (
            UNKNOWN,
            "leerlauf.toml: node_pool[0].max_nodes",
            "cluster, node_pool, min_nodes, valid_from, valid_to",
            "max_nodes",
            "Did you mean `min_nodes`?",
        ),
    ),
    "charge basis": (
        SOURCE + "[report]\ncharge_basis = 'usage'",
        (WRONG, "leerlauf.toml: report.charge_basis", "'provider' or 'request'", "'usage'", ""),
    ),
    "cost view": (
        SOURCE + "[report]\ncost_view = 'list'",
        (WRONG, "leerlauf.toml: report.cost_view", "'effective' or 'billed'", "'list'", ""),
    ),
    "fiscal year": (
        SOURCE + "[report]\nfiscal_year_start = 13",
        (WRONG, "leerlauf.toml: report.fiscal_year_start", "12 or less", "13", ""),
    ),
    "fiscal year in words": (
        SOURCE + "[report]\nfiscal_year_start = 'April'",
        (WRONG, "leerlauf.toml: report.fiscal_year_start", "a whole number", "'April'", ""),
    ),
    "empty table name": (
        SOURCE + "[lake]\nlabels = ['']",
        (WRONG, "leerlauf.toml: lake.labels[0]", "a name", "''", ""),
    ),
    "team rule without team": (
        SOURCE + "[[team_rule]]\nnamespace = 'x'",
        (WRONG, "leerlauf.toml: team_rule[0]", "either `label` or `team`", "neither", ""),
    ),
    "team rule with both": (
        SOURCE + "[[team_rule]]\nlabel = 'x'\nteam = 'y'",
        (WRONG, "leerlauf.toml: team_rule[0]", "either `label` or `team`", "both", ""),
    ),
    "dates the wrong way round": (
        rule("valid_from = 2026-02-01\nvalid_to = 2026-01-01"),
        (
            WRONG,
            "leerlauf.toml: allocation_rule[1].valid_to",
            "a day after valid_from (2026-02-01)",
            "2026-01-01",
            "",
        ),
    ),
    "a time of day": (
        rule("valid_from = 2026-02-01T12:00:00"),
        (
            WRONG,
            "leerlauf.toml: allocation_rule[1].valid_from",
            "a date YYYY-MM-DD",
            "2026-02-01T12:00:00",
            "",
        ),
    ),
    "no date": (
        rule("valid_from = 'soon'"),
        (WRONG, "leerlauf.toml: allocation_rule[1].valid_from", "a date YYYY-MM-DD", "'soon'", ""),
    ),
    "glob without end": (
        rule("cluster = ['shop-[ab']"),
        (
            WRONG,
            "leerlauf.toml: allocation_rule[1].cluster[0]",
            "a name or a pattern of *, ? and [..]",
            "'shop-[ab'",
            "",
        ),
    ),
    "no glob": (
        rule("cluster = []"),
        (WRONG, "leerlauf.toml: allocation_rule[1].cluster", "at least one", "an empty list", ""),
    ),
    "headroom of both sources": (
        headroom("placeholder_pods = { namespace = 'x' }\nkeep_free = { cpu = '10%' }"),
        (WRONG, "leerlauf.toml: headroom[0]", EITHER, "both", "Give each its own [[headroom]]."),
    ),
    "headroom of no source": (
        headroom("cluster = 'x'"),
        (WRONG, "leerlauf.toml: headroom[0]", EITHER, "neither", ""),
    ),
    "headroom of no resource": (
        headroom("keep_free = {}"),
        (
            *(WRONG, "leerlauf.toml: headroom[0].keep_free"),
            *("at least one of 'cpu', 'memory', 'gpu' or 'compute'", "nothing", ""),
        ),
    ),
    "headroom of an unknown resource": (
        headroom("keep_free = { cpus = '10%' }"),
        (
            *(UNKNOWN, "leerlauf.toml: headroom[0].keep_free.cpus"),
            *("cpu, memory, gpu, compute", "cpus", "Did you mean `cpu`?"),
        ),
    ),
    "more than all": (
        headroom("keep_free = { cpu = '101%' }"),
        (WRONG, "leerlauf.toml: headroom[0].keep_free.cpu", CPU, "'101%'", ""),
    ),
    "less than nothing": (
        headroom("keep_free = { cpu = '-500m' }"),
        (WRONG, "leerlauf.toml: headroom[0].keep_free.cpu", CPU, "'-500m'", ""),
    ),
    "less than no percent": (
        headroom("keep_free = { memory = '-1%' }"),
        (WRONG, "leerlauf.toml: headroom[0].keep_free.memory", MEMORY, "'-1%'", ""),
    ),
    "memory without a unit": (
        headroom("keep_free = { memory = '4' }"),
        (WRONG, "leerlauf.toml: headroom[0].keep_free.memory", MEMORY, "'4'", ""),
    ),
    "memory in no unit of Kubernetes": (
        headroom("keep_free = { memory = '4GB' }"),
        (WRONG, "leerlauf.toml: headroom[0].keep_free.memory", MEMORY, "'4GB'", ""),
    ),
    "CPUs as a number": (
        headroom("keep_free = { cpu = 2 }"),
        (WRONG, "leerlauf.toml: headroom[0].keep_free.cpu", "text in quotes", "2", ""),
    ),
    "CPUs in words": (
        headroom("keep_free = { cpu = 'two' }"),
        (WRONG, "leerlauf.toml: headroom[0].keep_free.cpu", CPU, "'two'", ""),
    ),
    "GPUs in words": (
        headroom("keep_free = { gpu = 'all' }"),
        (
            *(WRONG, "leerlauf.toml: headroom[0].keep_free.gpu"),
            *("0% to 100%, or GPUs such as '1'", "'all'", ""),
        ),
    ),
    "nodes as a number": (
        headroom("keep_free = { compute = '2' }"),
        (WRONG, "leerlauf.toml: headroom[0].keep_free.compute", "0% to 100%", "'2'", ""),
    ),
    "headroom of an unknown scope": (
        headroom("keep_free = { cpu = '10%' }\nscope = 'pod'"),
        (
            *(WRONG, "leerlauf.toml: headroom[0].scope"),
            *("'node', 'node_pool' or 'cluster'", "'pod'", ""),
        ),
    ),
    "headroom of no node pool": (
        headroom("keep_free = { cpu = '10%' }\nnode_pool = []"),
        (WRONG, "leerlauf.toml: headroom[0].node_pool", "at least one", "an empty list", ""),
    ),
    "a scope of placeholder pods": (
        headroom("placeholder_pods = { namespace = 'x' }\nscope = 'cluster'"),
        (
            *(WRONG, "leerlauf.toml: headroom[0]"),
            *("no `scope` beside `placeholder_pods`", "`scope`", ""),
        ),
    ),
    "a node pool of placeholder pods": (
        headroom("placeholder_pods = { namespace = 'x' }\nnode_pool = 'web'"),
        (
            *(WRONG, "leerlauf.toml: headroom[0]"),
            *("no `node_pool` beside `placeholder_pods`", "`node_pool`", ""),
        ),
    ),
    "unknown key of headroom": (
        headroom("keep_fre = { cpu = '10%' }\nplaceholder_pods = { namespace = 'x' }"),
        (
            *(UNKNOWN, "leerlauf.toml: headroom[0].keep_fre"),
            *(HEADROOM_KEYS, "keep_fre", "Did you mean `keep_free`?"),
        ),
    ),
    "kind of a team": (
        rule("kinds = ['idle', 'workload']"),
        (
            WRONG,
            "leerlauf.toml: allocation_rule[1].kinds",
            KINDS,
            "'workload'",
            "workload is never distributed: a team's own cost stays with the team.",
        ),
    ),
    "kind of nobody": (
        rule("kinds = 'unattributed'"),
        (
            WRONG,
            "leerlauf.toml: allocation_rule[1].kinds",
            KINDS,
            "'unattributed'",
            (
                "unattributed is never distributed: nobody can say whose it is; "
                "it is shown, never folded into a team."
            ),
        ),
    ),
    "kind outside": (
        rule("kinds = 'outside'"),
        (
            WRONG,
            "leerlauf.toml: allocation_rule[1].kinds",
            KINDS,
            "'outside'",
            "outside is never distributed: it belongs to no cluster.",
        ),
    ),
    "kind unheard of": (
        rule("kinds = 'waste'"),
        (WRONG, "leerlauf.toml: allocation_rule[1].kinds", KINDS, "'waste'", ""),
    ),
    "method": (
        rule("method = 'usage'"),
        (
            WRONG,
            "leerlauf.toml: allocation_rule[1].method",
            "'even', 'fixed', 'metric', 'none' or 'proportional'",
            "'usage'",
            "`leerlauf methods` shows what each method does.",
        ),
    ),
    "shares of another method": (
        rule("shares = { a = 60, b = 40 }"),
        (
            *(WRONG, "leerlauf.toml: allocation_rule[1]"),
            *("`shares` only with method = 'fixed'", "'even'", ""),
        ),
    ),
    "fixed without shares": (
        rule("method = 'fixed'"),
        (
            *(WRONG, "leerlauf.toml: allocation_rule[1]"),
            *("`shares` beside method = 'fixed'", "nothing", ""),
        ),
    ),
    "fixed with no share": (
        rule("method = 'fixed'\nshares = {}"),
        (
            *(WRONG, "leerlauf.toml: allocation_rule[1]"),
            *("`shares` beside method = 'fixed'", "nothing", ""),
        ),
    ),
    "a share of nothing": (
        fixed("a = 0"),
        (WRONG, "leerlauf.toml: allocation_rule[1].shares.a", "more than 0", "0", ""),
    ),
    "a share below nothing": (
        fixed("a = 60, b = -40"),
        (WRONG, "leerlauf.toml: allocation_rule[1].shares.b", "more than 0", "-40", ""),
    ),
    "a share in words": (
        fixed("a = 'half'"),
        (WRONG, "leerlauf.toml: allocation_rule[1].shares.a", "a number", "'half'", ""),
    ),
    "a share that is no number": (
        fixed("a = nan"),
        (WRONG, "leerlauf.toml: allocation_rule[1].shares.a", "a number", "'nan'", ""),
    ),
    "a share without end": (
        fixed("a = inf"),
        (WRONG, "leerlauf.toml: allocation_rule[1].shares.a", "a number", "'inf'", ""),
    ),
    "a share that is true": (
        fixed("a = true"),
        (WRONG, "leerlauf.toml: allocation_rule[1].shares.a", "a number", "True", ""),
    ),
    "a share too small": (
        fixed("a = 1e-13"),
        (
            *(WRONG, "leerlauf.toml: allocation_rule[1].shares.a"),
            *("at most 12 decimal places", "1e-13", ""),
        ),
    ),
    "a share too large": (
        fixed("a = 1000000000000"),
        (
            *(WRONG, "leerlauf.toml: allocation_rule[1].shares.a"),
            *("less than 1000000000000", "1000000000000", ""),
        ),
    ),
    "a share of nobody": (
        fixed("'' = 1"),
        (WRONG, "leerlauf.toml: allocation_rule[1].shares", "a name", "''", ""),
    ),
    "shares in a list": (
        rule("method = 'fixed'\nshares = [60, 40]"),
        (WRONG, "leerlauf.toml: allocation_rule[1].shares", "a table", "a list of 2", ""),
    ),
    "metric file of another method": (
        rule("metric_file = 'egress.csv'"),
        (
            *(WRONG, "leerlauf.toml: allocation_rule[1]"),
            *("`metric_file` only with method = 'metric'", "'even'", ""),
        ),
    ),
    "metric of another method": (
        rule("metric = 'egress'"),
        (
            *(WRONG, "leerlauf.toml: allocation_rule[1]"),
            *("`metric` only with method = 'metric'", "'even'", ""),
        ),
    ),
    "fallback of another method": (
        rule("fallback = 'even'"),
        (
            *(WRONG, "leerlauf.toml: allocation_rule[1]"),
            *("`fallback` only with method = 'metric'", "'even'", ""),
        ),
    ),
    "metric without a file": (
        rule("method = 'metric'"),
        (
            *(WRONG, "leerlauf.toml: allocation_rule[1]"),
            *("`metric_file` beside method = 'metric'", "nothing", ""),
        ),
    ),
    "metric file of no name": (
        rule("method = 'metric'\nmetric_file = ''"),
        (
            *(WRONG, "leerlauf.toml: allocation_rule[1].metric_file"),
            *("the name of a file", "''", ""),
        ),
    ),
    "metric file as a number": (
        rule("method = 'metric'\nmetric_file = 1"),
        (WRONG, "leerlauf.toml: allocation_rule[1].metric_file", "text in quotes", "1", ""),
    ),
    "metric of no name": (
        rule("method = 'metric'\nmetric_file = 'egress.csv'\nmetric = ' '"),
        (WRONG, "leerlauf.toml: allocation_rule[1].metric", "a name", "' '", ""),
    ),
    "fallback that needs more": (
        rule("method = 'metric'\nmetric_file = 'egress.csv'\nfallback = 'fixed'"),
        (
            *(WRONG, "leerlauf.toml: allocation_rule[1].fallback"),
            *("'none', 'proportional' or 'even'", "'fixed'", ""),
        ),
    ),
    "no team": (
        rule("teams = []"),
        (WRONG, "leerlauf.toml: allocation_rule[1].teams", "at least one", "an empty list", ""),
    ),
    "a team of no name": (
        rule("teams = ['a', '']"),
        (WRONG, "leerlauf.toml: allocation_rule[1].teams[1]", "a name", "''", ""),
    ),
    "nobody left out": (
        rule("except = []"),
        (WRONG, "leerlauf.toml: allocation_rule[1].except", "at least one", "an empty list", ""),
    ),
    "a number left out": (
        rule("except = 1"),
        (WRONG, "leerlauf.toml: allocation_rule[1].except", "a list", "1", ""),
    ),
    "scope": (
        rule("scope = 'pod'"),
        (
            WRONG,
            "leerlauf.toml: allocation_rule[1].scope",
            "'node', 'node_pool' or 'cluster'",
            "'pod'",
            "",
        ),
    ),
    "rule id twice": (
        rule("id = 'idle-2026'").replace("second", "idle-2026"),
        (
            "used twice",
            "leerlauf.toml: allocation_rule[1].id",
            "another id than allocation_rule[0].id",
            "'idle-2026'",
            "",
        ),
    ),
    "source id twice": (
        SOURCE + source("exports", "more"),
        ("used twice", "leerlauf.toml: source[1].id", "another id than source[0].id", "'prod'", ""),
    ),
    "folder twice": (
        SOURCE + source("prod", "again").replace("exports", "./exports/"),
        (
            "used twice",
            "leerlauf.toml: source[1].location",
            "another location than source[0].location",
            "'exports'",
            "",
        ),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_mistake_is_explained(tmp_path: Path, case: str) -> None:
    text, message = CASES[case]
    assert mistakes(tmp_path, text) == [message]


def test_all_mistakes_of_a_file_are_reported_at_once(tmp_path: Path) -> None:
    text = source('"aws"', '"oracle"') + rule("metod = 'x'").removeprefix(SOURCE)
    text += source("prod", "again").replace("[[source]]", "[[source]]\nregion = 'x'")
    assert [message[:2] for message in mistakes(tmp_path, text)] == [
        (WRONG, "leerlauf.toml: source[0].provider"),
        (UNKNOWN, "leerlauf.toml: source[1].region"),
        (UNKNOWN, "leerlauf.toml: allocation_rule[1].metod"),
        ("used twice", "leerlauf.toml: source[1].location"),
    ]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as raised:
        config.load(tmp_path / "leerlauf.toml")
    assert (raised.value.what, raised.value.where, raised.value.hint) == (
        "no configuration",
        f"{tmp_path}/leerlauf.toml",
        "Name yours with --config, or let `leerlauf init FOLDER` write one.",
    )


def test_a_file_that_is_not_toml(tmp_path: Path) -> None:
    assert mistakes(tmp_path, "[lake\n") == [
        (
            "not valid TOML",
            "leerlauf.toml",
            "TOML in UTF-8",
            "Expected ']' at the end of a table declaration (at line 1, column 6)",
            "",
        )
    ]


def test_a_provider_without_requests_cannot_be_charged_by_them(tmp_path: Path) -> None:
    by_request = "[report]\ncharge_basis = 'request'"
    fetching.refuse_what_sources_lack(read(tmp_path, SOURCE + by_request), "2026-10")
    fetching.refuse_what_sources_lack(read(tmp_path, gcp(by_request)), "2026-10")
    refused = read(tmp_path, azure("metric = 'amortized'\n" + by_request))
    with pytest.raises(ConfigurationError) as raised:
        fetching.refuse_what_sources_lack(refused, "2026-10")
    error = raised.value
    assert (error.what, error.where, error.expected, error.got, error.hint) == (
        (
            "source prod cannot be charged by request: "
            "AKS splits cost by max(request, usage) and delivers no requests"
        ),
        "[report] charge_basis",
        "provider",
        "request",
        "set charge_basis to provider, or run prod with a file of its own",
    )
    assert error.exit_code == 2


# ---------------------------------------------------------------------------------------------
# Months
# ---------------------------------------------------------------------------------------------

TODAY = date(2026, 11, 30)


@pytest.mark.parametrize("text", ["2026-10", "2026-11", "0001-01"])
def test_months_that_have_begun(text: str) -> None:
    assert periods.parse(text, TODAY) == text


@pytest.mark.parametrize(
    "text", ["2026-13", "2026-00", "2026-1", "26-10", "2026-10-01", "0000-01", "\u0662026-10"]
)
def test_what_is_no_month(text: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        periods.parse(text, TODAY)
    assert (raised.value.what, raised.value.expected) == ("not a month", "YYYY-MM, such as 2026-10")


def test_a_month_in_the_future() -> None:
    with pytest.raises(ConfigurationError) as raised:
        periods.parse("2026-12", TODAY)
    assert (raised.value.what, raised.value.expected, raised.value.got) == (
        "a month in the future",
        "2026-11 or earlier",
        "2026-12",
    )


def test_the_day_after_a_month() -> None:
    assert periods.next_month("2026-12") == date(2027, 1, 1)
    assert periods.next_month("2026-02") == date(2026, 3, 1)


# ---------------------------------------------------------------------------------------------
# Rules that can never apply
# ---------------------------------------------------------------------------------------------

CLUSTERS = [("arn:shop", "shop-prod"), ("arn:batch", None)]


def never(folder: Path, rules: list[dict[str, str]], table: str = "allocation_rule") -> list[str]:
    """Return where and actual of each finding, for rules that differ in the given keys."""
    text = SOURCE
    for index, keys in enumerate(rules):
        base = {"id": f"'r{index}'", "kinds": "'idle'", "method": "'even'"}
        both = {**(base if table == "allocation_rule" else {}), **keys}
        text += f"[[{table}]]\n" + "".join(f"{name} = {value}\n" for name, value in both.items())
    findings = unused_rules(read(folder, text), CLUSTERS, "2026-10")
    assert {(f["rule"], f["severity"], f["billing_period"]) for f in findings} <= {
        ("rule_never_applies", "warning", "2026-10")
    }
    return [f"{finding['where']}: {finding['actual']}" for finding in findings]


TAKEN = "all are taken by allocation_rule[0] (r0)"
SECOND = "allocation_rule[1] (r1)"
SHADOWS: dict[str, tuple[list[dict[str, str]], list[str]]] = {
    "the same again": ([{}, {}], [f"allocation_rule[1] (r1): {TAKEN}"]),
    "a name inside a pattern": (
        [{"cluster": "'shop-*'"}, {"cluster": "'shop-prod'"}],
        [f"allocation_rule[1] (r1): {TAKEN}"],
    ),
    "a pattern inside a pattern": (
        [{"cluster": "'s*'"}, {"cluster": "'shop-*'"}],
        [f"allocation_rule[1] (r1): {TAKEN}"],
    ),
    "a wider pattern": ([{"cluster": "'shop-prod'"}, {"cluster": "'shop-*'"}], []),
    "one letter is not many": ([{"cluster": "'shop-pro?'"}, {"cluster": "'shop-pro*'"}], []),
    "another kind": ([{}, {"kinds": "['idle', 'shared']"}], []),
    "both kinds, each by its own rule": (
        [{}, {"kinds": "'shared'"}, {"kinds": "['shared', 'idle']"}],
        [
            (
                "allocation_rule[2] (r2): all are taken by allocation_rule[1] (r1), "
                "allocation_rule[0] (r0)"
            )
        ],
    ),
    "for some teams, after all": (
        [{}, {"teams": "'ads'"}],
        [f"allocation_rule[1] (r1): {TAKEN}"],
    ),
    "for all, after some teams": (
        [{"teams": "'ads'"}, {"except": "'web'"}, {}],
        [f"allocation_rule[1] (r1): {TAKEN}", f"allocation_rule[2] (r2): {TAKEN}, {SECOND}"],
    ),
    "another method": (
        [{}, {"method": "'fixed'", "shares": "{ ads = 1 }"}],
        [f"allocation_rule[1] (r1): {TAKEN}"],
    ),
    "later": ([{"valid_to": "2026-06-01"}, {"valid_from": "2026-01-01"}], []),
    "inside": (
        [{"valid_from": "2026-01-01"}, {"valid_from": "2026-02-01", "valid_to": "2026-03-01"}],
        [f"allocation_rule[1] (r1): {TAKEN}"],
    ),
    "two that meet": (
        [
            {"valid_from": "2026-06-01"},
            {"valid_to": "2026-06-01"},
            {"valid_from": "2026-01-01"},
        ],
        [
            (
                "allocation_rule[2] (r2): all are taken by allocation_rule[0] (r0), "
                "allocation_rule[1] (r1)"
            )
        ],
    ),
    "two with a day between": (
        [{"valid_from": "2026-06-02"}, {"valid_to": "2026-06-01"}, {"valid_from": "2026-01-01"}],
        [],
    ),
    "no day": (
        [{"valid_from": "2026-06-01", "valid_to": "2026-06-01"}],
        ["allocation_rule[0] (r0): valid from 2026-06-01 to 2026-06-01, which is no day"],
    ),
    "no cluster": (
        [{"cluster": "['prod-*', 'test']"}],
        ["allocation_rule[0] (r0): no cluster matches 'prod-*' or 'test'"],
    ),
    "a cluster by its id": ([{"cluster": "'arn:b*'"}], []),
    "no cluster, but not in this month": (
        [{"cluster": "'old'", "valid_to": "2026-10-01"}, {"cluster": "'old'"}],
        ["allocation_rule[1] (r1): no cluster matches 'old'"],
    ),
}


@pytest.mark.parametrize("case", SHADOWS)
def test_a_rule_that_can_never_apply(tmp_path: Path, case: str) -> None:
    rules, expected = SHADOWS[case]
    assert never(tmp_path, rules) == expected


TEAMS: dict[str, tuple[list[dict[str, str]], list[str]]] = {
    "a label may be missing": ([{"label": "'team'"}, {"team": "'web'"}], []),
    "the same label": (
        [{"label": "'app.kubernetes.io/name'"}, {"label": "'app_kubernetes_io_name'"}],
        ["team_rule[1]: all are taken by team_rule[0]"],
    ),
    "the same label, in capitals": (
        [{"label": "'team'"}, {"label": "'Team'"}],
        ["team_rule[1]: all are taken by team_rule[0]"],
    ),
    "everything, then something": (
        [{"team": "'web'"}, {"team": "'ads'", "namespace": "'ads'"}],
        ["team_rule[1]: all are taken by team_rule[0]"],
    ),
    "another namespace": (
        [{"team": "'web'", "namespace": "'web-*'"}, {"team": "'ads'", "namespace": "'w*'"}],
        [],
    ),
}


@pytest.mark.parametrize("case", TEAMS)
def test_a_team_rule_that_can_never_apply(tmp_path: Path, case: str) -> None:
    rules, expected = TEAMS[case]
    assert never(tmp_path, rules, "team_rule") == expected


def test_the_finding_in_full(tmp_path: Path) -> None:
    assert unused_rules(
        read(tmp_path, SOURCE + "[[operator]]\nteam = 'x'\ncluster = 'prod'"), CLUSTERS, "2026-10"
    ) == [
        {
            "billing_period": "2026-10",
            "rule": "rule_never_applies",
            "severity": "warning",
            "provider": None,
            "source": None,
            "cluster_id": None,
            "where": "operator[0]",
            "expected": "a cluster of 2026-10",
            "actual": "no cluster matches 'prod'",
            "difference": None,
            "hint": "Clusters of the month: arn:batch, shop-prod.",
        }
    ]
