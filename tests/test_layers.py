"""The layers hold: who may import whom, and what a transform may not touch."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import ROOT

LAYERS = ("connectors", "transforms", "pipelines")
CLOUD_SDKS = ("azure", "boto3", "botocore", "google")
FILES_CLOCK_NETWORK = (
    *("fcntl", "glob", "http", "io", "os", "pathlib", "shutil", "socket", "ssl", "subprocess"),
    *("sys", "tempfile", "time", "urllib", "duckdb", "httpx", "requests"),
)
FORBIDDEN = {
    "connectors": ("transforms", "pipelines", "fixtures", "tests", "prefect"),
    "transforms": (
        *("connectors", "pipelines", "fixtures", "tests", "prefect"),
        *CLOUD_SDKS,
        *FILES_CLOCK_NETWORK,
    ),
    "pipelines": ("fixtures", "tests", "prefect", *CLOUD_SDKS),
}
"""What each layer may not import, by top-level name."""

MAY_IMPORT_PREFECT = "pipelines/flows.py"
TOUCHES = re.compile(r"open|now|today|utcnow|(read|scan|write|sink)_\w+")
"""Calls with which a transform would reach for a file or the clock."""

NAMES_OF_PROVIDERS = re.compile(
    r"(?<![a-z])(aws|gcp|gce|azure)(?![a-z])(?!_amazon_com_neuron)", re.IGNORECASE
)
"""Their short names, and Google's in Kubernetes; the device is named by its maker's domain."""

NAMES_NO_PROVIDER = re.compile(r"(pipelines|sql)/.*|transforms/[^/]*\.py")
MAY_NAME_PROVIDERS = "pipelines/providers.py"


class Import(NamedTuple):
    """One imported module; `lazy` where it is imported in a function, or for type checkers."""

    line: int
    module: str
    lazy: bool


def imports(path: str, source: str) -> Iterator[Import]:
    """Yield what a module imports, relative names made absolute."""
    tree = ast.parse(source)
    inside = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or _is_for_types(node)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        for module in _modules(node, path):
            yield Import(node.lineno, module, id(node) in inside)  # type: ignore[attr-defined]


def _is_for_types(node: ast.AST) -> bool:
    match node:
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
    return False


def _modules(node: ast.AST, path: str) -> list[str]:
    match node:
        case ast.Import():
            return [alias.name for alias in node.names]
        case ast.ImportFrom(level=0):
            return [node.module or ""]
        case ast.ImportFrom():
            package = list(Path(path).parent.parts)
            return [".".join([*package[: len(package) - node.level + 1], node.module or ""])]
        case ast.Call(
            func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
            args=[ast.Constant(value=str(module)), *_],
        ):
            return [module]
    return []


def violations(path: str, source: str) -> list[str]:
    """Return the broken rules of one module as `line: what`; `path` is relative to the root."""
    layer = path.split("/", maxsplit=1)[0]
    found = []
    for line, module, lazy in imports(path, source):
        top = module.split(".")[0]
        if top in FORBIDDEN[layer] and not (top == "prefect" and path == MAY_IMPORT_PREFECT):
            found.append(f"{line}: {layer} may not import {module}")
        elif top in CLOUD_SDKS and not lazy:
            found.append(f"{line}: {module} is imported where it is used, not at the top")
        elif module == "pipelines.flows":
            found.append(f"{line}: nothing imports {module}, or Prefect would come with the core")
    if layer == "transforms":
        found += [f"{line}: a transform may not call {name}" for line, name in touching(source)]
    return found + named_providers(path, source)


def touching(source: str) -> Iterator[tuple[int, str]]:
    """Yield calls that open files or ask the clock; text shipped with the code is code."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                if TOUCHES.fullmatch(name) and not ast.unparse(node).startswith("files("):
                    yield node.lineno, name


def named_providers(path: str, source: str) -> list[str]:
    """Return the lines that name a provider in `pipelines`, `sql` and what transforms share."""
    if not NAMES_NO_PROVIDER.fullmatch(path) or path == MAY_NAME_PROVIDERS:
        return []
    return [
        f"{number}: only {MAY_NAME_PROVIDERS} names a provider"
        for number, line in enumerate(source.splitlines(), start=1)
        if NAMES_OF_PROVIDERS.search(line)
    ]


MODULES = [
    path.relative_to(ROOT).as_posix()
    for layer in LAYERS
    for path in sorted((ROOT / layer).rglob("*.py"))
]
QUERIES = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "sql").rglob("*.sql"))]


def test_there_is_something_to_check() -> None:
    assert {name.split("/")[0] for name in MODULES} == set(LAYERS)
    assert MAY_IMPORT_PREFECT in MODULES
    assert MAY_NAME_PROVIDERS in MODULES
    assert len(MODULES) > 20
    assert len(QUERIES) > 20


@pytest.mark.parametrize("path", MODULES)
def test_the_layers_hold(path: str) -> None:
    assert violations(path, (ROOT / path).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", QUERIES)
def test_sql_names_no_provider(path: str) -> None:
    assert named_providers(path, (ROOT / path).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("connectors/aws.py", "import transforms.schema"),
        ("connectors/aws.py", "from pipelines.errors import LeerlaufError"),
        ("connectors/aws.py", "from ..pipelines import errors"),
        ("connectors/aws.py", "def f():\n    from prefect import task"),
        ("connectors/aws.py", "import boto3"),
        ("connectors/aws.py", "if True:\n    from azure.identity import X"),
        ("transforms/normalise.py", "from connectors import raw"),
        ("transforms/aws/split.py", "from ...pipelines.lake import Lake"),
        ("transforms/normalise.py", "def f():\n    import pipelines.month"),
        ("transforms/normalise.py", "import boto3"),
        ("transforms/normalise.py", "from pathlib import Path"),
        ("transforms/normalise.py", "import os.path"),
        ("transforms/normalise.py", "pl.scan_parquet('x')"),
        ("transforms/normalise.py", "frame.sink_parquet('x')"),
        ("transforms/normalise.py", "open('x')"),
        ("transforms/normalise.py", "datetime.now(UTC)"),
        ("transforms/normalise.py", "import_module('connectors.raw')"),
        ("pipelines/month.py", "from prefect import flow"),
        ("pipelines/month.py", "def f():\n    import prefect"),
        ("pipelines/month.py", "importlib.import_module('prefect')"),
        ("pipelines/month.py", "from google.cloud import bigquery"),
        ("pipelines/month.py", "from tests.lakes import run_month"),
        ("pipelines/cli.py", "from pipelines.flows import monthly_chargeback"),
        ("pipelines/month.py", "if provider == 'aws':\n    pass"),
        ("pipelines/month.py", "# as Azure does it"),
        ("sql/views/charges.sql", "-- what aws calls it"),
        ("transforms/snapshots.py", "UNTOLD = 'azure://'"),
        ("transforms/snapshots.py", "name.str.extract('^gce://(.*)$')"),
    ],
)
def test_a_violation_is_found(path: str, source: str) -> None:
    found = violations(path, source) if path.endswith(".py") else named_providers(path, source)
    assert len(found) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("connectors/aws.py", "def open_bucket():\n    import boto3"),
        ("connectors/aws.py", "from pathlib import Path\nPath('x').open()"),
        ("connectors/aws.py", "from connectors import raw"),
        ("transforms/aws/split.py", "from transforms.schema import MONEY\nimport polars as pl"),
        ("transforms/aws/split.py", "from ..schema import MONEY"),
        ("transforms/aws/split.py", "files('transforms.aws').joinpath('bill.sql').read_text()"),
        ("pipelines/flows.py", "from prefect import flow"),
        ("pipelines/month.py", "from connectors import raw\nfrom transforms import schema"),
        ("pipelines/providers.py", "NAMES = ('aws', 'gcp', 'azure')"),
        ("pipelines/month.py", "laws = 'draws'"),
        ("transforms/aws/__init__.py", "NODE_IDS = NodeIds('^aws://', billed=None)"),
        ("transforms/inventory.py", "GPUS = ('nvidia_com_gpu', 'aws_amazon_com_neuron')"),
    ],
)
def test_what_is_allowed_is_not_found(path: str, source: str) -> None:
    assert violations(path, source) == []
