"""Google's credentials over TLS: a service account whose token the tests' own server gives."""

import json
from functools import cached_property
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.services.web import Answer, Fake, Request

TOKEN = "planted-token-of-google"  # noqa: S105 - the tests' own server


class Google(Fake):
    """One of Google's APIs; over TLS it wants a token, and gives one to its service account."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.ca = folder / "ca.pem"
        self.endpoint = ""
        self.secure_endpoint = ""

    @property
    def env(self) -> dict[str, str]:
        """Environment of a client that uses `secure_endpoint`."""
        return {
            "REQUESTS_CA_BUNDLE": str(self.ca),
            "GOOGLE_APPLICATION_CREDENTIALS": self.account_with(self.private_key),
        }

    @cached_property
    def private_key(self) -> str:
        """The key of the service account."""
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        pem = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        return pem.decode()

    def account_with(self, private_key: str) -> str:
        """Write the file of the service account with this key, and return its path."""
        account = {
            "type": "service_account",
            "project_id": "asking-project",
            "private_key_id": "planted-key-id",
            "private_key": private_key,
            "client_email": "reader@asking-project.example",
            "token_uri": f"{self.secure_endpoint}/token",
        }
        known = "account" if private_key == self.private_key else "other"
        path = self.ca.with_name(f"{known}.json")
        path.write_text(json.dumps(account), encoding="utf-8")
        return str(path)

    def answer(self, request: Request) -> Answer:
        """Answer as Google would."""
        if request.path == "/token":
            return Answer(body={"access_token": TOKEN, "expires_in": 3600, "token_type": "Bearer"})
        known = request.headers.get("authorization") == f"Bearer {TOKEN}"
        if request.base.startswith("https") and not known:
            return problem(401, "authError", "Invalid Credentials")
        return self.api(request)

    def api(self, request: Request) -> Answer:
        """Answer a caller who may ask."""
        return problem(404, "notFound", f"Not found: {request.path}")


def problem(status: int, reason: str, message: str, **headers: str) -> Answer:
    """Return an error as Google writes it; `a_b` in a header's name stands for `a-b`."""
    error: dict[str, Any] = {
        "code": status,
        "message": message,
        "errors": [{"reason": reason, "domain": "global", "message": message}],
    }
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, {"error": error}, names)
