"""A bucket of Cloud Storage as a store of files, by its JSON API."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from connectors import transfer
from connectors.base import ExportSource, Meter, Progress, RemoteFile
from connectors.errors import UNREADABLE, WRONG_USE, DeliveryError
from connectors.google_api import asked_wait, is_transient, open_session, told
from connectors.retry import Transient, persist

if TYPE_CHECKING:
    from requests import Response

CHUNK_BYTES = 256 << 10
SCHEME = "gs://"
SECONDS = 60.0
FIELDS = "nextPageToken,items(name,size,updated,generation)"


class GcsStore:
    """The files below one prefix of a bucket (gs://bucket/prefix).

    A file's etag is its generation: what is read is that very content, or nothing.
    """

    def __init__(self, source: ExportSource) -> None:
        """Raise `DeliveryError` (exit code 2) where the location names no bucket."""
        self.location = source.location
        self.meter = Meter()
        self._endpoint = source.endpoint
        self._bucket, _, prefix = source.location[len(SCHEME) :].partition("/")
        self._prefix = f"{prefix.strip('/')}/".lstrip("/")
        if not self._bucket:
            raise DeliveryError(
                "the location names no bucket",
                exit_code=WRONG_USE,
                where=source.location,
                expected="gs://bucket/prefix",
                hint="correct `location` of the source",
            )
        with told(self.location, "storage.objects.list"):
            self._session, _ = open_session(self.meter, source.endpoint)

    def listing(self) -> list[RemoteFile]:
        """Return every file below the prefix, sorted by path; hidden files are not part of it."""
        files: list[RemoteFile] = []
        asked = {"prefix": self._prefix, "fields": FIELDS}
        while True:
            page = self._list(asked)
            files += [self._file(it) for it in page.get("items", []) if self._counts(it["name"])]
            if "nextPageToken" not in page:
                return sorted(files, key=lambda file: file.path)
            asked["pageToken"] = page["nextPageToken"]

    def find(self, name: str) -> RemoteFile | None:  # noqa: ARG002
        """Return None: the listing of a bucket is never behind its files."""
        return None

    def read(self, file: RemoteFile) -> bytes:
        """Return the content of a small file."""
        return transfer.whole(self, file, lambda: self._body(file))

    def copy(self, file: RemoteFile, target: Path, progress: Progress) -> str:
        """Write an exact copy to `target` and return its sha256."""
        return transfer.download(self, file, target, progress)

    def stream(self, file: RemoteFile, start: int, stop: int) -> Iterator[bytes]:
        """Yield the bytes of `file` from `start` to `stop` (exclusive)."""
        return self._body(file, f"bytes={start}-{stop - 1}")

    # ------------------------------------------------------------------------- the asking

    def _list(self, asked: dict[str, str]) -> Any:
        def once() -> Any:
            with (
                self._told(self.location, "storage.objects.list"),
                closing(self._get("", asked)) as page,
            ):
                return page.json()

        return persist(once, meter=self.meter, what=self.location)

    def _body(self, file: RemoteFile, span: str | None = None) -> Iterator[bytes]:
        """Yield the bytes as they are stored, as long as the file is the listed one."""
        from google.api_core.exceptions import NotFound
        from urllib3.exceptions import HTTPError

        # Without this a file stored as gzip comes unpacked, and whole whatever the range.
        headers = {"Accept-Encoding": "gzip"} | ({"Range": span} if span else {})
        name = quote(f"{self._prefix}{file.path}", safe="")
        asked = {"alt": "media", "generation": file.etag or ""}
        with self._told(file.uri, "storage.objects.get"):
            try:
                answer = self._get(f"/{name}", asked, headers)
            except NotFound:
                raise _gone(file) from None
        with closing(answer):
            _right_range(answer, span, file)
            try:
                yield from answer.raw.stream(CHUNK_BYTES, decode_content=False)
            except HTTPError as error:
                raise Transient(type(error).__name__) from None

    def _get(
        self, path: str, asked: dict[str, str], headers: dict[str, str] | None = None
    ) -> "Response":
        """Return the answer, its body not read yet. Raise Google's error where it is one."""
        from google.api_core.exceptions import from_http_response

        domain = self._session.credentials.universe_domain
        host = self._endpoint or "https://" + f"storage.{domain}"
        url = f"{host.rstrip('/')}/storage/v1/b/{quote(self._bucket, safe='')}/o{path}"
        answer: Response = self._session.get(
            url, params=asked, headers=headers, stream=True, timeout=SECONDS
        )
        if answer.ok:
            return answer
        with closing(answer):
            raise from_http_response(answer)  # type: ignore[no-untyped-call]

    @contextmanager
    def _told(self, where: str, permission: str) -> Iterator[None]:
        """Tell an error worth another try from one that a person is told about."""
        with told(where, permission):
            try:
                yield
            except (DeliveryError, Transient):
                raise
            except Exception as error:
                if is_transient(error):
                    cause = getattr(error, "code", None) or type(error).__name__
                    raise Transient(str(cause), asked_wait(error)) from None
                raise

    def _counts(self, name: str) -> bool:
        """Tell whether a name is the path of a file, and none that is hidden or leads away."""
        parts = name.removeprefix(self._prefix).split("/")
        return all(part and not part.startswith(".") for part in parts)

    def _file(self, told: dict[str, str]) -> RemoteFile:
        return RemoteFile(
            path=told["name"].removeprefix(self._prefix),
            uri=f"{SCHEME}{self._bucket}/{told['name']}",
            size=int(told["size"]),
            modified=datetime.fromisoformat(told["updated"]),
            etag=told["generation"],
        )


def _right_range(answer: "Response", span: str | None, file: RemoteFile) -> None:
    """Raise `Transient` where other bytes come than were asked for."""
    if span is None:
        return
    got = answer.headers.get("Content-Range")
    expected = f"bytes {span.removeprefix('bytes=')}/{file.size}"
    if got != expected:
        raise Transient(f"{got or 'the whole file'} instead of {expected}")


def _gone(file: RemoteFile) -> DeliveryError:
    return DeliveryError(
        "the file changed while it was copied",
        exit_code=UNREADABLE,
        where=file.uri,
        expected=f"its generation {file.etag}",
        got="404",
        hint="wait until the export is written, then run the command again",
    )
