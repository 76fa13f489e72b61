"""What all objects of `--json` are made of."""

from decimal import Context, Decimal
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

QUANTUM = Decimal("1e-12")
DIGITS = Context(prec=60)


def _exact(value: Any) -> Any:
    """Write a number out: Decimal would print 0E-12."""
    return (
        format(Decimal(value).quantize(QUANTUM, context=DIGITS), "f") if value is not None else None
    )


Amount = Annotated[str, BeforeValidator(_exact), Field(pattern=r"^-?[0-9]+\.[0-9]{12}$")]
Known = Amount | None
"""An amount that may be unknown."""


class Object(BaseModel):
    """A closed object."""

    model_config = ConfigDict(extra="forbid")


class Rows(Object):
    """What the objects of the other commands have in common."""

    billing_period: str | None
