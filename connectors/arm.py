"""Azure's Resource Manager: one client for all that is asked of it, in plain JSON."""

import json
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from connectors.azure_session import BUSY, counted, credential, explained, refuse_http, wait_of
from connectors.base import ExportSource, Meter
from connectors.errors import UNREADABLE, DeliveryError
from connectors.retry import Transient, persist

if TYPE_CHECKING:
    from azure.core.exceptions import AzureError
    from azure.mgmt.costmanagement import CostManagementClient

SCOPE = re.compile(r"/(?:subscriptions|providers/Microsoft\.\w+)/[\w:./-]+", re.IGNORECASE)
SUBSCRIPTION = re.compile(r"/subscriptions/([^/]+)", re.IGNORECASE)
TRIES = 3
"""Azure counts what was asked, also what it refused: asking on makes the wait longer."""

Explain = Callable[["AzureError", str], DeliveryError | Transient]


def is_scope(location: str) -> bool:
    """Tell whether a location is a scope of Cost Management and no folder or address."""
    return SCOPE.fullmatch(location) is not None


def subscriptions(source: ExportSource) -> list[str]:
    """Return the subscriptions that the clusters and the location of a source name."""
    named = [SUBSCRIPTION.match(name) for name in (*source.clusters, source.location)]
    return sorted({found[1].lower() for found in named if found})


class Arm:
    """A client of the Resource Manager; `endpoint` of the source is its address, if not usual."""

    def __init__(self, source: ExportSource, meter: Meter, explain: Explain) -> None:
        self._endpoint = source.endpoint
        self._meter = meter
        self._explain = explain
        self._address = ("", "")

    def ask(self, method: str, url: str, where: str, body: object = None) -> bytes:
        """Return the body of an answer as it came; b"" where it has no content.

        Raise `DeliveryError` as `explain` says, and after a few tries.
        """
        from azure.core.exceptions import AzureError
        from azure.core.rest import HttpRequest

        throttled = count(1)

        def once() -> bytes:
            try:
                answer = self.client.send_request(HttpRequest(method, url, json=body))
                answer.raise_for_status()
            except AzureError as error:
                if getattr(error, "status_code", None) == BUSY and next(throttled) == TRIES:
                    raise _throttled(error, where) from error
                raise self._explain(error, where) from error
            self._address = urlsplit(answer.request.url)[:2]
            content = bytes(answer.content)
            if content:
                document(content)
            return content

        return persist(once, meter=self._meter, what=where)

    def pages(self, method: str, url: str, where: str, body: object = None) -> Iterator[bytes]:
        """Yield the pages of an answer; the next is asked for with the same body."""
        seen: set[str] = set()
        more: str | None = url
        while more is not None:
            seen.add(more)
            page = self.ask(method, more, where, body)
            yield page
            more = next_link(page)
            if more is not None and (more in seen or not self._is_own(more)):
                raise _astray(where, more in seen)

    def _is_own(self, link: str) -> bool:
        """Tell whether a link stays where the token may be sent to."""
        return urlsplit(link)[:2] == self._address

    @cached_property
    def client(self) -> "CostManagementClient":
        """Azure's own client: its credential, its pipeline; `persist` decides what comes next."""
        from azure.mgmt.costmanagement import CostManagementClient

        if self._endpoint is not None:
            refuse_http(self._endpoint)
        settings = counted(self._meter) | {"retry_total": 0}
        return CostManagementClient(credential(), self._endpoint, **settings)


def document(content: bytes) -> dict[str, Any]:
    """Return a JSON object. Raise `Transient` where an answer is none."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Transient("an answer that is no complete JSON")
    return found


def next_link(page: bytes) -> str | None:
    """Return the link to the next page, wherever the answer has it."""
    if not page:
        return None
    told = document(page)
    inner = told.get("properties")
    link = told.get("nextLink") or (inner.get("nextLink") if isinstance(inner, dict) else None)
    return str(link) if link else None


def explained_for(needs: str) -> Explain:
    """Return how errors are explained where `needs` is what to grant."""
    return lambda error, where: explained(error, where, needs)


def _throttled(error: "AzureError", where: str) -> DeliveryError:
    wait = wait_of(getattr(getattr(error, "response", None), "headers", {}))
    return DeliveryError(
        "Azure wants to be asked less often",
        exit_code=UNREADABLE,
        where=where,
        expected=f"an answer within {TRIES} tries",
        got=f"{BUSY} each time" + (f"; it asks to wait {wait:.0f} s" if wait else ""),
        hint="run the command again later: it continues where it stopped",
    )


def _astray(where: str, again: bool) -> DeliveryError:  # noqa: FBT001
    return DeliveryError(
        "the pages of an answer lead astray",
        exit_code=UNREADABLE,
        where=where,
        expected="links to further pages of the same service",
        got="one page twice" if again else "a link to another address",
        hint="run the command again",
    )
