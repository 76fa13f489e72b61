"""What is going on, on a terminal's stderr: the stage, and the files that are being copied."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

from rich.console import Group
from rich.live import Live
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn
from rich.progress import TransferSpeedColumn as SpeedColumn
from rich.spinner import Spinner
from rich.text import Text

from connectors.base import Progress as Copying
from connectors.base import silent
from pipelines.figures import clean
from pipelines.show import console

Stage = Callable[[str], None]


@dataclass(frozen=True)
class Watch:
    """Who is told of the stage, and of the bytes of each file."""

    stage: Stage = lambda _: None
    copying: Copying = silent


@contextmanager
def watching() -> Iterator[Watch]:
    """Show the stage and the files on a terminal; elsewhere say nothing."""
    if not sys.stderr.isatty():
        yield Watch()
        return
    shown = _Shown()
    with shown.live:
        yield Watch(shown.stage, shown.copying)


class _Shown:
    """A line for the stage and a bar for each file that is not whole yet."""

    def __init__(self) -> None:
        self._spinner = Spinner("dots")
        name = TextColumn("{task.description}", markup=False)
        self._bars = Progress(name, BarColumn(), DownloadColumn(), SpeedColumn())
        self._tasks: dict[str, TaskID] = {}
        self._lock = Lock()
        self.page = Group(self._spinner, self._bars)
        self.live = Live(self.page, console=console(stderr=True), transient=True)

    def stage(self, name: str) -> None:
        """Say what is done now; what was copied before is done with."""
        with self._lock:
            self._spinner.update(text=Text(clean(name)))
            while self._tasks:
                self._bars.remove_task(self._tasks.popitem()[1])
        self.live.refresh()  # a stage may be over before the next drawing

    def copying(self, name: str, done: int, size: int) -> None:
        """Say how much of a file is there."""
        with self._lock:
            if done < size:
                if name not in self._tasks:
                    self._tasks[name] = self._bars.add_task(clean(name), total=size)
                self._bars.update(self._tasks[name], completed=done, total=size)
            elif name in self._tasks:
                self._bars.remove_task(self._tasks.pop(name))
