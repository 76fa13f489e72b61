"""The bill, summed a second time straight from the raw files by SQL of its own.

Promise 1 compares this sum with what the transform saw, so that the check is no tautology.
"""

from collections.abc import Sequence

import duckdb

from pipelines.exports import open_relation, reading, scan
from pipelines.providers import Provider
from pipelines.slicing import RawFile
from transforms.schema import TABLES
from transforms.sliced import Context

_CREATE = """
    CREATE TABLE IF NOT EXISTS bill (
        billing_period VARCHAR, provider VARCHAR, source VARCHAR, class VARCHAR,
        service_name VARCHAR, billing_currency VARCHAR, cost_view VARCHAR, rows BIGINT,
        amount DECIMAL(38, 12)
    )
"""


def add_bill(
    con: duckdb.DuckDBPyConnection,
    provider: Provider,
    files: Sequence[RawFile],
    context: Context,
    *,
    net: bool,
) -> None:
    """Add the bill of one source to the table `bill` of `con`, one row a class and view."""
    con.execute(_CREATE)
    con.execute("CREATE OR REPLACE TEMP TABLE file_bills AS FROM bill LIMIT 0")
    for file in files:
        with reading(file.name):
            if scan(file.path) is not None:
                _add_file(con, provider, file, context, net=net)
    keys = ", ".join(f'"{name}"' for name in TABLES["bill"][:-2])
    con.execute(
        f"INSERT INTO bill SELECT {keys}, sum(rows)::BIGINT, sum(amount)::DECIMAL(38, 12) "
        "FROM file_bills GROUP BY ALL"
    )


def _add_file(
    con: duckdb.DuckDBPyConnection,
    provider: Provider,
    file: RawFile,
    context: Context,
    *,
    net: bool,
) -> None:
    relation = open_relation(con, file.path)
    columns = provider.transform.bill_columns(relation.columns)
    relation.project(
        ", ".join(f"{_quoted(raw)} AS {name}" for name, raw in columns.items())
    ).create_view("raw", replace=True)
    con.execute(
        "INSERT INTO file_bills SELECT $period, $provider, $source, bill.* "
        f"FROM ({provider.transform.bill_query()}) AS bill",
        {
            "period": context.billing_period,
            "net": net,
            "provider": context.provider,
            "source": context.source,
        },
    )


def _quoted(column: str | None) -> str:
    return "NULL" if column is None else '"' + column.replace('"', '""') + '"'
