"""Azure's Resource Manager over TLS: managedClusters, Cost Management queries, cost details.

A stand-in, because no emulator exists; the SDKs and their chain of credentials are the real ones:
the token comes from the endpoint of a managed identity that `env` names.
"""

import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from tests.services.web import Answer, Fake, Request, serving

TOKEN = "planted-token-of-azure"  # noqa: S105 - the tests' own server
IDENTITY = "planted-header-of-the-identity"
SPLIT_COLUMNS = ("Cost", "CostUSD", "Namespace", "Cluster", "ServiceCategory", "Currency")
OPERATIONS = "/providers/Microsoft.CostManagement/costDetailsOperationResults"
NUMBERS = ("Cost", "CostUSD")


@dataclass
class Known:
    """What the subscription holds: clusters, split rows of each day, blobs of its cost details.

    split: day -> rows, each with a cell for every one of `columns`; a day that is not there is
    answered without rows. page: rows on one page. reports: URLs of the blobs of a report; None
    means that there is no data. polls: how often a report is not ready yet.
    """

    clusters: list[dict[str, Any]] = field(default_factory=list)
    split: dict[date, list[tuple[Any, ...]]] = field(default_factory=dict)
    columns: tuple[str, ...] = SPLIT_COLUMNS
    page: int = 1000
    reports: list[str] | None = field(default_factory=list)
    polls: int = 1


class Arm(Fake):
    """A running Resource Manager; `known` and `then` say what it answers."""

    def __init__(self, ca: Path) -> None:
        super().__init__()
        self.ca = ca
        self.endpoint = ""
        self.known = Known()
        self._polls = 0

    @property
    def env(self) -> dict[str, str]:
        """Environment of a client: trust, and a managed identity."""
        return {
            "REQUESTS_CA_BUNDLE": str(self.ca),
            "IDENTITY_ENDPOINT": f"{self.endpoint}/identity",
            "IDENTITY_HEADER": IDENTITY,
        }

    def forget(self) -> None:
        """Forget calls, answers and everything known."""
        super().forget()
        self.known = Known()
        self._polls = 0

    def asked(self, name: str) -> list[Request]:
        """Return the requests whose path ends with `name`."""
        return [call for call in self.calls if call.path.endswith(name)]

    def answer(self, request: Request) -> Answer:
        """Answer as Azure would."""
        if request.path == "/identity":
            return self._token(request)
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return problem(401, "InvalidAuthenticationToken", "The access token is invalid.")
        for name, answer in (
            ("/providers/Microsoft.ContainerService/managedClusters", self._clusters),
            ("/providers/Microsoft.CostManagement/query", self._query),
            ("/providers/Microsoft.CostManagement/generateCostDetailsReport", self._report),
            (f"{OPERATIONS}/report", self._poll),
        ):
            if request.path.endswith(name):
                return answer(request)
        return problem(404, "NotFound", "The resource was not found.")

    def _token(self, request: Request) -> Answer:
        if request.headers.get("x-identity-header") != IDENTITY:
            return problem(403, "Forbidden", "unknown identity")
        expires = str(int(time.time()) + 86_000)
        resource = request.query["resource"]
        return Answer(
            body={
                "access_token": TOKEN,
                "expires_on": expires,
                "resource": resource,
                "token_type": "Bearer",
            }
        )

    def _clusters(self, request: Request) -> Answer:
        start = int(request.query.get("$skiptoken", "0"))
        end = start + self.known.page
        answer: dict[str, Any] = {"value": self.known.clusters[start:end]}
        if end < len(self.known.clusters):
            answer["nextLink"] = self._next(request, end)
        return Answer(body=answer)

    def _query(self, request: Request) -> Answer:
        period = request.json["timePeriod"]
        first, last = (date.fromisoformat(period[key][:10]) for key in ("from", "to"))
        rows = [
            row for day, of_day in self.known.split.items() if first <= day <= last
            for row in of_day
        ]  # fmt: skip
        start = int(request.query.get("$skiptoken", "0"))
        end = start + self.known.page
        columns = [
            {"name": name, "type": "Number" if name in NUMBERS else "String"}
            for name in self.known.columns
        ]
        properties = {
            "nextLink": self._next(request, end) if end < len(rows) else None,
            "columns": columns,
            "rows": [list(row) for row in rows[start:end]],
        }
        return Answer(
            body={
                "id": "query",
                "name": "query",
                "type": "Microsoft.CostManagement/query",
                "properties": properties,
            }
        )

    @staticmethod
    def _next(request: Request, start: int) -> str:
        version = request.query["api-version"]
        return f"{request.base}{request.path}?api-version={version}&$skiptoken={start}"

    def _report(self, request: Request) -> Answer:
        self._polls = 0
        scope = request.path.partition("/providers/Microsoft.CostManagement/")[0]
        version = request.query["api-version"]
        where = f"{request.base}{scope}{OPERATIONS}/report?api-version={version}"
        return Answer(202, headers={"Location": where, "Retry-After": "1"})

    def _poll(self, request: Request) -> Answer:
        self._polls += 1
        if self._polls <= self.known.polls:
            return Answer(202, headers={"Retry-After": "1"})
        if self.known.reports is None:
            return Answer(body={"status": "NoDataFound"})
        blobs = [{"blobLink": url, "byteCount": 1} for url in self.known.reports]
        manifest = {
            "manifestVersion": "2022-05-01",
            "dataFormat": "Csv",
            "blobCount": len(blobs),
            "byteCount": len(blobs),
            "compressData": False,
            "blobs": blobs,
        }
        return Answer(body={"status": "Completed", "manifest": manifest})


def problem(status: int, code: str, message: str, **headers: str) -> Answer:
    """Return an error as ARM writes it; `a_b` in a header's name stands for `a-b`."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, {"error": {"code": code, "message": message}}, names)


@contextmanager
def running(ca: Path, tls: ssl.SSLContext) -> Iterator[Arm]:
    """Serve ARM over TLS; `ca` is the file of the authority that vouches for it."""
    arm = Arm(ca)
    with serving(arm.respond, tls) as address:
        arm.endpoint = f"https://{address}"
        yield arm
