"""The tables of a store file, and how a file of an earlier format becomes one of this format.

Format 2. ``meta(name, value)`` holds ``schema_version``. ``entries(tool, key, digest, request, response)``: `tool` is a
namespace, `request` and `response` are canonical JSON, `digest` is the sha256 of `response`. A response names its blob in the
field ``blob``; ``blobs(digest, media_type, bytes)`` holds it. ``gaps(tool, key, request)`` holds requests that were made and got
no answer; a request has an entry or a gap, not both.

Format 1 had no ``gaps``; its entries are the same.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping

from wildenv.errors import DataError

SCHEMA_VERSION = 2

OVERFETCH_NOTE = "overfetch"
"""Name in ``meta`` of the factor that searches were recorded with."""

_GAPS = "CREATE TABLE IF NOT EXISTS gaps(tool TEXT NOT NULL, key TEXT NOT NULL, request TEXT NOT NULL, PRIMARY KEY (tool, key))"

TABLES = (
    "CREATE TABLE IF NOT EXISTS meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS entries(tool TEXT NOT NULL, key TEXT NOT NULL, digest TEXT NOT NULL, request TEXT NOT NULL, "
    "response TEXT NOT NULL, PRIMARY KEY (tool, key))",
    "CREATE TABLE IF NOT EXISTS blobs(digest TEXT PRIMARY KEY, media_type TEXT NOT NULL, bytes BLOB NOT NULL)",
    _GAPS,
)

_STEPS: dict[int, tuple[str, ...]] = {1: (_GAPS,)}
"""What raises a format to the next one."""


def readable(version: str | None) -> bool:
    """Says whether a file with this ``schema_version`` can be read."""
    return version is not None and version.isdecimal() and 1 <= int(version) <= SCHEMA_VERSION


def noted_overfetch(meta: Mapping[str, str]) -> int | None:
    """Returns the factor that ``meta`` notes, None if it notes none; raises `DataError` if it is no factor."""
    noted = meta.get(OVERFETCH_NOTE)
    if noted is not None and not re.fullmatch(r"[1-9][0-9]{0,5}", noted):
        raise DataError(f"the store says that it was recorded with overfetch={noted[:40]!r}, which is no whole number from 1 up")
    return None if noted is None else int(noted)


def migrate(connection: sqlite3.Connection) -> None:
    """Raises a file to this format, inside the transaction that is open; one that is raised already stays as it is."""
    (found,) = connection.execute("SELECT value FROM meta WHERE name='schema_version'").fetchone()
    for version in range(int(found), SCHEMA_VERSION):
        for statement in _STEPS[version]:
            connection.execute(statement)
    if int(found) < SCHEMA_VERSION:
        connection.execute("UPDATE meta SET value=? WHERE name='schema_version'", (str(SCHEMA_VERSION),))
