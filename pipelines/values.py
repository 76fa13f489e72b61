"""The kinds of value that leerlauf.toml holds, and what each refuses."""

import re
from datetime import date, datetime
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ValidationInfo,
    field_validator,
)

from pipelines import mistakes
from pipelines.mistakes import mistake

ID = re.compile(r"[a-z][a-z0-9-]*")


def one_or_many(value: Any) -> Any:
    """Let a single word stand for a list of one."""
    return [value] if isinstance(value, str) else value


def _glob(value: str) -> str:
    """Refuse patterns that Python and SQL would read differently."""
    if value == "" or "\\" in value or re.search(r"\[[^\]]*$", value):
        raise mistake("a name or a pattern of *, ? and [..]", repr(value))
    return value


def _id(value: str) -> str:
    if not ID.fullmatch(value):
        raise mistake("small letters, digits and '-', a letter first", repr(value))
    return value


def _day(value: Any) -> Any:
    """Accept a TOML date or its text; a time of day would have no meaning."""
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            raise mistake("a date YYYY-MM-DD", repr(value)) from None
    if isinstance(value, datetime) or not isinstance(value, date | None):
        raise mistake("a date YYYY-MM-DD", mistakes.shown(value))
    return value


def at_least_one(value: tuple[Any, ...]) -> tuple[Any, ...]:
    """Refuse an empty list; pydantic's own minimum would also count what it refused."""
    if not value:
        raise mistake("at least one", "an empty list")
    return value


def _name(value: str) -> str:
    if not value.strip():
        raise mistake("a name", repr(value))
    return value


Name = Annotated[str, AfterValidator(_name)]
Id = Annotated[str, AfterValidator(_id)]
Day = Annotated[date | None, BeforeValidator(_day)]
Names = Annotated[tuple[Name, ...], BeforeValidator(one_or_many), AfterValidator(at_least_one)]
Globs = Annotated[
    tuple[Annotated[str, AfterValidator(_glob)], ...],
    BeforeValidator(one_or_many),
    AfterValidator(at_least_one),
]


class Table(BaseModel):
    """A table of the file: frozen, and closed to keys it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Dated(Table):
    """A table that holds from `valid_from` until the day before `valid_to`."""

    valid_from: Day = None
    valid_to: Day = None

    @field_validator("valid_to")
    @classmethod
    def _after_valid_from(cls, value: date | None, info: ValidationInfo) -> date | None:
        start = info.data.get("valid_from")
        if value and start and value < start:
            raise mistake(f"a day after valid_from ({start})", str(value))
        return value
