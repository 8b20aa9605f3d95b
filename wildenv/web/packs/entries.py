"""Checks of what a store or pack holds: that an entry's digests match, and that a request is stored under its own key.

Whether what is recorded is true, or useful to the tools, is not looked at.
"""

from __future__ import annotations

from wildenv.errors import DataError
from wildenv.strict_json import loads
from wildenv.web.request import WebRequest, sha256
from wildenv.web.store import Blob, Gap, Row, Store


def check_gap(gap: Gap) -> None:
    """Checks a gap; raises `DataError`, naming it."""
    _checked_request(f"gap {gap.tool} {gap.key[:12]}", gap)


def checked_blob(row: Row, store: Store) -> Blob | None:
    """Returns the blob an entry names, after every check of the entry; raises `DataError`, naming the entry."""
    request = _checked_request(f"{row.tool} {row.key[:12]}", row)
    name = f"{row.tool} {request.text[:60]!r} ({row.key[:12]})"
    if sha256(row.response) != row.digest:
        raise DataError(f"{name}: its response does not have the recorded digest")
    digest = _named_blob(name, row)
    if digest is None:
        return None
    try:
        return store.blob(digest)
    except DataError as error:
        raise DataError(f"{name}: its blob {digest[:12]} is missing or damaged") from error


def _checked_request(name: str, found: Row | Gap) -> WebRequest:
    try:
        request = WebRequest.from_dict(loads(found.request))
    except (ValueError, DataError) as error:
        raise DataError(f"{name}: its request is unreadable") from error
    if request.key != found.key or request.tool != found.tool:
        raise DataError(f"{name}: its request does not have this key")
    return request


def _named_blob(name: str, row: Row) -> str | None:
    try:
        response = loads(row.response)
    except ValueError as error:
        raise DataError(f"{name}: its response is unreadable") from error
    digest = response.get("blob") if isinstance(response, dict) else 0
    if digest is not None and not isinstance(digest, str):
        raise DataError(f"{name}: its response is unreadable")
    return digest
