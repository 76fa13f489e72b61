"""`leerlauf.toml` as one frozen model; unknown keys are refused and nothing is guessed.

What the words mean is in the README. All mistakes of a file are reported at once, each with
file, key, expected, got and what to do next (see `pipelines.mistakes`). Locations and the lake
are relative to the folder of the file.
"""

import glob
import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StrictInt,
    ValidationError,
)

from pipelines import mistakes
from pipelines.decisions import (
    AllocationRule,
    Headroom,
    NodePool,
    Nodes,
    Operator,
    System,
    TeamRule,
)
from pipelines.errors import ConfigurationError
from pipelines.sources import Source, is_remote
from pipelines.values import Name, Table, at_least_one, one_or_many

FILE = "leerlauf.toml"
SYSTEM_NAMESPACES = (
    "kube-system",
    "kube-public",
    "kube-node-lease",
    "amazon-cloudwatch",
    "amazon-guardduty",
    "app-routing-system",
    "calico-system",
    "gatekeeper-system",
    "gke-gmp-system",
    "gke-managed-*",
    "gmp-public",
    "gmp-system",
    "tigera-operator",
)
"""Namespaces that keep a cluster running; used while the file has no [[system]]."""


# ---------------------------------------------------------------------------------------------
# Tables
# ---------------------------------------------------------------------------------------------


class LakeTable(Table):
    """Where the tables are written, and the labels kept beside those that team rules name."""

    path: Path = Path("lake")
    labels: Annotated[tuple[Name, ...], BeforeValidator(one_or_many)] = ()


class Report(Table):
    """Which cost is counted, and how reports count years and write numbers."""

    cost_view: Literal["effective", "billed"] = "effective"
    charge_basis: Literal["provider", "request"] = "provider"
    fiscal_year_start: Annotated[StrictInt, Field(ge=1, le=12)] = 1
    locale: Literal["en", "de"] = "en"


class Config(Table):
    """The whole file. Keys of the file are singular, attributes are plural."""

    lake: LakeTable = LakeTable()
    report: Report = Report()
    sources: Annotated[tuple[Source, ...], AfterValidator(at_least_one), Field(alias="source")]
    team_rules: Annotated[tuple[TeamRule, ...], Field(alias="team_rule")] = ()
    operators: Annotated[tuple[Operator, ...], Field(alias="operator")] = ()
    system: tuple[System, ...] = (System(namespace=SYSTEM_NAMESPACES),)
    headroom: tuple[Headroom, ...] = ()
    nodes: tuple[Nodes, ...] = ()
    node_pools: Annotated[tuple[NodePool, ...], Field(alias="node_pool")] = ()
    allocation_rules: Annotated[tuple[AllocationRule, ...], Field(alias="allocation_rule")] = ()


# ---------------------------------------------------------------------------------------------
# Reading and writing
# ---------------------------------------------------------------------------------------------


def load(path: Path) -> Config:
    """Read the file at `path`; the lake and the locations become absolute.

    Raises ConfigurationError with every mistake of the file.
    """
    return _beside(from_document(_read(path), file=str(path)), path.absolute().parent)


def lake_path(path: Path, *, needed: bool) -> Path:
    """Return the lake that the file at `path` names; only that key is read.

    Without such a file it is ./lake, unless the file is needed.
    """
    if not needed and not path.exists():
        return Path("lake")
    table = _read(path).get("lake", {})
    named = table.get("path", "lake") if isinstance(table, dict) else "lake"
    return _absolute(str(named), path.absolute().parent)


def from_document(document: dict[str, Any], *, file: str = FILE) -> Config:
    """Return the configuration in `document`: a parsed file, or what `to_document` returned."""
    problems = mistakes.counted_twice(document, file)
    try:
        config = Config.model_validate(document)
    except ValidationError as error:
        problems = mistakes.translate(error, Config, file) + problems
    mistakes.raise_all(file, problems)
    return config


def to_document(config: Config) -> dict[str, Any]:
    """Return the configuration as JSON can hold it, with every default filled in."""
    return config.model_dump(mode="json", by_alias=True)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigurationError(
            "no configuration",
            where=str(path),
            expected="a leerlauf.toml",
            got="no such file",
            hint="Name yours with --config, or let `leerlauf init FOLDER` write one.",
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            "not valid TOML", where=str(path), expected="TOML in UTF-8", got=str(error)
        ) from None


def _beside(config: Config, folder: Path) -> Config:
    """Return the configuration with every path taken from `folder`."""
    return config.model_copy(
        update={
            "sources": tuple(_source_beside(source, folder) for source in config.sources),
            "lake": config.lake.model_copy(update={"path": _absolute(config.lake.path, folder)}),
            "nodes": tuple(
                nodes.model_copy(
                    update={"path": tuple(_pattern_beside(path, folder) for path in nodes.path)}
                )
                for nodes in config.nodes
            ),
            "allocation_rules": tuple(
                rule.model_copy(update={"metric_file": _absolute(rule.metric_file, folder)})
                if rule.metric_file is not None
                else rule
                for rule in config.allocation_rules
            ),
        }
    )


def _source_beside(source: Source, folder: Path) -> Source:
    places = {name: getattr(source, name) for name in ("location", "split_location")}
    return source.model_copy(
        update={
            name: str(_absolute(place, folder))
            for name, place in places.items()
            if place is not None and not is_remote(place)
        }
    )


def _pattern_beside(pattern: str, folder: Path) -> str:
    """Return a pattern from the root on; of `folder`, no sign is one of a pattern."""
    return str(_absolute(pattern, Path(glob.escape(str(folder)))))


def _absolute(path: str | Path, folder: Path) -> Path:
    return Path(os.path.normpath(folder / Path(path).expanduser()))
