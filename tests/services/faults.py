"""A proxy that spoils a share of the answers that pass through it, the same ones for one seed.

Whether and how an answer is spoiled depends on the seed, on what is asked and on how often it was
asked before, never on the order in which several threads ask.
"""

import asyncio
import random
import socket
import ssl
import struct
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from tests.services.running import LOOPBACK

RESET = "reset"
TRUNCATED = "truncated"
THROTTLED = "throttled"
THROTTLED_WAIT = "throttled with Retry-After"
INTERNAL = "500"
UNAVAILABLE = "503"
LONGER = "Content-Length too long"
SHORTER = "Content-Length too short"
STALE = "stale listing"
LATE = "late"
KINDS = (
    *(RESET, TRUNCATED, THROTTLED, THROTTLED_WAIT, INTERNAL),
    *(UNAVAILABLE, LONGER, SHORTER, STALE, LATE),
)
STATUSES = {
    THROTTLED: "429 Too Many Requests",
    THROTTLED_WAIT: "429 Too Many Requests",
    INTERNAL: "500 Internal Server Error",
    UNAVAILABLE: "503 Service Unavailable",
}
LISTINGS = ("list-type=2", "comp=list", "/o?prefix=")
CHUNK = 64 * 1024
_NO_LINGER = struct.pack("ii", 1, 0)


@dataclass(frozen=True)
class Message:
    """An HTTP message: its first line, its headers as they came, its body."""

    first: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str:
        """Return the value of a header, "" where there is none."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), "")

    def head(self, length: int | None) -> bytes:
        """Return first line and headers, with this Content-Length, for one exchange only."""
        hidden = {"content-length", "transfer-encoding", "connection", "expect", "keep-alive"}
        lines = [f"{k}: {v}" for k, v in self.headers if k.lower() not in hidden]
        lines += [] if length is None else [f"Content-Length: {length}"]
        return "\r\n".join([self.first, *lines, "Connection: close", "", ""]).encode("latin-1")


@dataclass
class FaultProxy:
    """A running proxy. `rate` of the answers are spoiled, each in one of `kinds`.

    requests: first line and Range of everything asked; spoiled: kind -> how often.
    """

    upstream: tuple[str, int]
    seed: int = 0
    rate: float = 0.0
    kinds: Sequence[str] = KINDS
    endpoint: str = ""
    requests: list[str] = field(default_factory=list)
    spoiled: Counter[str] = field(default_factory=Counter)
    sent: int = 0
    _asked: Counter[str] = field(default_factory=Counter)
    _listings: dict[str, Message] = field(default_factory=dict)

    def forget(self) -> None:
        """Forget what was asked."""
        self.requests.clear()
        self.spoiled.clear()
        self.sent = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass one exchange on, or spoil it."""
        with suppress(OSError, asyncio.IncompleteReadError):
            request = await _read(reader, writer)
            what = f"{request.first} {request.header('Range') or request.header('x-ms-range')}"
            self.requests.append(what.strip())
            await self._answer(request, what, writer)
        with suppress(OSError):
            writer.close()
            await writer.wait_closed()

    async def _answer(self, request: Message, what: str, writer: asyncio.StreamWriter) -> None:
        dice = random.Random(f"{self.seed}/{what}/{self._asked[what]}")
        self._asked[what] += 1
        kind = dice.choice(self.kinds) if dice.random() < self.rate else None
        if kind in STATUSES:
            self.spoiled[kind] += 1
            writer.write(_refusal(kind))
            await writer.drain()
            return
        answer = await self._ask(request)
        if any(sign in request.first for sign in LISTINGS):
            first = self._listings.setdefault(what, answer)
            answer = first if kind == STALE else answer
        await self._send(answer, request, kind, dice, writer)

    async def _ask(self, request: Message) -> Message:
        reader, writer = await asyncio.open_connection(*self.upstream)
        writer.write(request.head(len(request.body)) + request.body)
        await writer.drain()
        answer = await _read(reader, None, head_only=request.first.startswith("HEAD "))
        writer.close()
        return answer

    async def _send(
        self,
        answer: Message,
        request: Message,
        kind: str | None,
        dice: random.Random,
        writer: asyncio.StreamWriter,
    ) -> None:
        if request.first.startswith("HEAD ") or answer.first.split(" ")[1] in ("204", "304"):
            told = answer.header("Content-Length")
            writer.write(answer.head(int(told) if told else None))
            await writer.drain()
            return
        body = answer.body
        length = len(body)
        cut = dice.randrange(length) if length else 0
        if kind == LATE:
            await asyncio.sleep(dice.uniform(0.05, 0.3))
        if kind == LONGER:
            length += dice.randrange(1, 100)
        if kind in (RESET, TRUNCATED, SHORTER):
            body = body[:cut]
        if kind == SHORTER:
            length = cut
        if kind:
            self.spoiled[kind] += 1
        writer.write(answer.head(length))
        for start in range(0, len(body), CHUNK):
            writer.write(body[start : start + CHUNK])
            await writer.drain()
        self.sent += len(body)
        if kind == RESET:
            _reset(writer)


def _reset(writer: asyncio.StreamWriter) -> None:
    """Break the connection instead of closing it."""
    connection: socket.socket = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
    writer.transport.abort()


def _refusal(kind: str) -> bytes:
    wait = (("Retry-After", "1"),) if kind == THROTTLED_WAIT else ()
    return Message(f"HTTP/1.1 {STATUSES[kind]}", wait, b"").head(0)


async def _read(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter | None,
    *,
    head_only: bool = False,
) -> Message:
    """Read one message; `writer` belongs to a client that may wait for leave to go on."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip("\r\n").split("\r\n")
    headers = tuple((k, v.strip()) for k, _, v in (line.partition(":") for line in lines))
    message = Message(first, headers, b"")
    if writer is not None and message.header("Expect"):
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    if head_only:
        return message
    return Message(first, headers, await _body(reader, message))


async def _body(reader: asyncio.StreamReader, message: Message) -> bytes:
    if message.header("Transfer-Encoding").lower() == "chunked":
        parts = []
        while size := int((await reader.readline()).split(b";")[0], 16):
            parts.append(await reader.readexactly(size))
            await reader.readline()
        await reader.readline()
        return b"".join(parts)
    return await reader.readexactly(int(message.header("Content-Length") or 0))


@contextmanager
def running(
    upstream: str,
    *,
    seed: int = 0,
    rate: float = 0.0,
    kinds: Sequence[str] = KINDS,
    tls: ssl.SSLContext | None = None,
) -> Iterator[FaultProxy]:
    """Run a proxy in a thread before `upstream`: a plain http address, perhaps with a path."""
    place = upstream.removeprefix("http://")
    address, slash, path = place.partition("/")
    host, _, port = address.partition(":")
    proxy = FaultProxy((host, int(port)), seed, rate, kinds)
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(proxy.serve, LOOPBACK, 0, ssl=tls))
    own = server.sockets[0].getsockname()[1]
    scheme, name = ("https", "localhost") if tls else ("http", LOOPBACK)
    proxy.endpoint = f"{scheme}://{name}:{own}{slash}{path}"
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.run_until_complete(_close(server))
        loop.close()


async def _close(server: asyncio.Server) -> None:
    """Close the server, and end the exchanges that nobody waits for any more."""
    server.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
