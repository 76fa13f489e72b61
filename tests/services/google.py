"""Google's credentials over TLS: a service account whose token the tests' own server gives."""

import json
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
        self.account = folder / "account.json"
        self.endpoint = ""
        self.secure_endpoint = ""

    @property
    def env(self) -> dict[str, str]:
        """Environment of a client that uses `secure_endpoint`."""
        if not self.account.exists():
            self.account.write_text(json.dumps(self._account()), encoding="utf-8")
        return {
            "REQUESTS_CA_BUNDLE": str(self.ca),
            "GOOGLE_APPLICATION_CREDENTIALS": str(self.account),
        }

    def _account(self) -> dict[str, str]:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        pem = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        return {
            "type": "service_account",
            "project_id": "asking-project",
            "private_key_id": "planted-key-id",
            "private_key": pem.decode(),
            "client_email": "reader@asking-project.example",
            "token_uri": f"{self.secure_endpoint}/token",
        }

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
