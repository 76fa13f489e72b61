"""Google's detailed Cloud Billing export, asked for in BigQuery itself.

SQL selects and filters, nothing else: no sum of money, no cast. The answer for a month is Parquet
files with the columns as the table holds them. Whether a month changed is told by its newest
`export_time`, which never goes back, the number of its rows, and the question itself: a table
that gained a column is asked again.

A copy that broke off goes on with the same job as long as Google keeps its rows, 24 hours: they
are not paid twice. It goes on by REST, where rows have numbers; the Storage API promises no order,
so what came by it is read again.
"""

import hashlib
import sys
from collections.abc import Iterator
from datetime import datetime
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from connectors import asked
from connectors.base import Delivery, ExportSource, Meter, Progress, Receipt, RemoteFile
from connectors.billing_table import Question, refuse_name, refuse_schema
from connectors.errors import UNREADABLE, WRONG_USE, DeliveryError
from connectors.google_api import is_gone, open_session, patience, told
from connectors.table_pages import Job, Pages

if TYPE_CHECKING:
    import pyarrow as pa
    from google.auth.transport.requests import AuthorizedSession
    from google.cloud.bigquery import Client, QueryJob, QueryJobConfig
    from google.cloud.bigquery.table import RowIterator
    from google.cloud.bigquery_storage import BigQueryReadClient

USD_PER_TIB = 6.25
STREAMS = 2
PAGE_ROWS = 10_000
FILE_ROWS = 200_000
GROUP_BYTES = 64 << 20
CALL_SECONDS = 120.0
JOB_SECONDS = 1800.0


class BigQueryStore:
    """One invoice month of a table, as a store of one file in several pages."""

    def __init__(self, source: ExportSource, month: str) -> None:
        """Raise `DeliveryError` (exit code 2) where the name is none of a detailed table."""
        refuse_name(source.location)
        self.location = source.location
        self.meter = Meter()
        self._source = source
        self._month = month

    def listing(self) -> list[RemoteFile]:
        """Return the file of the month, its size unknown (0); none where there is no row of it."""
        answer = self._answer(self._ask(self._question.newest()))
        with told(self.location, "bigquery.tables.getData"):
            (row,) = answer
        if not row["found"]:
            return []
        question = hashlib.sha256(self._question.rows().encode()).hexdigest()[:12]
        return [
            RemoteFile(
                path=f"{self._question.table.table_id}.parquet",
                uri=f"bigquery://{self.location}",
                size=0,
                modified=row["newest"],
                etag=f"{row['newest'].isoformat()} {row['found']} {question}",
            )
        ]

    def find(self, name: str) -> RemoteFile | None:  # noqa: ARG002
        """Return None: a table has no files that its listing does not show."""
        return None

    def read(self, file: RemoteFile) -> bytes:
        """Return the first page of the file."""
        with TemporaryDirectory() as folder:
            target = Path(folder, file.path)
            self.copy(file, target, lambda *_: None)
            return target.read_bytes()

    def copy(self, file: RemoteFile, target: Path, progress: Progress) -> str:
        """Write the rows of the month as pages beside each other; return the first one's sha256."""
        pages = Pages(target, FILE_ROWS, GROUP_BYTES)
        batches = self._continued(pages)
        if batches is None:
            batches = self._begun(pages, file.modified)
        expected, held = int((file.etag or "").split(" ")[1]), pages.rows
        size = came = 0
        for batch in pages.write(batches):
            size, came = size + batch.nbytes, came + batch.num_rows
            self.meter.add(bytes=batch.nbytes)
            progress(target.name, size * (held + came) // came, size * expected // came)
        if pages.rows != expected:
            written = pages.rows
            pages.forget()
            raise self._changed(expected, written)
        return asked.publish(target, pages.parts)

    def _begun(self, pages: Pages, until: datetime | None) -> "Iterator[pa.RecordBatch]":
        """Ask for the rows; return them from the first."""
        job = self._ask(self._question.rows(), until)
        storage = None if self._source.endpoint else _storage(self._session[0])
        pages.note(_noted(job, ordered=storage is None))
        return self._batches(self._answer(job), storage)

    def _continued(self, pages: Pages) -> "Iterator[pa.RecordBatch] | None":
        """Return the rows after those of the pages; none where it failed or they are gone."""
        from google.api_core.exceptions import ClientError

        if pages.job is None:
            return None
        with told(self.location, "bigquery.tables.getData"):
            try:
                job = self._reopened(pages.job)
                if job.error_result is None:
                    answer = self._results(job, pages.rows)
                    pages.note(_noted(job, ordered=True))
                    return self._batches(answer, None)
            except ClientError as error:
                if not is_gone(error):
                    raise
        pages.forget()
        return None

    def _reopened(self, known: Job) -> "QueryJob":
        job: QueryJob = self._client.get_job(  # type: ignore[assignment]
            known.id,
            project=known.project,
            location=known.location,
            retry=patience(self.meter),
            timeout=CALL_SECONDS,
        )
        return job

    # ------------------------------------------------------------------------- the asking

    @cached_property
    def _client(self) -> "Client":
        from google.cloud.bigquery import Client

        session, project = self._session
        return Client(
            # A project of an organisation has a dot in its name: example.com:billing.
            project=project or self.location.rsplit(".", maxsplit=2)[0],
            credentials=session.credentials,
            _http=session,
            client_options={"api_endpoint": self._source.endpoint},
        )

    @cached_property
    def _session(self) -> "tuple[AuthorizedSession, str | None]":
        return open_session(self.meter, self._source.endpoint)

    @cached_property
    def _question(self) -> Question:
        with told(self.location, "bigquery.tables.get"):
            table = self._client.get_table(
                self.location, retry=patience(self.meter), timeout=CALL_SECONDS
            )
        refuse_schema(self.location, table)
        return Question(table, self._month)

    def _ask(self, sql: str, until: datetime | None = None) -> "QueryJob":
        """Return the job of a query; what it costs is told before, and refused if too much."""
        with told(self.location, "bigquery.jobs.create"):
            trial = self._run(sql, self._config(until, dry_run=True))
            self._price(trial.total_bytes_processed or 0, until)
            return self._run(sql, self._config(until, dry_run=False))

    def _run(self, sql: str, config: "QueryJobConfig") -> "QueryJob":
        """Return the job of a query. Calls are tried again; a job that failed is paid already."""
        return self._client.query(
            sql,
            job_config=config,
            location=self._question.table.location,
            retry=patience(self.meter),
            job_retry=None,
            timeout=CALL_SECONDS,
        )

    def _answer(self, job: "QueryJob") -> "RowIterator":
        with told(self.location, "bigquery.jobs.create"):
            return self._results(job, 0)

    def _results(self, job: "QueryJob", start: int) -> "RowIterator":
        answer: RowIterator = job.result(
            page_size=PAGE_ROWS,
            start_index=start or None,
            retry=patience(self.meter),
            job_retry=None,
            timeout=JOB_SECONDS,
        )
        return answer

    def _config(self, until: datetime | None, *, dry_run: bool) -> "QueryJobConfig":
        from google.cloud.bigquery import QueryJobConfig, ScalarQueryParameter

        question = self._question
        values = (
            ("month", "STRING", question.invoice_month),
            ("since", "TIMESTAMP", question.since if question.partition else None),
            ("until", "TIMESTAMP", until),
        )
        config = QueryJobConfig(
            dry_run=dry_run,
            use_query_cache=not dry_run,
            query_parameters=[ScalarQueryParameter(*it) for it in values if it[2] is not None],
        )
        if self._source.maximum_bytes_billed is not None:
            config.maximum_bytes_billed = self._source.maximum_bytes_billed
        return config

    def _price(self, size: int, until: datetime | None) -> None:
        """Refuse a query above the limit; say what the one that brings the rows costs."""
        limit = self._source.maximum_bytes_billed
        if limit is not None and size > limit:
            raise _too_much(self.location, size, limit, self._question.partition)
        if until is not None:
            sys.stderr.write(f"{self.location} {self._month}: the query reads {_priced(size)}\n")

    def _batches(
        self, answer: "RowIterator", storage: "BigQueryReadClient | None"
    ) -> "Iterator[pa.RecordBatch]":
        """Yield the rows of an answer."""
        reads = "bigquery.readsessions.create" if storage else "bigquery.tables.getData"
        with told(self.location, reads):
            yield from answer.to_arrow_iterable(bqstorage_client=storage, max_stream_count=STREAMS)

    def _changed(self, expected: int, written: int) -> DeliveryError:
        return DeliveryError(
            "the table changed while it was read",
            exit_code=UNREADABLE,
            where=self.location,
            expected=f"{expected} rows of {self._month}",
            got=f"{written} rows",
            hint="run the command again",
        )


def fetch(source: ExportSource, delivery: Delivery, into: Path, progress: Progress) -> Receipt:
    """Write the delivery to `into/<billing period>/<delivery id>` unless it is there already."""
    return asked.fetch(BigQueryStore(source, delivery.month), delivery, into, progress)


def _storage(session: "AuthorizedSession") -> "BigQueryReadClient | None":
    """Return a reader of the Storage API, None where it is not installed."""
    try:
        from google.cloud.bigquery_storage import BigQueryReadClient
    except ImportError:
        return None
    return BigQueryReadClient(credentials=session.credentials)  # type: ignore[no-untyped-call]


def _noted(job: "QueryJob", *, ordered: bool) -> Job:
    return Job(project=job.project, id=job.job_id, location=job.location, ordered=ordered)


def _priced(size: int) -> str:
    return f"{size / 1e9:.2f} GB, about {size / 2**40 * USD_PER_TIB:.2f} USD"


def _too_much(location: str, size: int, limit: int, partition: str | None) -> DeliveryError:
    table = "" if partition else "; a view reads all partitions, the table itself only its month's"
    return DeliveryError(
        "the query costs more than it may",
        exit_code=WRONG_USE,
        where=location,
        expected=f"at most {_priced(limit)} (`maximum_bytes_billed`)",
        got=_priced(size),
        hint=f"raise `maximum_bytes_billed` of the source{table}",
    )
