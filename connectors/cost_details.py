"""A month's charges without an export: the Cost Details report, generated when it is asked for.

Made for small accounts: one month a report, 13 months back, subscriptions and billing scopes.
The links in Azure's answer carry a signature; they are used at once and never written down. What
is written down until all of a report is here is its name, to be asked for its links again.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from connectors import asked, transfer
from connectors.arm import Arm
from connectors.azure_session import ABSENT, BAD, BUSY, code_of, explained, refused, wait_of
from connectors.base import Delivery, ExportSource, Meter, Progress, Receipt, RemoteFile
from connectors.blob import body, settings
from connectors.days import month_days
from connectors.errors import UNREADABLE, WRONG_USE, DeliveryError
from connectors.retry import PATIENCE, Transient, UnansweredError, persist

if TYPE_CHECKING:
    from azure.core.exceptions import AzureError
    from azure.core.pipeline import PipelineResponse
    from azure.mgmt.costmanagement.models import CostDetailsOperationResults

NAME = "cost-details.csv"
DATASET = "cost_export"
TYPE_OF = {"actual": "ActualCost", "amortized": "AmortizedCost"}
REPORTED = re.compile(r"/subscriptions/[^/]+|/providers/Microsoft\.Billing/.+", re.IGNORECASE)
ROLE = "the role Cost Management Reader (or a billing role that may see charges) on the scope"
LIMITS = "a report goes back 13 months and is for EA and MCA accounts; else set up an export"
NO_DATA, NO_CONTENT = "NoDataFound", 204
SDK_TRIES = 3
OPERATION = re.compile(r"[\w-]+")
OPERATIONS = re.compile(r"/costDetailsOperationResults/([\w-]+)(?:\?|$)", re.IGNORECASE)


def discover(source: ExportSource, month: str) -> Delivery:
    """Return the report of the month so far; nothing is asked.

    Raise `DeliveryError` (exit code 2) where there can be none.
    """
    if REPORTED.fullmatch(source.location) is None:
        expected = "a subscription, billing account or billing profile"
        raise _refused("this scope has no cost report", source.location, expected)
    if source.dataset != DATASET or source.metric is None:
        expected = f"dataset = {DATASET!r} with a metric"
        raise _refused("a cost report holds other cost", source.location, expected, source.dataset)
    if month_days(month)[0] >= asked.today():
        expected = "a month that has begun"
        raise _refused(f"no delivery of {month}", source.location, expected, month)
    report = RemoteFile(
        path=NAME,
        uri=f"{source.location}/providers/Microsoft.CostManagement/generateCostDetailsReport",
        size=0,
        modified=asked.moment(month),
        etag=TYPE_OF[source.metric],
    )
    return Delivery(source.location, month, (report,))


def fetch(source: ExportSource, delivery: Delivery, into: Path, progress: Progress) -> Receipt:
    """Generate the report and copy it, unless it is there already."""
    return asked.fetch(ReportStore(source, delivery.month), delivery, into, progress)


class ReportStore:
    """The report of a month, generated when it is copied."""

    def __init__(self, source: ExportSource, month: str) -> None:
        self.location = source.location
        self.meter = Meter()
        self._month = month
        self._operation = ""
        self._arm = Arm(source, self.meter, _explained)

    def listing(self) -> list[RemoteFile]:
        """Return nothing: `discover` knows what can be asked."""
        return []

    def find(self, name: str) -> RemoteFile | None:  # noqa: ARG002
        """Return None: there are no other files."""
        return None

    def read(self, file: RemoteFile) -> bytes:
        """Refuse: a report is no small file."""
        raise DeliveryError("a report is not read at once", exit_code=UNREADABLE, where=file.uri)

    def copy(self, file: RemoteFile, target: Path, progress: Progress) -> str:
        """Write the parts of the report beside each other; return the first one's sha256.

        A report that an earlier try has generated is used as long as Azure gives it, and what is
        here of it stays.
        """
        if target.exists():
            return asked.sha256_of(target)
        parts = self._remembered(target) or self._generated(file.etag or "", target)
        return asked.publish(target, [part.copy(target, progress) for part in parts])

    def _remembered(self, target: Path) -> "list[_Part]":
        """Return the parts of the report that was generated; none where it is gone."""
        note = _note(target)
        operation = note.read_text(encoding="utf-8") if note.exists() else ""
        if OPERATION.fullmatch(operation) is None:
            return []
        ask = self._arm.client.generate_cost_details_report.begin_get_operation_results
        try:
            return self._parts(partial(ask, self.location.strip("/"), operation))
        except UnansweredError:
            raise
        except DeliveryError:
            return []

    def _generated(self, kind: str, target: Path) -> "list[_Part]":
        """Return the parts of a new report, and note which one it is; its links stay unwritten."""
        first, last = month_days(self._month)
        period = {"start": f"{first}", "end": f"{min(last, asked.today())}"}
        ask = self._arm.client.generate_cost_details_report.begin_create_operation
        body = {"metric": kind, "timePeriod": period}
        parts = self._parts(partial(ask, self.location.strip("/"), body))
        for left in target.parent.glob(f".*{target.name}*"):
            left.unlink()
        _note(target).write_text(self._operation, encoding="utf-8")
        return parts

    def _parts(self, begin: Callable[..., Any]) -> "list[_Part]":
        """Return the parts of a report, once Azure has written it."""
        return [_Part(link, self.meter) for link in self._links(begin)]

    def _links(self, begin: Callable[..., Any]) -> Sequence[str]:
        """Return the addresses of the parts."""
        report = persist(lambda: self._report(begin), meter=self.meter, what=self.location)
        state = str(report.get("status")) if report else NO_DATA
        if state == NO_DATA:
            raise DeliveryError(
                f"no delivery of {self._month}",
                exit_code=WRONG_USE,
                where=self.location,
                expected="charges in the month",
                got="a report without data",
                hint="correct `location` of the source, or ask for another month",
            )
        manifest = report.manifest if report else None
        blobs = (manifest.blobs if manifest else None) or []
        links = [blob.blob_link for blob in blobs if blob.blob_link]
        if not links or manifest is None or manifest.blob_count not in (None, len(links)):
            raise self._incomplete(state, len(links))
        return links

    def _report(self, begin: Callable[..., Any]) -> "CostDetailsOperationResults | None":
        """Return what Azure says of a report it has generated; None where it has no content."""
        from azure.core.exceptions import AzureError

        statuses = [0]

        def note(answer: "PipelineResponse[Any, Any]") -> None:
            statuses.append(answer.http_response.status_code)
            _lengthen(answer.http_response)
            found = OPERATIONS.search(answer.http_response.headers.get("Location", ""))
            self._operation = found[1] if found else self._operation

        try:
            poller = begin(retry_total=SDK_TRIES, raw_response_hook=note)
            report: CostDetailsOperationResults = poller.result()
        except AzureError as error:
            raise _explained(error, self.location) from error
        except ValueError as error:
            raise Transient("an answer that is no complete JSON") from error
        return None if statuses[-1] == NO_CONTENT else report

    def _incomplete(self, state: str, links: int) -> DeliveryError:
        return DeliveryError(
            "Azure did not finish the cost report",
            exit_code=UNREADABLE,
            where=self.location,
            expected="a report with all its parts",
            got=f"{state} with {links} parts",
            hint="run the command again later; for a large account set up an export",
        )


class _Part:
    """One part of a report, at an address that lets its bearer read it."""

    def __init__(self, link: str, meter: Meter) -> None:
        from azure.storage.blob import BlobClient

        self.meter = meter
        self._blob = BlobClient.from_blob_url(link, **settings(meter))
        self._uri = link.partition("?")[0]
        self.file = persist(self._look, meter=meter, what=self._uri)

    def stream(self, file: RemoteFile, start: int, stop: int) -> Iterator[bytes]:
        """Yield the bytes of the part from `start` to `stop` (exclusive)."""
        return body(self._blob, file, ROLE, offset=start, length=stop - start)

    def copy(self, target: Path, progress: Progress) -> Path:
        """Copy the part, unless it is here whole; return where it waits for the others."""
        identity = f"{self._uri}\n{self.file.etag}".encode()
        name = hashlib.sha256(identity).hexdigest()[:12]
        whole = target.with_name(f".{target.name}.{name}")
        if whole.exists() and whole.stat().st_size == self.file.size:
            progress(target.name, self.file.size, self.file.size)
            return whole
        begun = whole.with_name(f"{whole.name}.begun")
        transfer.download(
            self, self.file, begun, lambda _, done, size: progress(target.name, done, size)
        )
        return begun.replace(whole)

    def _look(self) -> RemoteFile:
        from azure.core.exceptions import AzureError

        try:
            told: Any = self._blob.get_blob_properties()
        except AzureError as error:
            raise explained(error, self._uri, ROLE) from error
        return RemoteFile(NAME, self._uri, told.size, told.last_modified, told.etag.strip('"'))


def _note(target: Path) -> Path:
    """Return where the name of a generated report is noted until all of it is here."""
    return target.with_name(f".{target.name}.report")


def _lengthen(answer: Any) -> None:
    """Have Azure's client, which knows Retry-After alone, wait for the longest that is asked.

    Raise `Transient` where no report is under way that waiting would save, or where there is no
    patience for it: that client would wait all the same.
    """
    wait = wait_of(answer.headers)
    if answer.status_code == BUSY and wait is not None:
        if answer.request.method == "POST" or wait > PATIENCE:
            answer.internal_response.close()
            raise Transient(str(BUSY), wait)
        answer.headers["Retry-After"] = str(ceil(wait))


def _explained(error: "AzureError", where: str) -> DeliveryError | Transient:
    """Return what an error of the report means: Azure also refuses what it cannot report."""
    if getattr(error, "status_code", None) in (NO_CONTENT, BAD, ABSENT):
        got = f"{getattr(error, 'status_code', '')} {code_of(error)}".strip()
        return refused("Azure has no cost report of this scope and month", where, got, LIMITS)
    return explained(error, where, ROLE)


def _refused(what: str, where: str, expected: str, got: str = "another scope") -> DeliveryError:
    return DeliveryError(
        what,
        exit_code=WRONG_USE,
        where=where,
        expected=expected,
        got=got,
        hint="correct the source, or set up an export and give its container as `location`",
    )
