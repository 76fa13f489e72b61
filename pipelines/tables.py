"""Tables to files: the same rows give the same bytes, whatever the number of threads.

Every table is written in a total order and in row groups of a fixed size.
"""

import csv
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from transforms.schema import TABLES

ROW_GROUP = 122_880
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_parquet(con: duckdb.DuckDBPyConnection, table: str, rows_of: str, path: Path) -> int:
    """Write `rows_of` (a relation of `con`) as `table`; return the number of rows."""
    reader = _ordered(con, table, rows_of)
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = 0
    with pq.ParquetWriter(path, reader.schema, compression="zstd") as writer:
        for group in _row_groups(reader):
            writer.write_table(group, row_group_size=ROW_GROUP)
            rows += group.num_rows
    return rows


def write_csv(con: duckdb.DuckDBPyConnection, table: str, rows_of: str, path: Path) -> int:
    """Write the same as CSV. Text that a spreadsheet would run as a formula gets a quote before."""
    reader = _ordered(con, table, rows_of)
    rows = 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(reader.schema.names)
        for batch in reader:
            columns = [column.to_pylist() for column in batch.columns]
            rows_of_batch = zip(*columns, strict=True)
            writer.writerows([csv_cell(value) for value in row] for row in rows_of_batch)
            rows += batch.num_rows
    return rows


def _ordered(con: duckdb.DuckDBPyConnection, table: str, rows_of: str) -> pa.RecordBatchReader:
    columns = ", ".join(f'"{name}"' for name in TABLES[table])
    return con.execute(f"SELECT {columns} FROM {rows_of} ORDER BY ALL").to_arrow_reader(ROW_GROUP)


def _row_groups(reader: pa.RecordBatchReader) -> Iterator[pa.Table]:
    """Gather batches, whose size depends on the engine, into groups of a fixed size."""
    waiting = reader.schema.empty_table()
    for batch in reader:
        waiting = pa.concat_tables([waiting, pa.Table.from_batches([batch])])
        while waiting.num_rows >= ROW_GROUP:
            yield waiting.slice(0, ROW_GROUP)
            waiting = waiting.slice(ROW_GROUP)
    if waiting.num_rows:
        yield waiting


def csv_cell(value: object) -> object:
    """Return a value as CSV holds it: decimals written out, formulas made text."""
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value
