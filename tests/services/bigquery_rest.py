"""BigQuery's REST API for what the emulator does not do: dry runs, the cap, pages, refusals.

The SQL really runs: sqlglot writes it for DuckDB. Only what google-cloud-bigquery asks is here.
"""

import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import sqlglot

from tests.services.google import Google, problem
from tests.services.web import Answer, Request, serving

PROJECT = "billing-project"
DATASET = "billing"
TABLE = "gcp_billing_export_resource_v1_0123AB_456789_CDEF01"
LOCATION = f"{PROJECT}.{DATASET}.{TABLE}"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BYTES = 50_000_000_000
PRUNED_BYTES = 2_000_000_000
"""What a query reads of a table, and what it reads where its partitions are filtered."""

_PATH = re.compile(r"/bigquery/v2/projects/([^/]+)/(\w+)(?:/([^/]+))?(?:/tables/([^/]+))?")
_TYPES = (
    (pa.types.is_boolean, "BOOLEAN"),
    (pa.types.is_integer, "INTEGER"),
    (pa.types.is_floating, "FLOAT"),
    (pa.types.is_decimal, "NUMERIC"),
    (pa.types.is_timestamp, "TIMESTAMP"),
    (pa.types.is_date, "DATE"),
    (pa.types.is_struct, "RECORD"),
)


@dataclass
class Job:
    """A query that ran, or why it did not."""

    resource: dict[str, Any]
    rows: pa.Table | None = None
    refusal: Answer | None = None


class BigQueryRest(Google):
    """A running BigQuery; `table` fills it, `then` says what it answers instead."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.page = 4000
        self.billed = 0
        self.forget()

    def forget(self) -> None:
        """Forget calls, answers, tables and jobs."""
        super().forget()
        self._jobs: dict[str, Job] = {}
        self._number = count(1)
        self._tables: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.page = 4000
        self.billed = 0
        self._connection = duckdb.connect()
        self._connection.execute("SET enable_progress_bar = false; SET TimeZone = 'UTC'")
        self._connection.execute(f"ATTACH ':memory:' AS \"{PROJECT}\"")

    def table(self, rows: str, name: str = TABLE, *, partitioned: bool = True) -> str:
        """Make a table of SQL (DuckDB's); without partitions it is a view. Return its name."""
        self._connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{PROJECT}"."{DATASET}"')
        where = f'"{PROJECT}"."{DATASET}"."{name}"'
        empty = self._connection.execute(f"SELECT * FROM ({rows}) LIMIT 0").to_arrow_table()
        partition = ", date_trunc('day', export_time) AS _PARTITIONTIME" if partitioned else ""
        self._connection.execute(
            f"CREATE OR REPLACE TABLE {where} AS SELECT *{partition} FROM ({rows})"
        )
        self._tables[PROJECT, DATASET, name] = {
            "tableReference": {"projectId": PROJECT, "datasetId": DATASET, "tableId": name},
            "schema": {"fields": [_field(field) for field in empty.schema]},
            "type": "TABLE" if partitioned else "VIEW",
            "location": "EU",
            **({"timePartitioning": {"type": "DAY"}} if partitioned else {}),
        }
        return f"{PROJECT}.{DATASET}.{name}"

    def expire(self) -> None:
        """Let a day pass: jobs are known, their rows are gone."""
        for job in self._jobs.values():
            job.rows, job.refusal = None, problem(404, "notFound", "Not found: Table _anon.answer")

    def api(self, request: Request) -> Answer:
        """Answer one request."""
        found = _PATH.fullmatch(request.path)
        if found is None:
            return problem(404, "notFound", f"Not found: {request.path}")
        project, kind, name, table = found.groups()
        match kind, request.method, name:
            case "datasets", "GET", str() if table:
                return self._table(project, name, table)
            case "jobs", "POST", None:
                return self._insert(request.json)
            case "jobs", "GET", str() if name in self._jobs:
                return Answer(body=self._jobs[name].resource)
            case "queries", "GET", str() if name in self._jobs:
                return self._results(self._jobs[name], request)
        return problem(404, "notFound", f"Not found: {request.path}")

    def _table(self, project: str, dataset: str, table: str) -> Answer:
        known = self._tables.get((project, dataset, table))
        if known is None:
            return problem(404, "notFound", f"Not found: Table {project}:{dataset}.{table}")
        return Answer(body=known)

    def _insert(self, asked: dict[str, Any]) -> Answer:
        configuration = asked["configuration"]
        query = configuration["query"]
        size = PRUNED_BYTES if "_PARTITIONTIME" in query["query"] else BYTES
        reference = asked.get("jobReference") or {}
        number = reference.get("jobId") or f"job-{next(self._number)}"
        resource = {
            "id": number,
            "jobReference": {"projectId": PROJECT, "jobId": number, "location": "EU"},
            "configuration": configuration,
            "status": {"state": "DONE"},
            "statistics": {"query": {"totalBytesProcessed": str(size), "statementType": "SELECT"}},
        }
        try:
            rows = self._run(query)
        except duckdb.CatalogException as error:
            return problem(404, "notFound", f"Not found: Table: {_first_line(error)}")
        except (duckdb.Error, sqlglot.errors.SqlglotError) as error:
            return problem(400, "invalidQuery", _first_line(error))
        if not configuration.get("dryRun"):
            self._jobs[number] = self._done(resource, rows, query, size)
        return Answer(body=resource)

    def _done(self, resource: dict[str, Any], rows: pa.Table, query: Any, size: int) -> Job:
        limit = query.get("maximumBytesBilled")
        if limit is not None and size > int(limit):
            text = f"Query exceeded limit for bytes billed: {limit}. {size} or higher required."
            reason = {"reason": "bytesBilledLimitExceeded", "message": text}
            resource["status"] = {"state": "DONE", "errorResult": reason, "errors": [reason]}
            return Job(resource, refusal=problem(400, reason["reason"], text))
        self.billed += size
        return Job(resource, rows)

    def _run(self, query: dict[str, Any]) -> pa.Table:
        sql = sqlglot.transpile(query["query"], read="bigquery", write="duckdb")[0]
        values = {
            it["name"]: _value(it["parameterType"]["type"], it["parameterValue"]["value"])
            for it in query.get("queryParameters", [])
        }
        return self._connection.execute(sql, values).to_arrow_table()

    def _results(self, job: Job, request: Request) -> Answer:
        if job.refusal is not None:
            return job.refusal
        rows = job.rows
        assert rows is not None
        answer: dict[str, Any] = {
            "jobReference": job.resource["jobReference"],
            "jobComplete": True,
            "totalRows": str(rows.num_rows),
            "totalBytesProcessed": job.resource["statistics"]["query"]["totalBytesProcessed"],
            "schema": {"fields": [_field(field) for field in rows.schema]},
        }
        most = min(int(request.query.get("maxResults", self.page)), self.page)
        if most:
            start = int(request.query.get("pageToken") or request.query.get("startIndex") or 0)
            page = rows.slice(start, most)
            answer["rows"] = [_row(row) for row in page.to_pylist()]
            if start + most < rows.num_rows:
                answer["pageToken"] = str(start + most)
        return Answer(body=answer)


# -------------------------------------------------------------------- values as JSON has them


def _field(field: pa.Field) -> dict[str, Any]:
    repeated = pa.types.is_list(field.type)
    kind = field.type.value_type if repeated else field.type
    name = next((name for fits, name in _TYPES if fits(kind)), "STRING")
    inner = [_field(kind.field(i)) for i in range(kind.num_fields)] if name == "RECORD" else []
    told: dict[str, Any] = {"name": field.name, "type": name}
    told["mode"] = "REPEATED" if repeated else "NULLABLE"
    return told | ({"fields": inner} if inner else {})


def _row(cells: dict[str, Any]) -> dict[str, Any]:
    return {"f": [{"v": _cell(value)} for value in cells.values()]}


def _cell(value: Any) -> Any:
    match value:
        case dict():
            return _row(value)
        case list():
            return [{"v": _cell(inner)} for inner in value]
        case datetime():
            moment = value if value.tzinfo else value.replace(tzinfo=UTC)
            return str((moment - EPOCH) // timedelta(microseconds=1))
        case bool():
            return str(value).lower()
    return None if value is None else str(value)


def _value(kind: str, text: str) -> object:
    """Return a parameter as DuckDB takes it; its own timestamps have no zone."""
    if kind != "TIMESTAMP":
        return text
    return datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None)


def _first_line(error: Exception) -> str:
    return str(error).split("\n")[0]


@contextmanager
def running(folder: Path, tls: ssl.SSLContext) -> Iterator[BigQueryRest]:
    """Serve BigQuery twice: in the open without credentials, and over TLS with them."""
    fake = BigQueryRest(folder)
    with serving(fake.respond) as plain, serving(fake.respond, tls) as secure:
        fake.endpoint = f"http://{plain}"
        fake.secure_endpoint = f"https://{secure}"
        yield fake
