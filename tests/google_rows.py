"""The rows of the fixture gcp-shop as a table of BigQuery."""

import io
import json
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fixtures import make

NAME = "gcp_billing_export_resource_v1_01A2B3_C4D5E6_F7A8B9"
_NAMES = {"string": "STRING", "double": "FLOAT", "bool": "BOOLEAN", "int64": "INTEGER"}


def shop() -> pa.Table:
    """All rows of gcp-shop, of whatever invoice month."""
    files = sorted((make.EXPORTS / "gcp-shop").glob("*.parquet"))
    return pa.concat_tables([pq.read_table(path) for path in files])


def of_month(rows: pa.Table, month: str = "202610") -> list[dict[str, Any]]:
    """The rows of one invoice month, as plain values."""
    return [row for row in rows.to_pylist() if row["invoice"]["month"] == month]


def fields(schema: Iterable[pa.Field]) -> list[dict[str, Any]]:
    """An Arrow schema as BigQuery tells it."""
    return [_field(field) for field in schema]


def _field(field: pa.Field) -> dict[str, Any]:
    kind, mode = field.type, "NULLABLE"
    if pa.types.is_list(kind):
        kind, mode = kind.value_type, "REPEATED"
    told: dict[str, Any] = {"name": field.name, "mode": mode}
    if pa.types.is_struct(kind):
        return told | {"type": "RECORD", "fields": fields(kind)}
    if pa.types.is_timestamp(kind):
        return told | {"type": "TIMESTAMP"}
    return told | {"type": "NUMERIC" if pa.types.is_decimal(kind) else _NAMES[str(kind)]}


def load(
    client: Any,
    table: str,
    rows: pa.Table,
    *,
    partitioned: str | None = "",
    without: Sequence[str] = (),
) -> None:
    """Make a table and load rows into it.

    partitioned: the column it is partitioned by, "" by the time of loading, None not at all.
    """
    from google.cloud import bigquery

    kept = rows.drop_columns(list(without))
    schema = [bigquery.SchemaField.from_api_repr(it) for it in fields(kept.schema)]
    made = bigquery.Table(table, schema=schema)
    if partitioned is not None:
        made.time_partitioning = bigquery.TimePartitioning(field=partitioned or None)
    client.create_dataset(made.dataset_id, exists_ok=True)
    client.create_table(made)
    append(client, table, kept)


def append(client: Any, table: str, rows: pa.Table) -> None:
    """Load more rows into a table."""
    from google.cloud import bigquery

    lines = "\n".join(json.dumps(_plain(row)) for row in rows.to_pylist())
    schema = [bigquery.SchemaField.from_api_repr(it) for it in fields(rows.schema)]
    config = bigquery.LoadJobConfig(source_format="NEWLINE_DELIMITED_JSON", schema=schema)
    client.load_table_from_file(io.BytesIO(lines.encode()), table, job_config=config).result()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items() if part is not None}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S.%f UTC")
    return str(value) if isinstance(value, Decimal) else value


def killed_after(batches: int) -> Callable[..., None]:
    """Return a progress that is a kill when so many batches of rows are written."""
    left = iter(range(batches - 1))

    def progress(*_: object) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt

    return progress
