"""What `rules` and `variance` print with `--json`: their objects, filled."""

from collections.abc import Iterable, Iterator

from pipelines.calendar_of_rules import Entry
from pipelines.objects_rules import Part, Restated, Rule, Rules, Variance
from pipelines.two_months import Variance as Compared
from pipelines.variance_figures import Line, money
from pipelines.variance_words import sentence


def rules(entries: Iterable[Entry]) -> Rules:
    """Return the calendar."""
    names = [name for name in Rule.model_fields if name in Entry._fields]
    rows = [
        Rule(provider=None, billing_currency=None, **{name: getattr(one, name) for name in names})
        for one in entries
    ]
    return Rules(billing_period=None, rows=rows)


def variance(compared: Compared) -> Variance:
    """Return the parts of every line, and both months under both rules."""
    return Variance(
        billing_period=compared.months[1],
        rows=list(_parts(compared)),
        restated=[
            Restated(
                **_of(one.line),
                month=one.month,
                total=one.total,
                total_under_other_rules=one.other,
                reason=one.reason,
            )
            for one in compared.totals
        ],
    )


def _parts(compared: Compared) -> Iterator[Part]:
    for line, move in compared.moves.items():
        told = sentence(compared, line)
        for part, whole in move.parts.items():
            yield Part(**_of(line), part=part, amount=money(whole), sentence=told)


def _of(line: Line) -> dict[str, str | None]:
    return {**line.place._asdict(), "team": line.team}
