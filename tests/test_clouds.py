"""A month from the clouds is the month from the folders: the demo's exports on real servers.

The whole command runs, from the configuration to the lake; only the places differ.
"""

import re
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import duckdb
import pytest

from connectors import retry
from tests.conftest import ROOT
from tests.services import faults
from tests.services.azurite import Blobs
from tests.services.bigquery_rest import BigQueryRest
from tests.services.gcs import Gcs
from tests.services.places import CONTAINER
from tests.services.seaweedfs import S3
from tests.small_month import said

MONTH = "2026-10"
FIXTURES = ROOT / "fixtures"
SHOP = "exports/gcp-shop"
SHOP_ROWS = f"SELECT * FROM read_parquet('{FIXTURES / SHOP}/*.parquet')"

Located = Callable[[str], tuple[str, str]]
"""A location of the demo -> the same exports elsewhere, and the endpoint to ask."""

_LOCATION = re.compile(r'^((?:split_)?)location = "(exports/[^"]+)"$', re.MULTILINE)
_BESIDE = re.compile(r'^(path|metric_file) = "(exports/[^"]+)"$', re.MULTILINE)
"""Files beside the exports, which lie in a folder wherever the exports are."""
_FREE = ("source_file", "origin_id")
"""Columns that name a file of a delivery; the same rows may come in other files."""


def written(folder: Path, located: Located) -> Path:
    """Write the demo's configuration with its exports elsewhere; return its path."""

    def moved(found: re.Match[str]) -> str:
        location, endpoint = located(found[2])
        lines = [f'{found[1]}location = "{location}"']
        if endpoint and not found[1]:
            lines.append(f'endpoint = "{endpoint}"')
        return "\n".join(lines)

    text, number = _LOCATION.subn(moved, (FIXTURES / "leerlauf.toml").read_text(encoding="utf-8"))
    assert number > 6
    text = _BESIDE.sub(rf'\1 = "{FIXTURES}/\2"', text)
    path = folder / "leerlauf.toml"
    path.write_text(text, encoding="utf-8")
    return path


def normalised(lake: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return the rows of each provider, added up over the files they came in."""
    with duckdb.connect() as con:
        con.execute("SET enable_progress_bar = false")
        con.execute(
            f"CREATE VIEW n AS SELECT * EXCLUDE ({', '.join(_FREE)}) FROM"
            f" read_parquet('{lake}/normalised/**/*.parquet', hive_partitioning = true)"
        )
        columns = con.execute("DESCRIBE n").fetchall()
        shown = [
            f'sum("{name}")' if kind.startswith("DECIMAL") else f'"{name}"::VARCHAR'
            for name, kind, *_ in columns
        ]
        rows = con.execute(f"SELECT provider, {', '.join(shown)} FROM n GROUP BY ALL ORDER BY ALL")
        found: dict[str, list[tuple[object, ...]]] = {}
        for provider, *cells in rows.fetchall():
            found.setdefault(str(provider), []).append(tuple(cells))
    return found


def run(folder: Path, located: Located, capsys: pytest.CaptureFixture[str]) -> int:
    """Run the month with its exports elsewhere; return how the command ended."""
    path = written(folder, located)
    done = said(capsys, "run", MONTH, "--config", path, "--lake", folder / "lake")
    assert done.code in (0, 1), done.err
    return done.code


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the month as the demo's own folders give it."""
    return tmp_path_factory.mktemp("local")


@pytest.fixture
def expected(
    local: Path, capsys: pytest.CaptureFixture[str]
) -> dict[str, list[tuple[object, ...]]]:
    """The normalised rows of the demo's own folders."""
    if not (local / "lake").exists():
        run(local, lambda location: (str(FIXTURES / location), ""), capsys)
    rows = normalised(local / "lake")
    assert set(rows) == {"aws", "azure", "gcp"}
    return rows


@pytest.fixture
def servers(
    seaweedfs: S3, azurite: Blobs, gcs: Gcs, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """The demo's exports on the three clouds: how a location begins -> the server."""
    for name, value in (seaweedfs.env | azurite.env).items():
        monkeypatch.setenv(name, value)
    for upload, provider in ((seaweedfs.upload, "aws"), (azurite.upload, "azure")):
        for folder in sorted((FIXTURES / "exports").glob(f"{provider}-*")):
            upload(folder, CONTAINER, f"exports/{folder.name}")
    gcs.upload(FIXTURES / SHOP, CONTAINER, SHOP)
    return {
        "exports/aws": seaweedfs.endpoint,
        "exports/azure": azurite.endpoint,
        SHOP: gcs.endpoint,
    }


def in_the_cloud(servers: dict[str, str]) -> Located:
    """Return where the demo's exports lie on these servers."""

    def located(location: str) -> tuple[str, str]:
        server = next(it for begin, it in servers.items() if location.startswith(begin))
        if location.startswith("exports/azure"):
            return f"{server}/{CONTAINER}/{location}", server
        scheme = "s3" if location.startswith("exports/aws") else "gs"
        return f"{scheme}://{CONTAINER}/{location}", server

    return located


def test_a_month_from_the_clouds_is_the_month_from_the_folders(
    servers: dict[str, str],
    expected: dict[str, list[tuple[object, ...]]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(tmp_path, in_the_cloud(servers), capsys)
    assert normalised(tmp_path / "lake") == expected


def test_a_month_with_spoiled_answers_is_the_same_month(
    servers: dict[str, str],
    expected: dict[str, list[tuple[object, ...]]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(retry, "LONGEST_WAIT", 0.05)
    with ExitStack() as stack:
        proxies = {
            begin: stack.enter_context(faults.running(server, seed=7, rate=0.3))
            for begin, server in servers.items()
        }
        spoiled = {begin: proxy.endpoint for begin, proxy in proxies.items()}
        run(tmp_path, in_the_cloud(spoiled), capsys)
        assert sum(sum(proxy.spoiled.values()) for proxy in proxies.values()) > 20
    assert normalised(tmp_path / "lake") == expected


def test_a_month_from_bigquery_is_the_month_from_its_files(
    bigquery_rest: BigQueryRest,
    expected: dict[str, list[tuple[object, ...]]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = bigquery_rest.table(SHOP_ROWS)

    def located(location: str) -> tuple[str, str]:
        if location == SHOP:
            return table, bigquery_rest.endpoint
        return str(FIXTURES / location), ""

    run(tmp_path, located, capsys)
    assert normalised(tmp_path / "lake") == expected
