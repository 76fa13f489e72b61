"""A small HTTP server in a thread: what the fakes of one provider's API are made of."""

import json
import ssl
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import trustme

from tests.services.running import LOOPBACK


@dataclass(frozen=True)
class Request:
    """One request, as a fake sees it.

    base: the server's address as the client wrote it. headers: by their names in small letters.
    """

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    base: str

    @property
    def json(self) -> Any:
        """The body, read as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Answer:
    """What a fake answers; a body that is no bytes is sent as JSON."""

    status: int = 200
    body: Any = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def content(self) -> bytes:
        """The body in bytes."""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


class Fake:
    """Remembers what was asked, and answers what a test wrote down before anything else."""

    def __init__(self) -> None:
        self.calls: list[Request] = []
        self._scripted: dict[str, list[Answer]] = defaultdict(list)
        self._lock = threading.Lock()

    def then(self, name: str, *answers: Answer) -> None:
        """Let the next calls whose path ends with `name` be answered with these."""
        self._scripted[name].extend(answers)

    def forget(self) -> None:
        """Forget what was asked and what was to be answered."""
        self.calls.clear()
        self._scripted.clear()

    def respond(self, request: Request) -> Answer:
        """Answer one request."""
        with self._lock:
            self.calls.append(request)
            for name, waiting in self._scripted.items():
                if waiting and request.path.endswith(name):
                    return waiting.pop(0)
            return self.answer(request)

    def answer(self, request: Request) -> Answer:
        """Answer as the service would; one request at a time."""
        return Answer(404)


def vouched(folder: Path) -> tuple[Path, ssl.SSLContext]:
    """Return an authority's file in `folder`, and the TLS of a server that it vouches for."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    ca = folder / "ca.pem"
    authority.cert_pem.write_to_path(str(ca))
    return ca, context


@contextmanager
def serving(
    respond: Callable[[Request], Answer], tls: ssl.SSLContext | None = None
) -> Iterator[str]:
    """Serve on a free port until the block ends; yield host:port."""
    server = ThreadingHTTPServer((LOOPBACK, 0), _handler(respond, "https" if tls else "http"))
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"{'localhost' if tls else LOOPBACK}:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(respond: Callable[[Request], Answer], scheme: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 60

        def _serve(self) -> None:
            parts = urlsplit(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            answer = respond(
                Request(
                    method=self.command,
                    path=parts.path,
                    query={name: values[-1] for name, values in parse_qs(parts.query).items()},
                    headers={name.lower(): value for name, value in self.headers.items()},
                    body=self.rfile.read(length),
                    base=f"{scheme}://{self.headers.get('Host', '')}",
                )
            )
            self._send(answer)

        def _send(self, answer: Answer) -> None:
            content = answer.content
            self.send_response(answer.status)
            headers = {"Content-Type": "application/json"} | dict(answer.headers)
            for name, value in headers.items():
                self.send_header(name, value)
            if answer.status != 204:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = _serve  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    return Handler
