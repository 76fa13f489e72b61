"""The bill, summed a second time straight from the raw files by SQL of its own.

Promise 1 compares this sum with what the transform saw, so that the check is no tautology.
"""

from collections.abc import Mapping, Sequence

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
    values: Mapping[str, object],
) -> None:
    """Add the bill of one source to the table `bill` of `con`, one row a class and view.

    values: what the query must know beside the billing period, by parameter name.
    """
    con.execute(_CREATE)
    con.execute("CREATE OR REPLACE TEMP TABLE file_bills AS FROM bill LIMIT 0")
    for file in files:
        with reading(file.name):
            if scan(file.path) is not None:
                _add_file(con, provider, file, context, values)
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
    values: Mapping[str, object],
) -> None:
    relation = open_relation(con, file.path)
    types = {name: str(kind) for name, kind in zip(relation.columns, relation.types, strict=True)}
    columns = provider.transform.bill_columns(types)
    relation.project(
        ", ".join(f"{expression} AS {name}" for name, expression in columns.items())
    ).create_view("raw", replace=True)
    con.execute(
        "INSERT INTO file_bills SELECT $period, $provider, $source, bill.* "
        f"FROM ({provider.bill_query}) AS bill",
        {
            "period": context.billing_period,
            **values,
            "provider": context.provider,
            "source": context.source,
        },
    )
