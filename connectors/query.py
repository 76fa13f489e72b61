"""The split of cluster cost, asked of Azure itself: the Query API with a provider of clusters.

Microsoft does not document this question: the public description of the version knows no
`provider`, and no dimensions of clusters. So it is asked only where `splits` names `query`, and
what comes is checked: each day is asked for on its own, and no answer is taken for another day's.
"""

from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from connectors import asked
from connectors.arm import Arm, document, subscriptions
from connectors.azure_session import ABSENT, BAD, UNSIGNED, code_of, explained, message_of, refused
from connectors.base import Delivery, ExportSource, Meter, Progress, Receipt, RemoteFile
from connectors.days import month_days
from connectors.errors import UNREADABLE, WRONG_USE, DeliveryError
from connectors.retry import Transient

if TYPE_CHECKING:
    from azure.core.exceptions import AzureError

LOCATION = "Microsoft.CostManagement/query"
VERSION = "2023-04-01-preview"
PROVIDER = "Microsoft.ContainerService"
GROUPING = ("Namespace", "Cluster", "ServiceCategory")
TYPE_OF = {"actual": "ActualCost", "amortized": "AmortizedCost"}
ROLE = "the role Cost Management Reader on the subscription"
OTHERWISE = "use the agent's answers (`agent`), or leave `query` out of `splits`"


def discover(source: ExportSource, month: str) -> Delivery | None:
    """Return one file for each subscription and day of the month that is over; nothing is asked.

    Raise `DeliveryError` (exit code 2) where the source names no subscription.
    """
    named = subscriptions(source)
    if not named:
        raise _nobody_named()
    moment, kind = asked.moment(month), type_of(source)
    files = tuple(
        RemoteFile(
            path=f"{name}/{day}.json",
            uri=f"{scope(name)}/providers/{LOCATION}#{day}",
            size=0,
            modified=moment,
            etag=kind,
        )
        for name in named
        for day in days_over(month)
    )
    return Delivery(LOCATION, month, files) if files else None


def fetch(source: ExportSource, delivery: Delivery, into: Path, progress: Progress) -> Receipt:
    """Ask for the days, unless the answers are there already; one that came is not asked again."""
    return asked.fetch(QueryStore(source), delivery, into, progress)


def _nobody_named() -> DeliveryError:
    return DeliveryError(
        "nothing says which subscriptions to ask for the split",
        exit_code=WRONG_USE,
        where="splits",
        expected="`clusters` of the source, by their full ids",
        got="none",
        hint="`az aks list --query '[].[id, nodeResourceGroup]'` shows them",
    )


def type_of(source: ExportSource) -> str:
    """Return the cost that is split: that of the source's own export."""
    return TYPE_OF[source.metric or "amortized"]


def scope(subscription: str) -> str:
    """Return the scope of a subscription."""
    return f"/subscriptions/{subscription}"


def days_over(month: str) -> list[date]:
    """Return the days of a month that are over: Azure answers for others, but not about them."""
    first, last = month_days(month)
    end = min(last, asked.today() - timedelta(days=1))
    return [first + timedelta(days=n) for n in range((end - first).days + 1)]


class QueryStore:
    """The answers about the days of a source, each asked for when it is copied."""

    location = LOCATION

    def __init__(self, source: ExportSource) -> None:
        self.meter = Meter()
        self._source = source
        self._arm = Arm(source, self.meter, _explained)

    def listing(self) -> list[RemoteFile]:
        """Return nothing: `discover` knows what can be asked."""
        return []

    def find(self, name: str) -> RemoteFile | None:  # noqa: ARG002
        """Return None: there are no other files."""
        return None

    def read(self, file: RemoteFile) -> bytes:
        """Return the first page of an answer."""
        return next(iter(self.answer(*_named(file))), b"")

    def copy(self, file: RemoteFile, target: Path, progress: Progress) -> str:
        """Write the pages of an answer beside each other; return the first one's sha256."""
        if target.exists():
            return asked.sha256_of(target)
        pages = self.answer(*_named(file))
        parts = [asked.part_name(target, n) for n in range(len(pages))]
        for part, page in zip(parts, pages, strict=True):
            part.write_bytes(page)
        sha256 = asked.publish(target, parts)
        size = sum(map(len, pages))
        self.meter.add(bytes=size)
        progress(target.name, size, size)
        return sha256

    def answer(self, subscription: str, day: date) -> list[bytes]:
        """Return the pages of the answer for a day as they came; none where Azure has no content.

        Raise `DeliveryError` where Azure does not answer, or not about this day.
        """
        own = scope(subscription)
        where = f"{own} on {day}"
        url = f"{own}/providers/{LOCATION}?api-version={VERSION}"
        pages = [it for it in self._arm.pages("POST", url, where, self._question(day)) if it]
        for page in pages:
            _rows(page, day, where)
        return pages

    def _question(self, day: date) -> dict[str, Any]:
        return {
            "type": type_of(self._source),
            "timeframe": "Custom",
            "timePeriod": {"from": f"{day}T00:00:00Z", "to": f"{day}T23:59:59Z"},
            "dataSet": {
                "granularity": "None",
                "aggregation": {
                    "totalCost": {"name": "Cost", "function": "Sum"},
                    "totalCostUSD": {"name": "CostUSD", "function": "Sum"},
                },
                "grouping": [{"type": "Dimension", "name": name} for name in GROUPING],
            },
            "provider": PROVIDER,
        }


def _named(file: RemoteFile) -> tuple[str, date]:
    """Return what a file of `discover` asks for."""
    subscription, _, name = file.path.partition("/")
    return subscription, date.fromisoformat(name.removesuffix(".json"))


def _rows(page: bytes, day: date, where: str) -> list[Any]:
    """Return the rows of a page. Raise `DeliveryError` where they are not of the day asked for."""
    body = document(page).get("properties")
    columns, rows = (
        body.get(key) if isinstance(body, dict) else None for key in ("columns", "rows")
    )
    if not isinstance(columns, list) or not isinstance(rows, list):
        raise _unexpected(where, "an answer with columns and rows", "another document")
    names = [str(it.get("name")).lower() for it in columns if isinstance(it, dict)]
    if "usagedate" in names:
        told = {str(row[names.index("usagedate")])[:10].replace("-", "")[:8] for row in rows}
        if told - {f"{day:%Y%m%d}"}:
            raise _unexpected(where, f"rows of {day}", f"rows of {', '.join(sorted(told))}")
    lacking = [name for name in GROUPING if name.lower() not in names]
    if rows and lacking:
        raise _unexpected(where, f"rows by {', '.join(GROUPING)}", f"none by {', '.join(lacking)}")
    return rows


def _unexpected(where: str, expected: str, got: str) -> DeliveryError:
    return DeliveryError(
        "Azure answers another question than the one about the split",
        exit_code=UNREADABLE,
        where=where,
        expected=expected,
        got=got,
        hint=OTHERWISE,
    )


def _explained(error: "AzureError", where: str) -> DeliveryError | Transient:
    """Return what an error of this question means: some are about the question itself."""
    status = getattr(error, "status_code", None)
    told = message_of(error).lower()
    code = code_of(error)
    got = f"{status} {code}".strip()
    if status == UNSIGNED and "blocked" in told:
        what = "Azure keeps the question about the split to its portal for this account"
        return refused(what, where, f"{got}: request blocked", OTHERWISE)
    if status == BAD:
        what = "Azure does not know the question about the split any more, or not for this account"
        return refused(what, where, got, OTHERWISE)
    if status == ABSENT:
        hint = "correct the ids in `clusters` of the source"
        return refused("no such subscription", where, got, hint, WRONG_USE)
    return explained(error, where, ROLE)
