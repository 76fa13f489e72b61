"""What the commands share: opening a lake, running a month, telling about it.

Apart from `pipelines.cli`, so that `leerlauf --help` need not load any of it.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from shlex import quote

from pydantic import BaseModel
from rich.console import RenderableType

from pipelines import config as configuration
from pipelines import (
    demo,
    doctor,
    inspecting,
    machine,
    month,
    periods,
    reading,
    show,
    show_setup,
    starting,
)
from pipelines.asking import Answer, ask
from pipelines.config import Config
from pipelines.errors import ConfigurationError
from pipelines.fetching import fetch_all
from pipelines.lake import Lake
from pipelines.progress import watching
from pipelines.reading import Month

BALANCED, FINDINGS = 0, 1


def run(period: str, config: Path | None, lake: Path | None, *, as_json: bool) -> int:
    """Run a month, tell about it, and return the exit code."""
    period = this_month(period)
    page = partial(show.summary, at=at(config, lake))
    return _run(period, _load(config), lake, page, as_json=as_json)


def run_demo(config: Path | None, lake: Path | None, *, as_json: bool) -> int:
    """Run the bundled month in its own folder, tell about it, and return the exit code."""
    if config is not None:
        raise ConfigurationError(
            "demo brings its own configuration",
            where="--config",
            got=str(config),
            hint=f"leerlauf run {demo.MONTH} --config {config}",
        )
    file = demo.prepare(demo.FOLDER)
    page = partial(show.tour, file=file, lake=lake)
    return _run(demo.MONTH, configuration.load(file), lake, page, as_json=as_json)


def init(folder: Path, config: Path | None, lake: Path | None, *, as_json: bool) -> None:
    """Write a configuration for the exports in a folder, and tell what was found."""
    file = _file(config)
    if file.exists():
        raise starting.there_already(file)
    found = inspecting.inspect(folder)
    starting.write(found, file, lake)
    go_on = " ".join(part for part in ("leerlauf check", found.month, at(config)) if part)
    answer(
        lambda: machine.inspection(found, file, go_on),
        lambda: show_setup.inspection(found, file, go_on),
        as_json=as_json,
    )


def check(period: str | None, config: Path | None, lake: Path | None, *, as_json: bool) -> int:
    """Check a month, tell about it, and return the exit code."""
    read, now = _config(config, lake), datetime.now(UTC)
    period = this_month(period) if period else doctor.default_month(read.lake.path, now)
    with watching() as watch:
        watch.stage("check")
        checked = doctor.examine(read, period, now, copying=watch.copying)
    answer(
        lambda: machine.examination(checked),
        lambda: show_setup.examination(checked),
        as_json=as_json,
    )
    return checked.exit_code


def fetch(period: str, config: Path | None, lake: Path | None, *, as_json: bool) -> None:
    """Copy the newest delivery of each source into the lake, and tell what it took."""
    period, read, now = this_month(period), _config(config, lake), datetime.now(UTC)
    opened = Lake(read.lake.path)
    with opened.lock(), watching() as watch:
        found = fetch_all(read, period, opened, progress=watch.stage, copying=watch.copying)
    answer(
        lambda: machine.fetched(period, found, now),
        lambda: show_setup.fetched(period, found, now),
        as_json=as_json,
    )


def published(period: str, config: Path | None, lake: Path | None) -> Month:
    """Read a month that was run before."""
    opened = open_lake(config, lake)
    record = opened.newest(this_month(period))
    return reading.month(opened.connect(record), record)


def tell(
    whole: Month,
    to_json: Callable[[Month], BaseModel],
    to_page: Callable[[Month], RenderableType],
    *,
    as_json: bool,
) -> int:
    """Print a month for a machine or for people, and return the exit code."""
    answer(lambda: to_json(whole), lambda: to_page(whole), as_json=as_json)
    return BALANCED if whole.record.status == "ok" else FINDINGS


def answer(
    to_json: Callable[[], BaseModel], to_page: Callable[[], RenderableType], *, as_json: bool
) -> None:
    """Print for a machine or for people."""
    if as_json:
        machine.print_document(to_json().model_dump(mode="json"))
    else:
        show.console().print(to_page())


def asked(query: str, config: Path | None, lake: Path | None) -> Answer:
    """Ask the newest run of a lake."""
    opened = open_lake(config, lake)
    return ask(opened, opened.newest(), query)


def open_lake(config: Path | None, lake: Path | None) -> Lake:
    """Return the lake that is named, or configured, or ./lake."""
    file = _file(config)
    place = lake or configuration.lake_path(file, needed=config is not None)
    if not (place.exists() or file.exists()):
        raise ConfigurationError(
            "no lake here",
            where=str(place.absolute()),
            expected=f"the folder of a lake, or {file} that names one",
            got="neither",
            hint="Go to the folder of your leerlauf.toml, or name it with --config.",
        )
    return Lake(place.absolute())


def at(config: Path | None, lake: Path | None = None) -> str:
    """Return how the next command finds the same lake, as a person types it."""
    options = (("--config", config), ("--lake", lake))
    return " ".join(f"{name} {quote(str(path))}" for name, path in options if path)


def this_month(text: str) -> str:
    """Return a month that has begun; raises ConfigurationError for anything else."""
    return periods.parse(text, datetime.now(UTC).date())


def _run(
    period: str,
    config: Config,
    lake: Path | None,
    page: Callable[[Month], RenderableType],
    *,
    as_json: bool,
) -> int:
    config = _with_lake(config, lake)
    with watching() as watch:
        outcome = month.run(config, period, progress=watch.stage, copying=watch.copying)
    record, broken = outcome.record, [dict(finding) for finding in outcome.broken]
    if not record.published:
        answer(
            lambda: machine.unpublished(record, broken),
            lambda: show.failure(broken),
            as_json=as_json,
        )
        return FINDINGS
    whole = reading.month(Lake(config.lake.path).connect(record), record)
    return tell(whole, machine.result, page, as_json=as_json)


def _config(config: Path | None, lake: Path | None) -> Config:
    return _with_lake(_load(config), lake)


def _load(config: Path | None) -> Config:
    """Load the file that is named, or the one of this folder."""
    file = _file(config)
    try:
        return configuration.load(file)
    except ConfigurationError:
        if file.exists():
            raise
        raise starting.not_there(file) from None


def _with_lake(config: Config, lake: Path | None) -> Config:
    path = (lake or config.lake.path).absolute()
    return config.model_copy(update={"lake": config.lake.model_copy(update={"path": path})})


def _file(config: Path | None) -> Path:
    return config or Path(configuration.FILE)
