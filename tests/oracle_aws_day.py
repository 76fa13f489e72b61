"""One AWS instance on one day: its rows, what they cost, and how large and long it was."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tests.oracle_aws_charges import AwsSlice, slice_of
from tests.oracle_aws_files import Row
from tests.oracle_aws_source import Source, start
from tests.oracle_slices import ZERO, rounded

SIZES = {"vcpu": "cpu", "memory": "memory", "gpu": "gpu"}


@dataclass(frozen=True)
class Day:
    """One instance and day: its rows, their sum, and what every slice says of the node."""

    source: Source
    parents: Sequence[Row]
    pods: Sequence[Row]
    where: dict[str, object]
    is_last: bool
    """Whether the instance left on this day."""

    @property
    def cost(self) -> Fraction:
        """What the parents cost."""
        return sum((self.source.effective(row) for row in self.parents), ZERO)

    @property
    def hours(self) -> Fraction:
        """Billed hours."""
        return hours_of(self.parents)

    @property
    def empty_hours(self) -> Fraction:
        """Billed hours without any split row: counted, never matched by time."""
        if self.source.is_daily:
            return ZERO
        return max(self.hours - len({start(row) for row in self.pods}), ZERO)

    @property
    def size(self) -> Mapping[str, Fraction]:
        """Billed size in cores, GiB and GPUs, as far as the parents tell it."""
        found: dict[str, Fraction] = {}
        for row in self.parents:
            for name, kind in SIZES.items():
                if text := row["product"].get(name):
                    size = Fraction(text.split()[0].replace(",", ""))
                    found[kind] = max(size, found.get(kind, ZERO))
        return found

    def slice(self, *kind: str | None, **more: object) -> AwsSlice:
        """Return a slice of the node without any invoice amount."""
        row_kind, reason, resource = kind
        named = (str(row_kind), reason, str(resource))
        return slice_of(self.source, self.parents[0], named, **self.where, billed=ZERO, **more)


def hours_of(parents: Iterable[Row]) -> Fraction:
    """Return the billed hours of an instance's rows."""
    return sum((rounded(row["line_item_usage_amount"]) for row in parents), ZERO)
