"""A bucket as a store of files, through boto3."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC
from pathlib import Path
from typing import Any

from connectors import transfer
from connectors.aws_session import AbsentError, Question, client, explained, sdk_errors
from connectors.base import ExportSource, Meter, Progress, RemoteFile
from connectors.errors import WRONG_USE, DeliveryError
from connectors.retry import Transient

CHUNK_BYTES = 256 << 10
SCHEME = "s3://"


class S3Store:
    """The files below one prefix of a bucket (s3://bucket/prefix)."""

    def __init__(self, source: ExportSource) -> None:
        """Raise `DeliveryError` (exit code 2) where the location names no bucket."""
        self.location = source.location
        self.meter = Meter()
        self._bucket, _, prefix = source.location[len(SCHEME) :].partition("/")
        self._prefix = f"{prefix.strip('/')}/".lstrip("/")
        if not self._bucket:
            raise DeliveryError(
                "the location names no bucket",
                exit_code=WRONG_USE,
                where=source.location,
                expected="s3://bucket/prefix",
                hint="correct `location` of the source",
            )
        # Path style with an endpoint: its name rarely has one below it for every bucket.
        style = {"addressing_style": "path" if source.endpoint else "auto"}
        self._client = client(source, "s3", self.meter, endpoint=source.endpoint, s3=style)

    def listing(self) -> list[RemoteFile]:
        """Return every file below the prefix, sorted by path; hidden files are not part of it."""
        needs = f"s3:ListBucket on arn:aws:s3:::{self._bucket}"
        question = Question(self.location, needs, "IsTruncated")
        files: list[RemoteFile] = []
        more: dict[str, str] = {}
        while True:
            page = question.ask(
                self._client.list_objects_v2,
                self.meter,
                Bucket=self._bucket,
                Prefix=self._prefix,
                **more,
            )
            told = page.get("Contents", [])
            files += [
                self._file(it["Key"], it["Size"], it) for it in told if self._counts(it["Key"])
            ]
            if not page.get("IsTruncated"):
                return sorted(files, key=lambda file: file.path)
            more = {"ContinuationToken": page["NextContinuationToken"]}

    def find(self, name: str) -> RemoteFile | None:
        """Return the file of this uri or key; None where there is none below the prefix."""
        key = name.removeprefix(f"{SCHEME}{self._bucket}/").removeprefix("/")
        if not key.startswith(self._prefix) or not self._counts(key):
            return None
        uri = f"{SCHEME}{self._bucket}/{key}"
        try:
            question = Question(uri, self._to_read, "ContentLength")
            told = question.ask(self._client.head_object, self.meter, Bucket=self._bucket, Key=key)
        except AbsentError:
            return None
        return self._file(key, told["ContentLength"], told)

    def read(self, file: RemoteFile) -> bytes:
        """Return the content of a small file."""
        return transfer.whole(self, file, lambda: self._body(file))

    def copy(self, file: RemoteFile, target: Path, progress: Progress) -> str:
        """Write an exact copy to `target` and return its sha256."""
        return transfer.download(self, file, target, progress)

    def stream(self, file: RemoteFile, start: int, stop: int) -> Iterator[bytes]:
        """Yield the bytes of `file` from `start` to `stop` (exclusive)."""
        return self._body(file, Range=f"bytes={start}-{stop - 1}")

    def _body(self, file: RemoteFile, **asked: str) -> Iterator[bytes]:
        """Yield what one request brings, as long as the file is the listed one."""
        from urllib3.exceptions import HTTPError

        key = f"{self._prefix}{file.path}"
        match = {"IfMatch": f'"{file.etag}"'} if file.etag else {}
        try:
            told = self._client.get_object(Bucket=self._bucket, Key=key, **match, **asked)
            with closing(told["Body"]) as body:
                _right_range(told, asked, file)
                yield from body.iter_chunks(CHUNK_BYTES)
        except HTTPError as error:
            raise Transient(type(error).__name__) from error
        except sdk_errors() as error:
            raise explained(error, file.uri, self._to_read) from error

    @property
    def _to_read(self) -> str:
        return f"s3:GetObject on arn:aws:s3:::{self._bucket}/{self._prefix}*"

    def _counts(self, key: str) -> bool:
        """Tell whether a key is the path of a file, and none that is hidden or leads away."""
        parts = key.removeprefix(self._prefix).split("/")
        return all(part and not part.startswith(".") for part in parts)

    def _file(self, key: str, size: int, told: dict[str, Any]) -> RemoteFile:
        # A listing tells parts of a second, a look at one file does not.
        modified = told["LastModified"].astimezone(UTC).replace(microsecond=0)
        path = key.removeprefix(self._prefix)
        return RemoteFile(
            path, f"{SCHEME}{self._bucket}/{key}", size, modified, told["ETag"].strip('"')
        )


def _right_range(told: dict[str, Any], asked: dict[str, str], file: RemoteFile) -> None:
    """Raise `Transient` where other bytes come than were asked for."""
    if "Range" not in asked:
        return
    expected = f"bytes {asked['Range'].removeprefix('bytes=')}/{file.size}"
    if told.get("ContentRange") != expected:
        raise Transient(f"{told.get('ContentRange') or 'the whole file'} instead of {expected}")
