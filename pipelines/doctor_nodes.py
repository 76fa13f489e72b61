"""What `leerlauf check` says of inventories: what they hold, and where they do not fit the bill."""

from collections.abc import Sequence

import polars as pl

from pipelines import figures, inventory
from pipelines.checked import Checked
from pipelines.config import Config
from pipelines.doctor_sources import of_findings, of_problem
from pipelines.errors import ConfigurationError
from transforms.errors import InputError
from transforms.inventory import nothing_known
from transforms.sliced import Sliced


def examine_nodes(
    config: Config, sliced: Sequence[Sliced], month: str
) -> tuple[list[Checked], pl.DataFrame]:
    """Return the answers about [[nodes]], and ALLOCATABLE of the month."""
    if not config.nodes:
        return [], nothing_known()
    try:
        read = inventory.read(config)
    except (ConfigurationError, InputError) as error:
        return [of_problem("nodes", error)], nothing_known()
    known = inventory.matched(read, sliced, month)
    return [_held(read, known.allocatable), *of_findings(known.findings)], known.allocatable


def _held(read: inventory.Inventories, allocatable: pl.DataFrame) -> Checked:
    found = allocatable.get_column("resource_id").n_unique()
    taken = read.rows.get_column("taken")
    dates = sorted({str(day) for day in (taken.min(), taken.max()) if day is not None})
    told = [
        figures.count(len(read.files), "file"),
        *([f"taken {' to '.join(dates)}"] if dates else []),
        f"{figures.count(found, 'node')} of the bill",
    ]
    return Checked(
        check="nodes",
        status="ok" if found else "warning",
        actual=", ".join(told),
        expected="what the nodes of the bill can allocate",
        hint=None if found else "take it from the clusters that are billed, with provider ids",
    )
