"""The command `explain`: find the team, then show what its figures are made of."""

from pathlib import Path

from pipelines import common, machine, show_explain, show_teams
from pipelines.errors import ConfigurationError
from pipelines.explaining import Explained, explained


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
    try:
        return explained(con, team, month)
    except ConfigurationError:
        plain = show_teams.name_of(team)
        if plain == team:
            raise
        return explained(con, plain, month)
