"""What every call to Google shares: a session with credentials, and words for what goes wrong."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from connectors.base import Meter
from connectors.errors import UNREADABLE, WRONG_USE, DeliveryError
from connectors.retry import PATIENCE, seconds

if TYPE_CHECKING:
    from google.api_core.retry import Retry
    from google.auth.transport.requests import AuthorizedSession
    from requests import Response

BUSY = (408, 429, 502, 503, 504)
PASSING = ("rateLimitExceeded", "userRateLimitExceeded", "backendError", "internalError")
QUOTA = "quotaExceeded"
WAIT_SECONDS = PATIENCE + 60.0
"""How long a call is tried: no less than a server may ask to wait, or waiting were in vain."""
LOGIN = (
    "`gcloud auth application-default login`, or GOOGLE_APPLICATION_CREDENTIALS with the file of"
    " a service account"
)

ROLES = {
    "bigquery.jobs": "roles/bigquery.jobUser on the project that asks",
    "bigquery.readsessions": "roles/bigquery.readSessionUser on the project that asks",
    "bigquery": "roles/bigquery.dataViewer on the dataset",
    "storage": "roles/storage.objectViewer on the bucket",
    "serviceusage": "roles/serviceusage.serviceUsageConsumer on the project that asks",
}
"""What a permission begins with -> who has it."""

_PERMISSION = re.compile(r"\b(?:bigquery|storage|serviceusage)\.\w+\.\w+")
_LONGEST = 300


def open_session(meter: Meter, endpoint: str | None) -> "tuple[AuthorizedSession, str | None]":
    """Return a session that signs and counts its calls, and the project of its credentials.

    Over plain http nothing secret is sent: such an endpoint is one of a test or a tunnel.
    Raises google.auth's errors.
    """
    import google.auth
    from google.auth.credentials import AnonymousCredentials
    from google.auth.transport.requests import AuthorizedSession
    from google.cloud.bigquery import Client

    if endpoint is not None and endpoint.lower().startswith("http://"):
        session = AuthorizedSession(AnonymousCredentials())  # type: ignore[no-untyped-call]
        project = None
    else:
        credentials, project = google.auth.default(scopes=Client.SCOPE)
        session = AuthorizedSession(credentials)  # type: ignore[no-untyped-call]
    session.hooks["response"].append(partial(_count, meter))
    return session, project


def patience(meter: Meter) -> "Retry":
    """Return how BigQuery's client tries again: with its own waits after those asked for."""
    from google.api_core.retry import Retry

    def as_asked(error: Exception) -> None:
        meter.add(retries=1)
        time.sleep(asked_wait(error) or 0.0)

    return Retry(predicate=is_transient, on_error=as_asked, timeout=WAIT_SECONDS)


def is_transient(error: Exception) -> bool:
    """Tell whether another try may help. A failed job is a 500 too: there the reason decides."""
    from google.auth.exceptions import TransportError
    from requests import exceptions

    passing = (
        ConnectionError,
        TransportError,
        exceptions.ChunkedEncodingError,
        exceptions.ConnectionError,
        exceptions.JSONDecodeError,
        exceptions.Timeout,
    )
    if (asked_wait(error) or 0.0) > PATIENCE or isinstance(error, exceptions.SSLError):
        return False
    code, (reason, _) = getattr(error, "code", None), reason_of(error)
    if code in BUSY or reason in PASSING:
        return reason != QUOTA
    failed = code == HTTPStatus.INTERNAL_SERVER_ERROR and reason is None
    return failed or isinstance(error, passing)


def is_gone(error: Exception) -> bool:
    """Tell whether what was known before is there no more, or not for who asks now."""
    missing = getattr(error, "code", None) in (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND)
    return missing or reason_of(error)[0] == "accessDenied"


def asked_wait(error: Exception) -> float | None:
    """Return the seconds that the server asks to wait."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    return seconds(headers.get("Retry-After"))


@contextmanager
def told(where: str, permission: str) -> Iterator[None]:
    """Turn Google's errors into a `DeliveryError` about `where`.

    permission: what is most likely missing where Google does not say which it is.
    """
    from google.api_core.exceptions import GoogleAPIError
    from google.auth.exceptions import GoogleAuthError
    from requests.exceptions import RequestException

    try:
        yield
    except (GoogleAPIError, GoogleAuthError, RequestException, OSError) as error:
        raise explained(error, where, permission) from None


def explained(error: BaseException, where: str, permission: str) -> DeliveryError:
    """Return what a person is told about an error of Google's."""
    from google.api_core.exceptions import RetryError
    from google.auth.exceptions import GoogleAuthError, TransportError

    if isinstance(error, RetryError):
        return explained(error.cause, where, permission)
    if isinstance(error, GoogleAuthError) and not isinstance(error, TransportError):
        return _credentials(error, where)
    code = getattr(error, "code", None)
    reason, message = reason_of(error)
    got = " ".join(str(part) for part in (code, reason, message) if part) or type(error).__name__
    if reason == "bytesBilledLimitExceeded":
        return _over_the_cap(where, got)
    if reason in (QUOTA, *PASSING) or code in (None, *BUSY, HTTPStatus.INTERNAL_SERVER_ERROR):
        return _busy(where, got)
    if code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return _denied(where, permission, got)
    return _missing(where, got) if code == HTTPStatus.NOT_FOUND else _refused(where, got)


def _count(meter: Meter, _: "Response", *__: Any, **___: Any) -> None:
    meter.add(calls=1)


def reason_of(error: BaseException) -> tuple[str | None, str]:
    """Return Google's word for an error and its sentence, without address and headers."""
    errors = getattr(error, "errors", None) or [{}]
    first = errors[0] if isinstance(errors[0], dict) else {}
    message = str(first.get("message") or "").split("\n")[0][:_LONGEST]
    return first.get("reason"), message


# -------------------------------------------------------------------------------- messages


def _credentials(error: Exception, where: str) -> DeliveryError:
    return DeliveryError(
        "Google does not know who asks",
        exit_code=UNREADABLE,
        where=where,
        expected="application default credentials",
        got=type(error).__name__,
        hint=LOGIN,
    )


def _denied(where: str, permission: str, got: str) -> DeliveryError:
    named = _PERMISSION.search(got)
    missing = named[0] if named else permission
    role = next(role for start, role in ROLES.items() if missing.startswith(start))
    return DeliveryError(
        "Google denies access",
        exit_code=UNREADABLE,
        where=where,
        expected=f"the permission {missing}",
        got=got,
        hint=f"grant {role}",
    )


def _missing(where: str, got: str) -> DeliveryError:
    return DeliveryError(
        "no such table or bucket",
        exit_code=WRONG_USE,
        where=where,
        expected="gs://bucket/prefix or project.dataset.gcp_billing_export_resource_v1_<account>",
        got=got,
        hint="correct `location` of the source; in the name of the table the dashes of the account"
        " are underscores",
    )


def _over_the_cap(where: str, got: str) -> DeliveryError:
    return DeliveryError(
        "the query costs more than it may",
        exit_code=WRONG_USE,
        where=where,
        expected="a query within `maximum_bytes_billed`",
        got=got,
        hint="raise `maximum_bytes_billed` of the source",
    )


def _refused(where: str, got: str) -> DeliveryError:
    return DeliveryError(
        "Google refuses the request",
        exit_code=UNREADABLE,
        where=where,
        expected="a table, view or bucket that can be read as it is",
        got=got,
        hint="mend what Google names; a view can be tried in the console",
    )


def _busy(where: str, got: str) -> DeliveryError:
    return DeliveryError(
        "the provider's service does not answer",
        exit_code=UNREADABLE,
        where=where,
        expected="an answer",
        got=got,
        hint="run the command again later; a quota is raised in the project that asks",
    )
