"""Hashes of files: what went in, what came out, with which lock."""

import hashlib
from pathlib import Path

_LOCK = Path(__file__).resolve().parent.parent / "requirements.lock"


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def lock_hash() -> str | None:
    """Return the sha256 of the lock this program was installed with; None outside a checkout."""
    return sha256_of(_LOCK) if _LOCK.exists() else None
