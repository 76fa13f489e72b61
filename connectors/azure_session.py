"""Azure's credentials, and what the errors of its clients mean."""

import re
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from connectors.base import Meter
from connectors.errors import UNREADABLE, WRONG_USE, DeliveryError
from connectors.retry import Transient, seconds

if TYPE_CHECKING:
    from azure.core.exceptions import AzureError, HttpResponseError

SIGN_IN = "sign in (az login), or give the environment or the machine an identity"
AGAIN = "wait until the export is written, then run the command again"
RESTORE = "move it to an online access tier, then run the command again"
NETWORK = "let this machine through the account's firewall, and check key and role"
CONNECT_SECONDS = 10

TIMEOUT, CHANGED, BUSY, BROKEN = 408, {412, 416}, 429, 500
BAD, UNSIGNED, FORBIDDEN, ABSENT = 400, 401, 403, 404
RETRY_AFTER = re.compile(r"(?:x-ms-ratelimit-microsoft\.\S+-)?retry-after")
SIGNATURES = {
    "AuthenticationFailed",
    "NoAuthenticationInformation",
    "InvalidAuthenticationInfo",
    "InvalidAuthenticationToken",
    "ExpiredAuthenticationToken",
    "InvalidAuthenticationTokenTenant",
}
STORAGE = {
    "AuthorizationFailure": ("the storage account lets nobody in like this", NETWORK),
    "AccountIsDisabled": ("the storage account is disabled", "enable it"),
    "KeyBasedAuthenticationNotPermitted": (
        "the storage account takes no keys",
        "unset AZURE_STORAGE_CONNECTION_STRING, then sign in (az login)",
    ),
    "BlobArchived": ("the file lies in an archive", RESTORE),
    "BlobBeingRehydrated": ("the file still comes out of the archive", "run the command later"),
}
CLOSED = {
    "AccountCostDisabled": "let the enrolment's administrator switch on AO view charges",
    "IndirectCostDisabled": "let the partner switch on the view of charges",
    "DepartmentCostDisabled": "let the enrolment's administrator switch on DA view charges",
}
"""Where a role is not enough."""


class AbsentError(DeliveryError):
    """Something that is not there."""


def credential() -> Any:
    """Return the credential of Azure's own chain: environment, workload, machine, az login."""
    from azure.identity import DefaultAzureCredential

    return DefaultAzureCredential()


def refuse_http(address: str) -> None:
    """Refuse to send a token where others could read it.

    Raise `DeliveryError` (exit code 2).
    """
    if not address.lower().startswith("https://"):
        hint = "correct `location` or `endpoint` of the source"
        raise refused("a token is not sent over plain http", address, "http", hint, WRONG_USE)


def is_loopback(address: str) -> bool:
    """Tell whether what is sent to an address stays on this machine."""
    host = urlsplit(address).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def counted(meter: Meter) -> dict[str, Any]:
    """Return the settings of a client whose calls are counted."""
    return {
        "raw_request_hook": lambda _: meter.add(calls=1),
        "connection_timeout": CONNECT_SECONDS,
    }


def explained(error: "AzureError", where: str, needs: str) -> DeliveryError | Transient:
    """Return what an error means; `needs` is what to grant where it is missing."""
    from azure.core import exceptions

    if isinstance(error, exceptions.HttpResponseError) and (error.status_code or 0) >= BAD:
        return _answered(error, where, needs)
    if isinstance(error, exceptions.ClientAuthenticationError):
        codes = re.findall(r"AADSTS\d+", str(error))
        return refused("no credentials can be used", where, ", ".join(codes) or "none", SIGN_IN)
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        hint = "name the authority's certificate in REQUESTS_CA_BUNDLE"
        return refused("the server's certificate is not trusted", where, "another one", hint)
    return Transient(type(error).__name__)


def wait_of(headers: Any) -> float | None:
    """Return the longest wait that the headers of an answer ask for, in seconds."""
    asked = [
        seconds(str(value))
        for name, value in headers.items()
        if RETRY_AFTER.fullmatch(name.lower())
    ]
    return max((wait for wait in asked if wait is not None), default=None)


def _answered(error: "HttpResponseError", where: str, needs: str) -> DeliveryError | Transient:
    status, code = error.status_code or 0, code_of(error)
    if status in (TIMEOUT, BUSY) or status >= BROKEN:
        headers = getattr(error.response, "headers", {})
        return Transient(f"{status} {code}".strip(), wait_of(headers))
    if code in STORAGE:
        what, hint = STORAGE[code]
        return refused(what, where, code, hint)
    if status == UNSIGNED or code in SIGNATURES:
        return refused("the credentials are not accepted", where, code or str(status), SIGN_IN)
    if code in CLOSED:
        return refused("the enrolment does not show charges", where, code, CLOSED[code])
    if status == FORBIDDEN:
        return refused("access is denied", where, code or str(status), f"grant {needs}")
    return _named(status, code, where)


def _named(status: int, code: str, where: str) -> DeliveryError:
    """Return what the errors mean that are neither of credentials nor of permissions."""
    if code in ("ContainerNotFound", "ContainerBeingDeleted", "InvalidResourceName"):
        hint = "correct `location` of the source"
        return refused("no such container", where, code, hint, WRONG_USE)
    if status in CHANGED:
        return refused("the file changed while it was copied", where, code, AGAIN)
    if status == ABSENT:
        return AbsentError(
            "the file is gone",
            exit_code=UNREADABLE,
            where=where,
            got=code or str(status),
            hint=AGAIN,
        )
    hint = "check the location and the endpoint"
    return refused("the request was refused", where, f"{status} {code}".strip(), hint)


def code_of(error: "AzureError") -> str:
    """Return Azure's own word for an error; its sentences may repeat what was sent."""
    said = getattr(error, "error", None)
    told = getattr(error, "error_code", None) or getattr(said, "code", None)
    return str(getattr(told, "value", told) or "")


def message_of(error: "AzureError") -> str:
    """Return Azure's own sentence about an error, to look for words in it, not to show it."""
    return str(getattr(getattr(error, "error", None), "message", None) or "")


def refused(
    what: str, where: str, got: str, hint: str, exit_code: int = UNREADABLE
) -> DeliveryError:
    """Return an error that nothing but a person can mend."""
    return DeliveryError(what, exit_code=exit_code, where=where, got=got, hint=hint)
