"""A pack: one file that holds a recorded web, can be copied, checked and replayed, and is never written to.

Format 1. A pack is a store file (see `wildenv.web.store`) without a write-ahead log, whose ``meta`` also holds ``pack_format``,
``content_digest`` (over tool, key and response digest of every entry, sorted) and ``entries``, their number. It holds the web's
tools only; other namespaces of a store, such as cached verdicts, stay behind. Digests find damage; they do not prove who
recorded a pack.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from wildenv.errors import ConfigError, DataError, PackError, WebError
from wildenv.folders import make_folder
from wildenv.web.request import WEB_TOOLS, WebRequest, sha256
from wildenv.web.store import Blob, Row, Store

PACK_FORMAT = 1

_BATCH = 500
_BATCH_BYTES = 16_000_000
_NAMED = 10
"""Damaged entries that an error message names."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a verified pack holds.

    Attributes:
        path: The file.
        digest: Its content digest.
        entries: Number of entries by tool.
        blobs: Number of blobs that entries name.
        size: Of the file, in bytes.
    """

    path: Path
    digest: str
    entries: dict[str, int]
    blobs: int
    size: int


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did: entries added, already there and the same, and there with another response (left as they were)."""

    added: int
    same: int
    conflicting: int


def export_pack(store: Store, path: str | Path) -> str:
    """Writes the recorded web of a store into one file; an existing file is replaced once the new one is complete.

    The content is that of the moment the export starts. Exporting the same content again gives the same digest.

    Returns:
        The content digest.

    Raises:
        ConfigError: If the store holds no recorded web, or `path` cannot be written or is there and no file.
        DataError: If an entry or blob of the store is damaged.
    """
    path = Path(path).absolute()
    if path.exists() and not path.is_file():
        # Replacing what is there would take the place of a device or fail at the end.
        raise ConfigError(f"{path} is there and is no file; give the pack another path")
    listed = store.digests(WEB_TOOLS)
    if not listed:
        raise ConfigError("the store holds no recorded web to export; record with web.mode=record first")
    make_folder(path.parent, "the pack's folder")
    part = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}.part")
    try:
        with Store(part) as target:
            for rows, blobs in _batches(store, listed, f"export {path.name}"):
                target.write(rows, blobs)
            if target.digests(WEB_TOOLS) != listed:
                raise DataError("the store changed during the export; export again when nothing records into it")
            digest = target.content_digest(WEB_TOOLS)
            target.set_meta({"pack_format": str(PACK_FORMAT), "content_digest": digest, "entries": str(len(listed))})
        _seal(part)
        part.replace(path)
    finally:
        for leftover in (part, Path(f"{part}-wal"), Path(f"{part}-shm")):
            leftover.unlink(missing_ok=True)
    return digest


def import_pack(path: str | Path, store: Store) -> Imported:
    """Copies a pack into a store. An entry the store has already stays as it is.

    Raises:
        PackError: If the pack is damaged or of another version; nothing is copied then.
        ConfigError: If the store is read-only.
    """
    verify_pack(path)
    with open_pack(path) as pack:
        listed = pack.digests(WEB_TOOLS)
        known = {(tool, key): digest for tool, key, digest in store.digests(WEB_TOOLS)}
        missing = [entry for entry in listed if entry[:2] not in known]
        same = sum(known.get((tool, key)) == digest for tool, key, digest in listed)
        for rows, blobs in _batches(pack, missing, f"import {Path(path).name}"):
            store.write(rows, blobs)
    return Imported(len(missing), same, len(listed) - len(missing) - same)


def open_pack(path: str | Path) -> Store:
    """Opens a pack for replay; works from a folder that cannot be written.

    Raises:
        PackError: If the file is missing, is no pack, or is of another version. Entries are checked when they are read;
            `verify_pack` checks all of them at once.
    """
    path = Path(path)
    if not path.is_file():
        raise PackError(f"there is no pack at {path}; set web.store to the pack file")
    try:
        store = Store(path, immutable=True)
    except (ConfigError, DataError) as error:
        raise PackError(f"{path} cannot be opened as a pack: {error}") from error
    found = store.meta().get("pack_format")
    if found == str(PACK_FORMAT):
        return store
    store.close()
    if found is None:
        raise PackError(f"{path} is a store, not a pack; make a pack of it with export_pack")
    raise PackError(
        f"{path} is a pack of format {found}, this release reads {PACK_FORMAT}; install the wildenv that wrote it, or ask for an "
        "export made with this release"
    )


def pack_digest(path: str | Path) -> str:
    """Returns the content digest a pack states; two packs with the same digest replay the same web.

    Raises:
        PackError: As in `open_pack`.
    """
    with open_pack(path) as pack:
        return pack.meta()["content_digest"]


def verify_pack(path: str | Path) -> Report:
    """Checks every digest of a pack.

    Raises:
        PackError: If the file cannot be read to its end or anything in it does not match; the message names damaged entries.
    """
    path = Path(path)
    damaged: list[str] = []
    blobs: set[str] = set()
    with open_pack(path) as pack:
        try:
            meta, listed, entries = pack.meta(), pack.digests(WEB_TOOLS), pack.counts()
            digest = pack.content_digest(WEB_TOOLS)
            keys = [(tool, key) for tool, key, _ in listed]
            for row in tqdm(pack.rows(keys), f"verify {path.name}", len(keys), unit="entry", disable=None, leave=False):
                try:
                    blob = _checked(row, pack)
                except DataError as error:
                    damaged.append(str(error))
                else:
                    blobs |= set() if blob is None else {blob.digest}
        except (WebError, DataError) as error:
            raise PackError(f"{path} is damaged and cannot be read to its end ({error}); get the file again") from error
    if meta.get("content_digest") != digest or meta.get("entries") != str(len(listed)):
        damaged.append(f"the list of entries ({len(listed)} found, {meta.get('entries')} recorded) has another digest")
    if damaged:
        more = f"; and {len(damaged) - _NAMED} more" if len(damaged) > _NAMED else ""
        raise PackError(f"{path} is damaged: {'; '.join(damaged[:_NAMED])}{more}. Get the file again or record it again")
    return Report(path, digest, entries, len(blobs), path.stat().st_size)


def _checked(row: Row, store: Store) -> Blob | None:
    """Returns the blob an entry names, after every check of the entry; raises `DataError`, naming the entry."""
    name = f"{row.tool} {row.key[:12]}"
    try:
        request = WebRequest.from_dict(json.loads(row.request))
    except (ValueError, DataError) as error:
        raise DataError(f"{name}: its request is unreadable") from error
    if request.key != row.key or request.tool != row.tool:
        raise DataError(f"{name}: its request does not have this key")
    name = f"{row.tool} {request.text[:60]!r} ({row.key[:12]})"
    if sha256(row.response) != row.digest:
        raise DataError(f"{name}: its response does not have the recorded digest")
    digest = json.loads(row.response).get("blob")
    try:
        return None if digest is None else store.blob(digest)
    except DataError as error:
        raise DataError(f"{name}: its blob {digest[:12]} is missing or damaged") from error


def _batches(store: Store, listed: Sequence[tuple[str, str, str]], title: str) -> Iterator[tuple[list[Row], list[Blob]]]:
    """Yields checked entries with their blobs, some megabytes at a time."""
    rows: list[Row] = []
    blobs: dict[str, Blob] = {}
    size = 0
    keys = [(tool, key) for tool, key, _ in listed]
    for row in tqdm(store.rows(keys), title, len(keys), unit="entry", disable=None, leave=False):
        blob = _checked(row, store)
        rows.append(row)
        size += len(row.response)
        if blob is not None and blob.digest not in blobs:
            blobs[blob.digest] = blob
            size += len(blob.data)
        if size > _BATCH_BYTES or len(rows) >= _BATCH:
            yield rows, list(blobs.values())
            rows, blobs, size = [], {}, 0
    if rows:
        yield rows, list(blobs.values())


def _seal(path: Path) -> None:
    """Turns a store file into one that needs no second file beside it, and puts it on the disk."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode=DELETE")
    finally:
        connection.close()
    with path.open("rb") as file:
        os.fsync(file.fileno())
