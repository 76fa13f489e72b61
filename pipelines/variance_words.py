"""Why a team's figure moved, in one plain sentence: how much, and the largest part's reason."""

from collections.abc import Callable
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction

from pipelines.rule_words import OF_TEAMS, became, listed
from pipelines.show_clusters import USUAL_PLACES
from pipelines.two_months import Variance
from pipelines.variance_figures import Line, Statement, key_of, money

UNITS = {"cpu": "a vCPU-hour", "memory": "a GiB-hour", "gpu": "a GPU-hour"}
KINDS = {
    "headroom": "headroom",
    "system_overhead": "system overhead",
    "cluster_fee": "the cluster fee",
    "shared": "shared cost",
    "unattributed": "unattributed cost",
}
BY_METHOD = {
    "proportional": ("other teams requested less", "other teams requested more"),
    "even": ("fewer teams share the idle", "more teams share the idle"),
    "metric": ("its part of the metric grew", "its part of the metric shrank"),
}
"""Why others move a team's part of idle up or down, where nobody came or went."""
OTHERWISE = ("it bears a larger part of the idle", "it bears a smaller part of the idle")


def rounded_change(variance: Variance, line: Line) -> Decimal:
    """Return how much a line moved, as its statements were rounded."""
    was, now = (month.get(line, Statement()).rounded for month in variance.statements)
    return now - was


def rounded_parts(variance: Variance, line: Line) -> dict[str, Decimal]:
    """Return the parts of a line, rounded so that they add up to its rounded change.

    Every part is rounded down, then units go to the biggest remainders until the sum is right.
    """
    parts = {part: money(whole) for part, whole in variance.moves[line].parts.items()}
    unit = Decimal(1).scaleb(-places(variance, line))
    shown = {part: amount.quantize(unit, ROUND_FLOOR) for part, amount in parts.items()}
    missing = int((rounded_change(variance, line) - sum(shown.values())) / unit)
    by_remainder = sorted(shown, key=lambda part: shown[part] - parts[part])
    for turn in range(abs(missing)):
        order = by_remainder if missing > 0 else by_remainder[::-1]
        shown[order[turn % len(order)]] += unit if missing > 0 else -unit
    return shown


def places(variance: Variance, line: Line) -> int:
    """Return the decimal places of a line's currency."""
    return variance.places.get(line.place.billing_currency, USUAL_PLACES)


def sentence(variance: Variance, line: Line) -> str:
    """Return why a line moved."""
    told = _Teller(variance, line).tell()
    reason = variance.unknown.get(key_of(line))
    return f"{told}; what changed rules moved is not known: {reason}" if reason else told


class _Teller:
    """Tells of one line; `way` is 1 for a part that adds to it, -1 for one that takes from it."""

    def __init__(self, variance: Variance, line: Line) -> None:
        self.line, self.move = line, variance.moves[line]
        self.change = rounded_change(variance, line)
        self.parts = rounded_parts(variance, line)
        self.digits = places(variance, line)
        self.cluster = variance.clusters[key_of(line)].label
        self.changes = variance.changes.get(key_of(line), ())

    def tell(self) -> str:
        """Return the largest part that goes the way of the change, or the two that fight it out."""
        way = -1 if self.change < 0 else 1
        first, second, *_, last = sorted(self.parts, key=lambda part: -way * self.parts[part])
        told = f"{self.change:+,.{self.digits}f} {self.line.place.billing_currency}"
        if not any(self.parts.values()):
            return told
        if abs(self.parts[first]) > abs(self.change):
            return f"{told}: {self._against(first)}, {self._against(last)}"
        if self.parts[first] == self.change:
            return f"{told}, because {self._why(first)}"
        told = f"{told}, of which {self._with(first)}"
        little = 2 * abs(self.parts[first]) < abs(self.change)
        return f"{told} and {self._with(second)}" if little and self.parts[second] else told

    def _against(self, part: str) -> str:
        return f"{self.parts[part]:+,.{self.digits}f} because {self._why(part)}"

    def _with(self, part: str) -> str:
        return f"{self._plain(self.parts[part])} because {self._why(part)}"

    def _why(self, part: str) -> str:
        exact = self.move.parts[part]
        return REASONS[part](self, 1 if exact > 0 else -1) if exact else "of rounding"

    def _moved(self, amount: Decimal) -> str:
        return f"{self._plain(amount)} {'higher' if amount > 0 else 'lower'}"

    def _plain(self, amount: Decimal) -> str:
        return f"{abs(amount):,.{self.digits}f}"

    # ------------------------------------------------------------------------- the parts

    def own_requests(self, way: int) -> str:
        """Return how much more or less capacity the workload took."""
        around, work = self.move.around, self.move.workload
        if self.line.team in around.joined:
            return f"it came to cluster {self.cluster}"
        if self.line.team in around.left:
            return f"it left cluster {self.cluster}"
        if work.before > 0 and work.own * way > 0:
            return f"its workload took {percent(Fraction(work.own, work.before))}"
        whose = "its workload" if work.own else "workload without a team"
        return f"{whose} took {'more' if way > 0 else 'less'}"

    def unit_price(self, way: int) -> str:
        """Return which unit costs more or less, the one that moved the line most."""
        around = self.move.around
        uses = self.move.workload.prices.items()
        found = [
            *((cost, rise, use.resource_kind) for use, (cost, rise) in uses),
            *(
                (Fraction(self.move.idle[kind].price), rise, kind)
                for kind, (_, rise) in around.prices.items()
            ),
        ]
        _, rise, kind = max(found, key=lambda one: way * one[0])
        return f"{UNITS.get(kind, f'a unit of {kind}')} costs {percent(rise)}"

    def idle_volume(self, way: int) -> str:
        """Return how much more or less the cluster stood idle."""
        volume = money(round(self.move.around.volume))
        return f"the cluster stood idle for {self._plain(volume)} {'more' if way > 0 else 'less'}"

    def others(self, way: int) -> str:
        """Return who left or joined, where that is most of it; else what others did."""
        weights = self.move.weights
        went, all_of_it = (
            (self.move.around.left, weights.others - weights.new_others)
            if way > 0
            else (self.move.around.joined, weights.new_others - weights.others)
        )
        names = [team for team in went if team != self.line.team]
        if names and 2 * sum(went[team] for team in names) >= all_of_it:
            teams = "team" if len(names) == 1 else "teams"
            return (
                f"{teams} {listed(names)} {'left' if way > 0 else 'joined'} cluster {self.cluster}"
            )
        more, less = BY_METHOD.get(self.move.around.terms.idle_method, OTHERWISE)
        return more if way > 0 else less

    def headroom_and_overhead(self, way: int) -> str:
        """Return which other kind moved most, and what the rest of them add to it."""
        kinds = self.move.kinds
        kind = max(kinds, key=lambda kind: way * kinds[kind])
        told = f"its part of {KINDS[kind]} is {self._moved(money(kinds[kind]))}"
        shown = round(money(kinds[kind]), self.digits)
        beside = self.parts["headroom_and_overhead"] - shown
        others = any(amount for other, amount in kinds.items() if other != kind)
        return f"{told} (of other kinds {self._moved(beside)})" if others and beside else told

    def rule_change(self, _way: int) -> str:
        """Return which rules changed: those about teams where workload moved by them."""
        moved = {kind: abs(amount) for kind, amount in self.move.by_rules.items() if amount}
        kinds = [OF_TEAMS] if "workload" in moved else sorted(moved, key=lambda kind: -moved[kind])
        told = [one for kind in kinds for one in self.changes if one.kind == kind] or self.changes
        words = dict.fromkeys(became(one.kind, one.before, one.after) for one in told)
        return listed(words) if words else "rules changed"

    def corrections(self, way: int) -> str:
        """Return that earlier months were corrected."""
        return f"corrections of earlier charges are {'higher' if way > 0 else 'lower'}"


REASONS: dict[str, Callable[[_Teller, int], str]] = {
    "own_requests": _Teller.own_requests,
    "unit_price": _Teller.unit_price,
    "idle_volume": _Teller.idle_volume,
    "others": _Teller.others,
    "headroom_and_overhead": _Teller.headroom_and_overhead,
    "rule_change": _Teller.rule_change,
    "corrections": _Teller.corrections,
}
"""What to say of each part."""


def percent(rise: Fraction) -> str:
    """Return a ratio - 1 in words."""
    size = abs(100 * rise)
    words = f"{float(size):,.1f} %" if size >= Fraction(1, 20) else "less than 0.1 %"
    return f"{words} {'more' if rise > 0 else 'less'}"
