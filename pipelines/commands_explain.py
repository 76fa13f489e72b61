"""The command `explain`: find the team, then show what its figures are made of."""

from pathlib import Path

from pipelines import common, machine, show_explain, show_teams
from pipelines.explaining import Explained, explained, months_of, no_such_team


def explain(
    team: str, period: str, config: Path | None, lake: Path | None, *, as_json: bool
) -> None:
    """Explain a team's figures: pools, weights, rules, nodes and source files."""
    month = common.this_month(period)
    found = _explained(team, month, config, lake)
    common.answer(
        lambda: machine.explanation(month, found),
        lambda: show_explain.explanation(found),
        as_json=as_json,
    )


def _explained(team: str, month: str, config: Path | None, lake: Path | None) -> Explained:
    """Return what a team bears; it is named as it is, or as a statement shows it."""
    opened = common.open_lake(config, lake)
    con = opened.connect(opened.newest(month))
    names = dict.fromkeys((team, show_teams.name_of(team)))
    for name in names:
        found = explained(con, name)
        if found.postings:
            return found
    others = next(filter(None, (months_of(opened, name) for name in names)), [])
    raise no_such_team(con, team, month, others)
