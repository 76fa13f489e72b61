"""Which kind of place a location is."""

import os
import re
from importlib import import_module
from typing import cast

from connectors.base import ExportSource, Store
from connectors.errors import WRONG_USE, DeliveryError
from connectors.folder import FolderStore

SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
STORES = {
    "s3": ("connectors.s3", "S3Store", "aws"),
    "gs": ("connectors.gcs", "GcsStore", "gcp"),
    "https": ("connectors.blob", "BlobStore", "azure"),
    "http": ("connectors.blob", "BlobStore", "azure"),
}
"""Scheme -> the module and class of its store, made from the `ExportSource`, and the extra."""


def open_store(source: ExportSource) -> Store:
    """Return the store at the location of `source`: a folder, a bucket or a container.

    Raise `DeliveryError` (exit code 2) where it is none of them.
    """
    scheme = SCHEME.match(source.location)
    if scheme is None:
        return FolderStore(source.location)
    _refuse_secrets(source.location)
    if scheme[1].lower() not in STORES:
        raise _unknown(source.location, scheme[0])
    module, name, extra = STORES[scheme[1].lower()]
    try:
        return cast("Store", getattr(import_module(module), name)(source))
    except ImportError as error:
        raise DeliveryError(
            f"reading {scheme[0]} needs a package that is not installed",
            exit_code=WRONG_USE,
            where=source.location,
            expected=f"leerlauf with its extra `{extra}`",
            got=str(error),
            hint=f"pip install 'leerlauf[{extra}]'",
        ) from error


def absolute(location: str) -> str:
    """Return the address, or the folder without links; neither ends with a slash."""
    return location.rstrip("/") if SCHEME.match(location) else os.path.realpath(location)


def _refuse_secrets(location: str) -> None:
    """Refuse an address with a user, a password or a signature in it, without showing them."""
    plain = re.sub(r"(?<=://)[^/]*@", "", location)
    if location.lower().startswith("http"):
        plain = re.sub(r"[?#].*", "", plain, flags=re.DOTALL)
    if plain != location:
        raise DeliveryError(
            "the location holds more than an address",
            exit_code=WRONG_USE,
            where=plain,
            expected="an address without user, password and signature",
            got="an address with `@`, `?` or `#`",
            hint="take them out; credentials come from the provider's own chain",
        )


def _unknown(location: str, scheme: str) -> DeliveryError:
    return DeliveryError(
        "no such kind of place",
        exit_code=WRONG_USE,
        where=location,
        expected="a folder, s3://, gs:// or the https:// address of a blob container",
        got=f"an address that begins with {scheme}",
        hint="correct `location` of the source",
    )
