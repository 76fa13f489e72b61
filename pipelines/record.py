"""The record of one run: what went in, what came out, by which rules and versions.

Clock times, run ids and machine facts live here and nowhere else, so that the tables of two
runs over the same input are the same bytes.
"""

import json
import re
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from pipelines.errors import LakeError
from transforms.schema import SCHEMA_VERSION

_MOMENT = "%Y%m%dT%H%M%S%fZ"
_RUN = re.compile(r"(\d{8}T\d{12}Z)-[0-9a-f]{6}")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class InputFile(_Part):
    """One raw file; `size` is in bytes."""

    name: str
    size: int
    sha256: str


class Input(_Part):
    """The delivery one source was read from."""

    source: str
    provider: str
    dataset: str
    delivery: str
    provider_run_id: str | None
    files: tuple[InputFile, ...]


class Total(_Part):
    """The bill of one provider, exact."""

    provider: str
    billing_currency: str
    cost_view: str
    amount: str


class TableFile(_Part):
    """One file of a table; `path` is relative to the lake."""

    path: str
    rows: int
    sha256: str


class RunRecord(_Part):
    """One run. `tables` names every file it wrote, `timings` are seconds for each stage.

    side_files: inventories and metric files, read where they lie and not copied; last_run: the
    run of the month before that findings compared with. Records of older versions name neither.
    """

    run: str
    billing_period: str
    status: Literal["ok", "findings", "failed"]
    month_status: str
    published: bool
    started_at: AwareDatetime
    finished_at: AwareDatetime
    version: str
    schema_version: int
    lock_hash: str | None
    configuration: dict[str, Any]
    inputs: tuple[Input, ...]
    side_files: tuple[InputFile, ...] = ()
    last_run: str | None = None
    counts: dict[str, int]
    totals: tuple[Total, ...]
    timings: dict[str, float]
    tables: dict[str, tuple[TableFile, ...]]

    def file_names(self) -> list[str]:
        """Return the paths of all files of the run, relative to the lake, sorted."""
        return sorted(file.path for files in self.tables.values() for file in files)


def new_run_id(runs: Iterable[str], now: datetime | None = None) -> str:
    """Return a run id that is unique and sorts after `runs`, also where the clock went back."""
    earlier = [_RUN.fullmatch(run) for run in runs]
    last = max((found[1] for found in earlier if found), default="")
    moment = (now or datetime.now(UTC)).strftime(_MOMENT)
    if moment <= last:
        after = datetime.strptime(last, _MOMENT).replace(tzinfo=UTC) + timedelta(microseconds=1)
        moment = after.strftime(_MOMENT)
    return f"{moment}-{secrets.token_hex(3)}"


def read_record(path: Path) -> RunRecord:
    """Return a run record. Raise `LakeError` where it is damaged or of a newer schema."""
    try:
        document = json.loads(path.read_bytes())
        newer = document["schema_version"] > SCHEMA_VERSION
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(path, str(error)) from error
    if newer:
        raise LakeError(
            "the lake was written by a newer version of leerlauf",
            where=str(path),
            expected=f"schema version {SCHEMA_VERSION} or lower",
            got=str(document["schema_version"]),
            hint="install the version that wrote it, or use another lake",
        )
    try:
        return RunRecord.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise _damaged(path, str(error.errors()[0]["msg"])) from error


def is_run_id(name: str) -> bool:
    """Tell whether `name` is the id of a run."""
    return _RUN.fullmatch(name) is not None


def _damaged(path: Path, got: str) -> LakeError:
    return LakeError(
        "the record of a run cannot be read",
        where=str(path),
        expected="a run record in JSON",
        got=got,
        hint="restore the file from a backup, or remove it and run the month again",
    )
