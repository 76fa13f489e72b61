"""Amazon's clients: credentials from its own chain, an assumed role, and what its errors mean."""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from connectors.base import ExportSource, Meter
from connectors.errors import UNREADABLE, WRONG_USE, DeliveryError
from connectors.retry import Transient, persist, seconds
from connectors.transfer import WORKERS

if TYPE_CHECKING:
    from botocore.exceptions import ClientError

SIGN_IN = "sign in again (aws sso login), or give the environment, profile or machine credentials"
AGAIN = "wait until the export is written, then run the command again"
ROLE_SESSION = "leerlauf"
REGION = "us-east-1"
"""Where nothing names another one."""
REGION_OF = {
    ("bcm-data-exports", False): REGION,
    ("bcm-data-exports", True): "cn-northwest-1",
}
"""Services that are in one region only: (service, whether in China) -> region."""
CONNECT_SECONDS = 10

TRANSIENT = {
    "SlowDown",
    "RequestTimeout",
    "InternalError",
    "ServiceUnavailable",
    "RequestLimitExceeded",
    "TooManyRequestsException",
    "InternalServerException",
}
CREDENTIALS = {
    "ExpiredToken": "the credentials have expired",
    "ExpiredTokenException": "the credentials have expired",
    "TokenRefreshRequired": "the credentials have expired",
    "RequestExpired": "the credentials have expired",
    "InvalidAccessKeyId": "the credentials are not known to AWS",
    "InvalidClientTokenId": "the credentials are not known to AWS",
    "UnrecognizedClientException": "the credentials are not known to AWS",
    "InvalidToken": "the credentials are not known to AWS",
    "SignatureDoesNotMatch": "the secret key does not belong to the access key",
    "InvalidSignatureException": "the secret key does not belong to the access key",
}
DENIED = {"AccessDenied", "AccessDeniedException", "AllAccessDisabled", "403", "Forbidden"}
BUSY = 429
BROKEN = 500


class AbsentError(DeliveryError):
    """A file that is not there."""


def client(
    source: ExportSource, service: str, meter: Meter, endpoint: str | None = None, **settings: Any
) -> Any:
    """Return a client whose calls are counted and tried once: `persist` decides what comes next.

    Raise `DeliveryError` where credentials or settings cannot be used.
    """
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError

    config = Config(
        retries={"total_max_attempts": 1},
        max_pool_connections=WORKERS,
        connect_timeout=CONNECT_SECONDS,
        **settings,
    )
    try:
        session = _session(source.role)
        region = session.get_config_variable("region") or REGION
        region = REGION_OF.get((service, region.startswith("cn-")), region)
        made = session.create_client(service, region, endpoint_url=endpoint, config=config)
    except (BotoCoreError, ValueError) as error:
        raise _unusable(error, source.location) from error
    made.meta.events.register("before-send", lambda **_: meter.add(calls=1))
    return made


def _session(role: str | None) -> Any:
    """Return a session with the credentials of the chain, or with those of a role."""
    from botocore.credentials import CredentialResolver
    from botocore.session import get_session

    session = get_session()
    if role is not None:
        # It would log a traceback of what `explained` tells in one sentence.
        logging.getLogger("botocore.credentials").setLevel(logging.CRITICAL)
        resolver = CredentialResolver([_assumed(session, role)])
        session = get_session()
        session.register_component("credential_provider", resolver)
    return session


def _assumed(core: Any, role: str) -> Any:
    """Return a provider of the role's credentials; they are renewed before they expire."""
    from botocore.credentials import (
        AssumeRoleCredentialFetcher,
        CredentialProvider,
        DeferredRefreshableCredentials,
    )
    from botocore.exceptions import NoCredentialsError

    own = core.get_credentials()
    if own is None:
        raise NoCredentialsError

    def create(service: str, **credentials: str) -> Any:
        region = core.get_config_variable("region") or REGION
        return core.create_client(service, region_name=region, **credentials)

    fetcher = AssumeRoleCredentialFetcher(create, own, role, {"RoleSessionName": ROLE_SESSION})

    class Assumed(CredentialProvider):
        METHOD = "assume-role"

        def load(self) -> Any:
            return DeferredRefreshableCredentials(fetcher.fetch_credentials, self.METHOD)

    return Assumed()


@dataclass(frozen=True)
class Question:
    """What is asked for: `where`, with the permission it `needs`, and a field of every answer."""

    where: str
    needs: str
    answer_has: str

    def ask(self, call: Callable[..., Any], meter: Meter, **asked: str) -> Any:
        """Return the answer; an answer that lost its body is asked for again."""

        def once() -> Any:
            try:
                answer = call(**asked)
            except sdk_errors() as error:
                raise explained(error, self.where, self.needs) from error
            if self.answer_has not in answer:
                raise Transient("an empty answer")
            return answer

        return persist(once, meter=meter, what=self.where)


def sdk_errors() -> tuple[type[Exception], ...]:
    """Return what a call may raise."""
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.parsers import ResponseParserError

    return BotoCoreError, ClientError, ResponseParserError


def explained(error: Exception, where: str, needs: str) -> DeliveryError | Transient:
    """Return what an error means; `needs` is the permission to grant where it is missing."""
    from botocore.exceptions import ClientError

    if not isinstance(error, ClientError):
        return _without_answer(error, where)
    code = str(error.response.get("Error", {}).get("Code", ""))
    answer = error.response.get("ResponseMetadata", {})
    status = answer.get("HTTPStatusCode", 0)
    if status == BUSY or status >= BROKEN or code in TRANSIENT or code.startswith("Throttl"):
        return Transient(
            code or str(status), seconds(answer.get("HTTPHeaders", {}).get("retry-after"))
        )
    if code in CREDENTIALS:
        return _refused(CREDENTIALS[code], where, code, SIGN_IN)
    if error.operation_name == "AssumeRole":
        hint = "grant sts:AssumeRole on that role, and name the caller in the role's trust policy"
        return _refused("the role cannot be assumed", where, _said(error), hint)
    if code in DENIED:
        key = "kms:Decrypt on the bucket's key" if "kms:" in _said(error) else needs
        return _refused("access is denied", where, _said(error), f"grant {key}")
    return _named(code, where, _said(error))


def _named(code: str, where: str, said: str) -> DeliveryError:
    """Return what the errors mean that are neither of credentials nor of permissions."""
    if code == "NoSuchBucket":
        hint = "correct `location` of the source"
        return _refused("no such bucket", where, code, hint, exit_code=WRONG_USE)
    if code in ("NoSuchKey", "404"):
        return AbsentError(
            "the file is gone", exit_code=UNREADABLE, where=where, got=code, hint=AGAIN
        )
    if code in ("PreconditionFailed", "412", "InvalidRange", "416"):
        return _refused("the file changed while it was copied", where, code, AGAIN)
    if code == "InvalidObjectState":
        hint = "restore it from the archive, then run the command again"
        return _refused("the file lies in an archive", where, code, hint)
    if code == "RequestTimeTooSkewed":
        return _refused("this machine's clock is wrong", where, code, "set the clock")
    return _refused("the request was refused", where, said, "check the location and the endpoint")


def _said(error: "ClientError") -> str:
    told = error.response.get("Error", {})
    return f"{told.get('Code', '')}: {str(told.get('Message', ''))[:300]}"


def _without_answer(error: Exception, where: str) -> DeliveryError | Transient:
    """Return what an error means that the client itself raises."""
    from botocore import exceptions, parsers

    if isinstance(error, exceptions.ConnectionError | exceptions.HTTPClientError):
        return Transient(type(error).__name__)
    broken = (
        exceptions.IncompleteReadError,
        exceptions.FlexibleChecksumError,
        parsers.ResponseParserError,
    )
    if isinstance(error, broken):
        return Transient("the answer broke off")
    return _unusable(error, where)


def _unusable(error: Exception, where: str) -> DeliveryError:
    """Return what is wrong with credentials or settings, before anything was asked."""
    from botocore import exceptions

    text = re.sub(r"\s+", " ", str(error))[:300]
    if isinstance(error, exceptions.NoCredentialsError | exceptions.NoAuthTokenError):
        return _refused("there are no credentials", where, text, SIGN_IN)
    if isinstance(error, exceptions.ParamValidationError | ValueError):
        hint = "correct `location` or `endpoint` of the source"
        return _refused("no such address", where, text, hint, exit_code=WRONG_USE)
    return _refused("the credentials or settings cannot be used", where, text, SIGN_IN)


def _refused(
    what: str, where: str, got: str, hint: str, *, exit_code: int = UNREADABLE
) -> DeliveryError:
    return DeliveryError(what, exit_code=exit_code, where=where, got=got, hint=hint)
