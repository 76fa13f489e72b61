"""Cloud Storage's JSON API, reading only: listings in pages, ranges, generations."""

import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tests.services.google import Google, problem
from tests.services.web import Answer, Request, serving

_PATH = re.compile(r"/storage/v1/b/([^/]+)/o(?:/(.+))?")
_RANGE = re.compile(r"bytes=(\d+)-(\d+)")


@dataclass(frozen=True)
class Object:
    """One object as it is now."""

    content: bytes
    generation: str
    updated: datetime


class Gcs(Google):
    """A running Cloud Storage: bucket -> name -> object."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.page = 3
        self.forget()

    def forget(self) -> None:
        """Forget calls, answers and buckets."""
        super().forget()
        self._buckets: dict[str, dict[str, Object]] = {}
        self._generation = count(1_800_000_000_000_000)
        self.page = 3

    def put(self, bucket: str, name: str, content: bytes) -> None:
        """Write an object; the bucket is made where it is not there."""
        it = Object(content, str(next(self._generation)), datetime.now(UTC))
        self._buckets.setdefault(bucket, {})[name] = it

    def upload(self, folder: Path, bucket: str, prefix: str) -> str:
        """Copy a folder to the bucket; return its gs:// address."""
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            self.put(bucket, f"{prefix}/{path.relative_to(folder).as_posix()}", path.read_bytes())
        return f"gs://{bucket}/{prefix}"

    def api(self, request: Request) -> Answer:
        """Answer one request."""
        found = _PATH.fullmatch(request.path)
        bucket = unquote(found[1]) if found else ""
        if found is None or bucket not in self._buckets:
            return problem(404, "notFound", "The specified bucket does not exist.")
        objects = self._buckets[bucket]
        if found[2] is None:
            return self._list(objects, request)
        return self._get(objects.get(unquote(found[2])), request)

    def _list(self, objects: dict[str, Object], request: Request) -> Answer:
        prefix = request.query.get("prefix", "")
        names = sorted(name for name in objects if name.startswith(prefix))
        start = int(request.query.get("pageToken") or 0)
        shown = names[start : start + self.page]
        answer: dict[str, Any] = {"items": [_told(name, objects[name]) for name in shown]}
        if start + self.page < len(names):
            answer["nextPageToken"] = str(start + self.page)
        return Answer(body=answer)

    @staticmethod
    def _get(it: Object | None, request: Request) -> Answer:
        if it is None or request.query.get("generation", it.generation) != it.generation:
            return problem(404, "notFound", "No such object.")
        if request.query.get("alt") != "media":
            return Answer(body=_told(unquote(request.path.rpartition("/o/")[2]), it))
        headers = {
            "Content-Type": "application/octet-stream",
            "x-goog-generation": it.generation,
        }
        asked = _RANGE.fullmatch(request.headers.get("range", ""))
        if asked is None:
            return Answer(200, it.content, headers)
        start, stop = int(asked[1]), min(int(asked[2]) + 1, len(it.content))
        told = f"bytes {start}-{stop - 1}/{len(it.content)}"
        return Answer(206, it.content[start:stop], headers | {"Content-Range": told})


def _told(name: str, it: Object) -> dict[str, str]:
    return {
        "name": name,
        "size": str(len(it.content)),
        "updated": it.updated.isoformat().replace("+00:00", "Z"),
        "generation": it.generation,
    }


@contextmanager
def running(folder: Path, tls: ssl.SSLContext) -> Iterator[Gcs]:
    """Serve Cloud Storage twice: in the open without credentials, and over TLS with them."""
    fake = Gcs(folder)
    with serving(fake.respond) as plain, serving(fake.respond, tls) as secure:
        fake.endpoint = f"http://{plain}"
        fake.secure_endpoint = f"https://{secure}"
        yield fake
