"""A pack: one file that holds a recorded web, can be copied, checked and replayed, and is never written to.

Format 2. A pack is a store file (see `wildenv.web.schema`) without a write-ahead log, whose ``meta`` also holds ``pack_format``,
``content_digest`` (over tool, key and response digest of every entry, sorted, and then over tool and key of every gap) and
``entries``, their number. It holds the web's tools only; other namespaces of a store, such as cached verdicts, stay behind.
Digests find damage; they do not prove who recorded a pack. Format 1, which had no gaps, is read too.
"""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wildenv.errors import ConfigError, DataError, PackError, WebError, WildenvError
from wildenv.folders import make_folder
from wildenv.progress import progress_bar
from wildenv.web.packs.entries import check_gap, checked_blob
from wildenv.web.packs.part import new_part, remove_part
from wildenv.web.request import WEB_TOOLS
from wildenv.web.schema import OVERFETCH_NOTE, noted_overfetch
from wildenv.web.store import Blob, Gap, Row, Store

PACK_FORMAT = 2
_READ = ("1", "2")

_BATCH = 500
_BATCH_BYTES = 16_000_000
_NAMED = 10
"""Damaged entries that an error message names."""

Entry = tuple[str, str, str]
"""Tool, key and response digest."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a verified pack holds.

    Attributes:
        path: The file.
        digest: Its content digest.
        entries: Number of entries by tool.
        blobs: Number of blobs that entries name.
        size: Of the file, in bytes.
        gaps: Number of gaps by tool.
    """

    path: Path
    digest: str
    entries: dict[str, int]
    blobs: int
    size: int
    gaps: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did.

    Attributes:
        added: Entries added.
        same: Entries that were there already and the same.
        conflicting: Entries that were there with another response, and were left as they were.
        gaps: Gaps added.
        closed: Gaps of the store that an added entry closed.
    """

    added: int
    same: int
    conflicting: int
    gaps: int = 0
    closed: int = 0


def export_pack(store: Store, path: str | Path, replace: bool = True) -> str:
    """Writes the recorded web of a store into one file; an existing pack is replaced once the new one is complete.

    The content is that of the moment the export starts. Exporting the same content again gives the same digest.

    Args:
        store: The store.
        path: The pack.
        replace: Whether a pack that is there already may be replaced; anything else never is.

    Returns:
        The content digest.

    Raises:
        ConfigError: If the store holds no recorded web, or `path` cannot be written, is there and may not be replaced.
        DataError: If an entry, gap or blob of the store is damaged.
    """
    check_target(path, [store.path], replace)
    listed, gaps = store.listing(WEB_TOOLS)
    if not listed and not gaps:
        raise ConfigError("the store holds no recorded web to export; record with web.mode=record first")
    return write_pack(path, [(store, listed)], gaps, f"export {Path(path).name}")


def write_pack(path: str | Path, sources: Sequence[tuple[Store, Sequence[Entry]]], gaps: Sequence[Gap], title: str) -> str:
    """Writes entries of one or several stores, and gaps, into a pack; an existing pack is replaced once the new one is complete.

    A link is followed. What killed processes left of earlier attempts at the same pack is removed first.

    Args:
        path: The pack.
        sources: Stores and what to take of each; nothing twice.
        gaps: Requests without an answer; none that has an entry.
        title: Shown beside the progress.

    Returns:
        The content digest.

    Raises:
        ConfigError: If `path` cannot be written, is one of the sources, or is there and no pack.
        DataError: If an entry, gap or blob is damaged, or a store changed meanwhile.
    """
    check_target(path, [source.path for source, _ in sources])
    path = _led_to(path)
    make_folder(path.parent, "the pack's folder")
    for gap in gaps:
        check_gap(gap)
    count = sum(len(entries) for _, entries in sources)
    part = new_part(path)
    try:
        with Store(part) as target, progress_bar(title, count, "entries", leave=False) as bar:
            for source, entries in sources:
                for rows, blobs in _batches(source, entries):
                    target.write(rows, blobs)
                    bar.update(len(rows))
            target.write([], [], gaps)
            if target.listing(WEB_TOOLS) != (sorted(entry for _, entries in sources for entry in entries), list(gaps)):
                raise DataError("the store changed during the export; export again when nothing records into it")
            digest = target.content_digest(WEB_TOOLS)
            factors = {factor for source, _ in sources if (factor := noted_overfetch(source.meta())) is not None}
            # Sources that were recorded with different factors cannot be replayed with one.
            notes = {OVERFETCH_NOTE: str(factors.pop())} if len(factors) == 1 else {}
            target.set_meta({**notes, "pack_format": str(PACK_FORMAT), "content_digest": digest, "entries": str(count)})
        _seal(part)
        part.replace(path)
    finally:
        remove_part(part)
    return digest


def _led_to(path: str | Path) -> Path:
    """Returns the file that a path stands for, so that a link stays and what it leads to is written."""
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError) as error:
        raise ConfigError(f"{path} cannot be followed to a file ({error}); give the pack another path") from error


def import_pack(path: str | Path, store: Store) -> Imported:
    """Copies a pack into a store. An entry the store has already stays as it is, and an entry on either side closes a gap.

    Raises:
        PackError: If the pack is damaged or of another version; nothing is copied then.
        ConfigError: If the store is read-only.
    """
    verify_pack(path)
    with open_pack(path) as pack:
        listed, gaps = pack.listing(WEB_TOOLS)
        there, open_before = store.listing(WEB_TOOLS)
        known = {(tool, key): digest for tool, key, digest in there}
        missing = [entry for entry in listed if entry[:2] not in known]
        same = sum(known.get((tool, key)) == digest for tool, key, digest in listed)
        with progress_bar(f"import {Path(path).name}", len(missing), "entries", leave=False) as bar:
            for rows, blobs in _batches(pack, missing):
                store.write(rows, blobs)
                bar.update(len(rows))
        store.write([], [], gaps)
    asked = {(gap.tool, gap.key) for gap in open_before}
    new = sum((gap.tool, gap.key) not in known and (gap.tool, gap.key) not in asked for gap in gaps)
    closed = sum(entry[:2] in asked for entry in missing)
    return Imported(len(missing), same, len(listed) - len(missing) - same, new, closed)


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
    if found in _READ:
        return store
    store.close()
    if found is None:
        raise PackError(f"{path} is a store, not a pack; make a pack of it with wildenv.web.packs.pack.export_pack")
    raise PackError(
        f"{path} is a pack of format {found}, this release reads {' and '.join(_READ)}; install the wildenv that wrote it, or "
        "ask for an export made with this release"
    )


def open_recorded(path: str | Path) -> Store:
    """Opens a pack or a store for reading.

    Raises:
        PackError: If it is a pack that cannot be opened.
        ConfigError: If the file is missing or of a later format.
        DataError: If it is neither.
    """
    return open_pack(path) if is_pack(path) else Store(path, read_only=True)


def is_pack(path: str | Path) -> bool:
    """Says whether a file is a pack, of whatever format, and not a store. Errors as in `open_recorded`."""
    with Store(path, read_only=True) as found:
        return "pack_format" in found.meta()


def check_target(path: str | Path, sources: Sequence[str | Path | None] = (), replace: bool = True) -> None:
    """Refuses to write a pack where something would be lost: over what is no pack, or over one of its own sources.

    Args:
        path: Where the pack goes.
        sources: What it is made of.
        replace: Whether a pack that is there already may be replaced.

    Raises:
        ConfigError: If it may not be written there.
    """
    path = Path(path)
    if not path.exists():
        return
    if not path.is_file():
        # Replacing what is there would take the place of a device or fail at the end.
        raise ConfigError(f"{path} is there and is no file; give the pack another path")
    if any(source is not None and Path(source).exists() and path.samefile(source) for source in sources):
        raise ConfigError(f"{path} is what the pack is made of; give the pack another path")
    try:
        found = is_pack(path)
    except WildenvError:
        found = False
    if not found:
        raise ConfigError(f"{path} is there and is no pack; give the pack another path, or remove the file first")
    if not replace:
        raise ConfigError(f"{path} is there already; give the pack another path, or set replace=True to replace it")


def pack_digest(path: str | Path) -> str:
    """Returns the content digest a pack states; two packs with the same digest replay the same web.

    Raises:
        PackError: As in `open_pack`.
    """
    with open_pack(path) as pack:
        return pack.meta()["content_digest"]


def verify_pack(path: str | Path) -> Report:
    """Checks every digest of a pack, and every page of its file.

    Raises:
        PackError: If the file cannot be read to its end or anything in it does not match; the message names damaged entries.
    """
    path = Path(path)
    damaged: list[str] = []
    blobs: set[str] = set()
    with open_pack(path) as pack:
        try:
            meta, (listed, gaps), entries = pack.meta(), pack.listing(WEB_TOOLS), pack.counts()
            damaged += [f"there are entries or gaps of {tool!r}, which is no tool of the web" for tool in pack.foreign(WEB_TOOLS)]
            noted_overfetch(meta)
            digest = pack.content_digest(WEB_TOOLS)
            keys = [entry[:2] for entry in listed]
            with progress_bar(f"verify {path.name}", len(keys), "entries", leave=False) as bar:
                for row in pack.rows(keys):
                    bar.update()
                    try:
                        blob = checked_blob(row, pack)
                    except DataError as error:
                        damaged.append(str(error))
                    else:
                        blobs |= set() if blob is None else {blob.digest}
        except (WebError, DataError) as error:
            raise PackError(f"{path} is damaged and cannot be read to its end ({error}); get the file again") from error
    damaged += [*_damaged_gaps(gaps, set(keys)), *_unsound_pages(path)]
    if meta.get("content_digest") != digest or meta.get("entries") != str(len(listed)):
        damaged.append(f"the list of entries ({len(listed)} found, {meta.get('entries')} recorded) has another digest")
    if damaged:
        more = f"; and {len(damaged) - _NAMED} more" if len(damaged) > _NAMED else ""
        raise PackError(f"{path} is damaged: {'; '.join(damaged[:_NAMED])}{more}. Get the file again or record it again")
    counted = Counter(gap.tool for gap in gaps)
    return Report(path, digest, entries, len(blobs), path.stat().st_size, dict(sorted(counted.items())))


def _unsound_pages(path: Path) -> list[str]:
    """Returns what SQLite finds wrong with the file itself, also where no entry leads."""
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)
    try:
        found = [str(row[0]) for row in connection.execute(f"PRAGMA integrity_check({_NAMED})")]
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        return [f"the file itself: {error}"]
    finally:
        connection.close()
    return [] if found == ["ok"] else [f"the file itself: {' '.join(line.split())}" for line in found]


def _damaged_gaps(gaps: Sequence[Gap], answered: set[tuple[str, str]]) -> Iterator[str]:
    for gap in gaps:
        try:
            check_gap(gap)
        except DataError as error:
            yield str(error)
        if (gap.tool, gap.key) in answered:
            yield f"{gap.tool} {gap.key[:12]}: it has an entry and a gap"


def _batches(store: Store, entries: Sequence[Entry]) -> Iterator[tuple[list[Row], list[Blob]]]:
    """Yields checked entries with their blobs, some megabytes at a time."""
    rows: list[Row] = []
    blobs: dict[str, Blob] = {}
    size = 0
    for row in store.rows([entry[:2] for entry in entries]):
        blob = checked_blob(row, store)
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
