"""One bill in two sources: found by what is billed in both, refused before anything is summed."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import duckdb
import polars as pl

from pipelines import queries
from pipelines.errors import ConfigurationError, SeveralError
from pipelines.figures import count
from pipelines.reading import rows
from pipelines.sources import Source

HINT = "take one of the two out of the configuration, or let its export leave these accounts out"
EXPECTED = "each charge in one source"
SHOWN = 5
_KEYS = ("provider", "source", "sub_account_id", "resource_id")


def resource_days(slices: pl.LazyFrame) -> pl.LazyFrame:
    """Return how many rows each resource has on each day, as `sql/refuse` reads it."""
    billed = slices.filter(pl.col("resource_id").is_not_null())
    return billed.group_by(*_KEYS, charge_date="charge_period_start").agg(
        row_count=pl.len().cast(pl.Int64)
    )


def refuse(con: duckdb.DuckDBPyConnection, sources: Sequence[Source]) -> None:
    """Refuse a month of which `con` has the same charges in two of these sources.

    Raises ConfigurationError, or SeveralError for several pairs of sources.
    """
    if len(sources) == len({source.provider for source in sources}):
        return
    con.execute(
        f"CREATE OR REPLACE TEMP VIEW resource_days AS SELECT {', '.join(_KEYS)}, "
        "charge_period_start AS charge_date, count(*) AS row_count FROM normalised GROUP BY ALL"
    )
    problems = [
        ConfigurationError(
            "two sources hold the same bill: it would be counted twice",
            where=f"sources {one} and {other}",
            expected=EXPECTED,
            got=told,
            hint=HINT,
        )
        for _, one, other, told in find(con)
    ]
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise SeveralError(f"{len(problems)} pairs of sources hold the same bill", problems)


def find(con: duckdb.DuckDBPyConnection) -> Iterator[tuple[str, str, str, str]]:
    """Yield provider, one source, another, and what both hold, from `resource_days` of `con`."""
    found = rows(con, queries.read("refuse/overlaps"))
    pair = itemgetter("provider", "first_source", "second_source")
    for (provider, one, other), group in groupby(found, key=pair):
        accounts = list(group)
        told = [_told(account) for account in accounts[:SHOWN]]
        if len(accounts) > SHOWN:
            told.append(f"and {len(accounts) - SHOWN} more")
        yield provider, one, other, "; ".join(told)


def _told(row: Mapping[str, Any]) -> str:
    first, last = row["first_day"], row["last_day"]
    days = f"{first}" if first == last else f"{first} to {last}"
    shared = count(row["shared"], "resource-day")
    account = row["sub_account_id"] or "unknown"
    return f"sub account {account}: {shared} in both, {count(row['row_count'], 'row')}, {days}"
