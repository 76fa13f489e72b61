"""Kill a process at every step it takes on the disk, each time in a copy of the same lake.

`python -m tests.killed LAKE COPIES [PREPARED]` leaves COPIES/000, COPIES/001, ...: in copy n the
process was killed with SIGKILL just before its n-th step; in the last copy it came to its end.
The process takes the lock of the lake and, if given, publishes the run in the folder PREPARED:
`record.json` and `tables/`.
"""

import os
import shutil
import signal
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from pipelines.lake import Lake, RunRecord

STEPS = ("link", "mkdir", "remove", "rename", "replace", "rmdir", "unlink", "fsync", "utime")


def act(lake: Lake, prepared: Path | None) -> None:
    """Do what a run does, without computing anything."""
    with lake.lock():
        if prepared is not None:
            record = RunRecord.model_validate_json((prepared / "record.json").read_bytes())
            staged = lake.stage(record.run)
            shutil.copytree(prepared / "tables", staged, dirs_exist_ok=True)
            lake.publish(record, staged)


def kill_before(step: int) -> None:
    """Let this process kill itself just before its step number `step`."""
    taken = count()

    def killing(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **options: Any) -> Any:
            if next(taken) == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **options)

        return wrapped

    for name in STEPS:
        setattr(os, name, killing(getattr(os, name)))


def main(lake: Path, copies: Path, prepared: Path | None = None) -> None:
    """Take one step more in each copy, until nothing is left to be killed."""
    for step in count():
        copy = copies / f"{step:03d}"
        shutil.copytree(lake, copy, copy_function=os.link)  # two names of a file stay one file
        child = os.fork()
        if child == 0:
            kill_before(step)
            act(Lake(copy), prepared)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
