"""The answers of `leerlauf check`."""

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "warning", "error"]
OK, AN_ERROR = 0, 1


@dataclass(frozen=True)
class Checked:
    """One answer; `exit_code` is what the command ends with where no other is worse."""

    check: str
    status: Status
    actual: str
    expected: str | None = None
    hint: str | None = None
    provider: str | None = None
    source: str | None = None
    billing_currency: str | None = None
    cluster_id: str | None = None
    exit_code: int = OK


@dataclass(frozen=True)
class Examination:
    """What was checked, for which month."""

    billing_period: str
    rows: tuple[Checked, ...]

    @property
    def exit_code(self) -> int:
        """0 where nothing is wrong; the worst answer decides."""
        return max((row.exit_code for row in self.rows), default=OK)
