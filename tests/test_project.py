"""The project itself: its folders, its lock, its wheel, its words of command."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import ROOT

FOLDERS = {".ci", "connectors", "fixtures", "pipelines", "sql", "tests", "transforms"}
PACKAGES = ("connectors", "fixtures", "pipelines", "sql", "transforms")
HOSTS = {
    "127.0.0.1",
    "localhost",
    "www.apache.org",  # the licence
}
"""Hosts that files may name, beside those that end in .example or are example.com."""

BINARY = {".parquet", ".gz", ".png"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")


@cache
def tracked() -> list[str]:
    """Return the files of the project, as git knows them."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return [name for name in done.stdout.splitlines() if (ROOT / name).is_file()]


def texts() -> list[tuple[str, str]]:
    """Return name and content of every text file of the project."""
    return [
        (name, (ROOT / name).read_text(encoding="utf-8"))
        for name in tracked()
        if Path(name).suffix not in BINARY
    ]


# -------------------------------------------------------------------------------- the files


def test_the_folders_are_those_of_the_design() -> None:
    assert {name.split("/")[0] for name in tracked() if "/" in name} == FOLDERS


def foreign_hosts(text: str) -> list[str]:
    """Return the hosts a text names that it may not name: no registry, no mirror, no cloud."""
    hosts = re.findall(r"https?://(?:[^\s/@\"'`]*@)?([A-Za-z0-9.-]+)", text)
    own = re.compile(r".*\.example|(.*\.)?example\.(com|org)")
    named = {host for host in hosts if host.strip(".")}  # "https://..." names none
    return sorted({host for host in named if host not in HOSTS and not own.fullmatch(host)})


def machine_paths(text: str) -> list[str]:
    """Return paths that exist on one machine only."""
    return re.findall(r"(?<![\w.~}-])/(?:home|root|Users|work|tmp|opt|mnt)/[\w.-]+", text)


def test_no_file_names_a_registry_or_a_machine() -> None:
    found = {
        name: foreign_hosts(text) + machine_paths(text)
        for name, text in texts()
        if name != "tests/test_project.py"
    }
    assert len(found) > 100
    assert {name: what for name, what in found.items() if what} == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see https://registry.invalid/simple", ["registry.invalid"]),
        ("--index-url=http://user:secret@mirror.invalid/simple", ["mirror.invalid"]),
        ("http://127.0.0.1:4200/api, https://account.blob.example/x, http://example.com", []),
        ("cd /home/somebody/leerlauf", ["/home/somebody"]),
        ("'/opt/lake'", ["/opt/lake"]),
        ("data/tmp/lake and lake/work/x", []),
    ],
)
def test_a_foreign_host_or_path_is_found(text: str, expected: list[str]) -> None:
    assert foreign_hosts(text) + machine_paths(text) == expected


# --------------------------------------------------------------------------------- the lock


def requirement_names(requirements: list[str]) -> set[str]:
    """Return the normalised names in a list of requirements, without the project itself."""
    names = {re.split(r"[\[<>=!~; ]", text, maxsplit=1)[0] for text in requirements}
    return {re.sub(r"[-_.]+", "-", name).lower() for name in names} - {"leerlauf"}


def test_the_lock_pins_and_hashes_everything() -> None:
    entries = re.split(r"\n(?=[A-Za-z0-9])", re.sub(r"(?m)^\s*#.*\n", "", LOCK).strip())
    assert len(entries) > 100
    for entry in entries:
        assert re.match(r"[a-z0-9-]+==\S+( ; .*)? \\\n", entry), entry
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry


def test_the_lock_names_no_address() -> None:
    assert re.findall(r"(?m)://|^\s*-(?!-hash=).*$", LOCK) == []


def test_the_lock_covers_what_the_project_needs() -> None:
    project = PROJECT["project"]
    needed = requirement_names(
        [
            *project["dependencies"],
            *(text for extra in project["optional-dependencies"].values() for text in extra),
            *(it for it in PROJECT["dependency-groups"]["dev"] if isinstance(it, str)),
            *PROJECT["dependency-groups"]["services"],
        ]
    )
    locked = set(re.findall(r"(?m)^([a-z0-9-]+)==", LOCK))
    assert needed - locked == set()
    assert re.findall(r"(?m)^duckdb==(\S+)", LOCK) == ["1.5.5"]


def test_the_lock_of_npm_pins_and_hashes_everything() -> None:
    lock = json.loads((ROOT / "tests/services/package-lock.json").read_text(encoding="utf-8"))
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert len(packages) > 100
    for name, package in packages.items():
        assert package["version"], name
        assert package["integrity"].startswith("sha512-"), name
        assert "resolved" not in package, name


# ------------------------------------------------------------------------------- the project


def test_the_project_must_not_be_published() -> None:
    assert "Private :: Do Not Upload" in PROJECT["project"]["classifiers"]


def test_all_is_every_other_extra() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    assert extras["all"] == [f"leerlauf[{','.join(name for name in extras if name != 'all')}]"]


def test_the_core_needs_the_core_only() -> None:
    imported = {
        name.split(".")[0]
        for layer in ("connectors", "transforms", "pipelines")
        for path in (ROOT / layer).rglob("*.py")
        if path.name != "flows.py"
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        for name in top_level_imports(node)
    }
    foreign = imported - set(sys.stdlib_module_names) - set(PACKAGES)
    assert {"polars", "duckdb"} <= foreign
    # pydantic_core comes with pydantic, and is pinned by it.
    assert foreign - {"pydantic_core"} <= requirement_names(PROJECT["project"]["dependencies"])


def top_level_imports(node: ast.stmt) -> list[str]:
    match node:
        case ast.Import():
            return [alias.name for alias in node.names]
        case ast.ImportFrom(module=str(module)):
            return [module]
    return []


def test_the_command_line_starts_without_prefect_and_cloud_sdks() -> None:
    code = "import sys, pipelines.cli; print(*sorted(sys.modules))"
    done = run_python(ROOT, "-c", code, path=ROOT)
    loaded = {name.split(".")[0] for name in done.split()}
    assert "pipelines" in loaded
    assert loaded & {"prefect", "boto3", "botocore", "azure", "dask"} == set()


def run_python(folder: Path, *arguments: str, path: Path) -> str:
    """Run Python in `folder` with `path` before everything else, and return what it printed."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(path), "PYTHONWARNINGS": ""},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked wheel of the project."""
    folder = tmp_path_factory.mktemp("wheel")
    run_python(ROOT, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), path=folder)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as archive:
        archive.extractall(folder / "unpacked")
    return folder / "unpacked"


def test_the_wheel_holds_every_file_of_the_packages(wheel: Path) -> None:
    ours = {name for name in tracked() if name.split("/")[0] in PACKAGES}
    packed = {path.relative_to(wheel).as_posix() for path in wheel.rglob("*") if path.is_file()}
    assert len(ours) > 100
    assert {name for name in packed if ".dist-info/" not in name} == ours


def test_the_demo_runs_from_the_wheel_alone(wheel: Path, tmp_path: Path) -> None:
    code = (
        "import sys; sys.argv = ['leerlauf', 'demo']\n"
        "from pipelines import queries; assert queries.SQL.is_relative_to(sys.path[1])\n"
        "from pipelines.cli import main; sys.exit(main())"
    )
    assert "shop-eu" in run_python(tmp_path, "-c", code, path=wheel)


# -------------------------------------------------------------------------------- make and CI


def test_make_alone_prints_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert phony is not None
    done = subprocess.run(["make", "-C", ROOT], check=True, capture_output=True, text=True)
    assert set(re.findall(r"^make ([a-z]+)", done.stdout, re.MULTILINE)) == set(phony[1].split())


def test_the_ci_runs_what_a_person_runs() -> None:
    script = ROOT / ".ci/run"
    assert os.access(script, os.X_OK)
    assert re.findall(r"\bmake (\w+)", script.read_text(encoding="utf-8"))[-2:] == ["lint", "test"]


def test_the_changelog_begins_with_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    first = re.search(r"^## (\S+)", text, re.MULTILINE)
    assert first is not None
    assert first[1] == PROJECT["project"]["version"]
