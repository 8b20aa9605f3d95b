"""A store of answers in one SQLite file: entries by key, and blobs by the sha256 of their bytes.

Many threads and processes may read while one writes; further writers wait their turn. Every write is one transaction, so a
process killed at any moment loses at most the entry it was writing. A power cut may lose the last entries but does not damage
the file. Not for network file systems, whose locks SQLite cannot rely on: copy a pack to the local disk instead.

Format 1. ``meta(name, value)`` holds ``schema_version``. ``entries(tool, key, digest, request, response)``: `tool` is a
namespace, `request` and `response` are canonical JSON, `digest` is the sha256 of `response`. A response names its blob
in the field ``blob``; ``blobs(digest, media_type, bytes)`` holds it.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wildenv.errors import ConfigError, DataError, UsageError, WebError
from wildenv.folders import make_folder
from wildenv.web.request import canonical_json, sha256

SCHEMA_VERSION = 1
BUSY_SECONDS = 60.0
"""How long a writer waits for its turn before it gives up."""

_BATCH = 500
_TABLES = """
CREATE TABLE IF NOT EXISTS meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS entries(
    tool TEXT NOT NULL, key TEXT NOT NULL, digest TEXT NOT NULL, request TEXT NOT NULL, response TEXT NOT NULL,
    PRIMARY KEY (tool, key)
);
CREATE TABLE IF NOT EXISTS blobs(digest TEXT PRIMARY KEY, media_type TEXT NOT NULL, bytes BLOB NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes and what they are."""

    data: bytes
    media_type: str

    @property
    def digest(self) -> str:
        """The sha256 of the bytes."""
        return sha256(self.data)


@dataclass(frozen=True, slots=True)
class Row:
    """One entry as it is stored: JSON texts, not checked."""

    tool: str
    key: str
    digest: str
    request: str
    response: str


def _lenient(data: bytes) -> str:
    return data.decode("utf-8", "replace")


class Store:
    """Entries and blobs; see the module's description. Safe for threads, and for processes that fork.

    Args:
        path: The file; made if it is missing, unless `read_only`. None keeps everything in memory.
        read_only: Never write. The file must exist.
        immutable: The file does not change while it is open and may lie in a folder that cannot be written; implies `read_only`.

    Raises:
        ConfigError: If the file is missing, cannot be opened, or is of a format that this release does not read.
        DataError: If the file is damaged or no store.
    """

    def __init__(self, path: str | Path | None, read_only: bool = False, *, immutable: bool = False) -> None:
        self.path = None if path is None else Path(path).absolute()
        self.read_only = read_only or immutable
        self.immutable = immutable
        self._closed = False
        self._pid = os.getpid()
        self._idle: list[sqlite3.Connection] = []
        self._inherited: list[sqlite3.Connection] = []
        self._lock = threading.RLock()
        if self.path is None and self.read_only:
            raise ConfigError("web.store: a store in memory cannot be read-only; give it a path")
        if self.path is not None and self.read_only and not self.path.is_file():
            raise ConfigError(f"web.store={self.path} does not exist; record it first with web.mode=record")
        if self.path is not None and not self.read_only:
            make_folder(self.path.parent, "web.store: its folder")
        self._prepare()

    @classmethod
    def memory(cls) -> Store:
        """Returns an empty store that lives as long as the object."""
        return cls(None)

    def get(self, tool: str, key: str) -> dict[str, Any] | None:
        """Returns the response of an entry, or None if there is none.

        Raises:
            DataError: If the stored response does not have the digest it was stored with.
        """
        with self._connection() as connection:
            row = connection.execute("SELECT digest, response FROM entries WHERE tool=? AND key=?", (tool, key)).fetchone()
        if row is None:
            return None
        if not isinstance(row[1], str) or sha256(row[1]) != row[0]:
            raise DataError(f"{self._name}: entry {tool} {key[:12]} is damaged; record it again with web.mode=refresh")
        return dict(json.loads(row[1]))

    def blob(self, digest: str) -> Blob:
        """Returns a blob.

        Raises:
            DataError: If it is missing or its bytes do not have this digest.
        """
        with self._connection() as connection:
            row = connection.execute("SELECT bytes, media_type FROM blobs WHERE digest=?", (digest,)).fetchone()
        if row is None:
            raise DataError(f"{self._name}: blob {digest[:12]} is missing; record it again with web.mode=refresh")
        if not isinstance(row[0], bytes) or sha256(row[0]) != digest:
            raise DataError(f"{self._name}: blob {digest[:12]} is damaged; record it again with web.mode=refresh")
        return Blob(row[0], row[1])

    def put(self, tool: str, key: str, request: Mapping[str, Any], response: Mapping[str, Any], blob: Blob | None = None) -> str:
        """Writes an entry and its blob in one transaction, over an entry of the same tool and key.

        Returns:
            The digest of the response.

        Raises:
            UsageError: If the response names another blob than the one given.
            ConfigError: If the store is read-only.
            WebError: If the file cannot be written, or other writers keep it for longer than `BUSY_SECONDS`.
        """
        if response.get("blob") != (None if blob is None else blob.digest):
            raise UsageError(f"the response names blob {response.get('blob')!r}, which is not the blob given with it")
        text = canonical_json(dict(response))
        row = Row(tool, key, sha256(text), canonical_json(dict(request)), text)
        self.write([row], [] if blob is None else [blob])
        return row.digest

    def write(self, rows: Sequence[Row], blobs: Sequence[Blob]) -> None:
        """Writes rows and blobs in one transaction, over those that are there. Errors as in `put`."""
        if self.read_only:
            raise ConfigError(f"{self._name} is read-only; to record, set web.store to a file that can be written")
        with self._transaction() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO blobs(digest, media_type, bytes) VALUES (?,?,?)",
                [(blob.digest, blob.media_type, blob.data) for blob in blobs],
            )
            connection.executemany(
                "INSERT OR REPLACE INTO entries(tool, key, digest, request, response) VALUES (?,?,?,?,?)",
                [(row.tool, row.key, row.digest, row.request, row.response) for row in rows],
            )

    def counts(self) -> dict[str, int]:
        """Returns the number of entries by tool, sorted by tool."""
        with self._connection() as connection:
            return dict(connection.execute("SELECT tool, COUNT(*) FROM entries GROUP BY tool ORDER BY tool").fetchall())

    def __len__(self) -> int:
        return sum(self.counts().values())

    def requests(self, tool: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yields key and request of every entry of a tool, in the order of the keys."""
        after = ""
        while True:
            with self._connection() as connection:
                rows = connection.execute(
                    f"SELECT key, request FROM entries WHERE tool=? AND key>? ORDER BY key LIMIT {_BATCH}", (tool, after)
                ).fetchall()
            if not rows:
                return
            for key, request in rows:
                yield key, json.loads(request)
            after = rows[-1][0]

    def sources(self, tool: str) -> list[tuple[str, str, str]]:
        """Returns provider, version and extractor of the web requests recorded for a tool, each once, sorted."""
        fields = ", ".join(f"json_extract(request, '$.{name}')" for name in ("provider", "version", "extractor"))
        with self._connection() as connection:
            return connection.execute(f"SELECT DISTINCT {fields} FROM entries WHERE tool=? ORDER BY 1, 2, 3", (tool,)).fetchall()

    def digests(self, tools: Sequence[str]) -> list[tuple[str, str, str]]:
        """Returns tool, key and response digest of every entry of these tools, sorted."""
        with self._connection() as connection:
            marks = ",".join("?" * len(tools))
            query = f"SELECT tool, key, digest FROM entries WHERE tool IN ({marks}) ORDER BY tool, key"
            found = connection.execute(query, tuple(tools)).fetchall()
        if not all(isinstance(value, str) for entry in found for value in entry):
            raise DataError(f"{self._name} is damaged: its list of entries holds what is no text")
        return found

    def rows(self, keys: Sequence[tuple[str, str]]) -> Iterator[Row]:
        """Yields the entries with these tools and keys, in this order.

        Raises:
            DataError: If one is not there, or not under its key.
        """
        query = "SELECT tool, key, digest, request, response FROM entries WHERE tool=? AND key=?"
        for start in range(0, len(keys), _BATCH):
            chunk = keys[start : start + _BATCH]
            with self._connection() as connection:
                found = [connection.execute(query, pair).fetchone() for pair in chunk]
            for pair, row in zip(chunk, found, strict=True):
                if row is None or row[:2] != pair or not all(isinstance(value, str) for value in row):
                    raise DataError(f"{self._name}: entry {pair[0]} {pair[1][:12]} is missing or out of place")
                yield Row(*row)

    def content_digest(self, tools: Sequence[str]) -> str:
        """Returns one digest over tool, key and response digest of every entry, whatever order they were written in."""
        return sha256("\n".join(" ".join(entry) for entry in self.digests(tools)))

    def meta(self) -> dict[str, str]:
        """Returns the names and values of the table ``meta``."""
        with self._connection() as connection:
            return dict(connection.execute("SELECT name, value FROM meta ORDER BY name").fetchall())

    def set_meta(self, values: Mapping[str, str]) -> None:
        """Writes names and values into ``meta`` in one transaction."""
        with self._transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO meta(name, value) VALUES (?,?)", sorted(values.items()))

    def close(self) -> None:
        """Closes the file. A call that another thread is in the middle of finishes first; later calls raise `UsageError`."""
        with self._lock:
            self._closed = True
            while self._idle:
                self._idle.pop().close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _name(self) -> str:
        return "store in memory" if self.path is None else f"web.store={self.path}"

    def _open(self) -> sqlite3.Connection:
        if self.path is None:
            return sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        mode = "immutable=1" if self.immutable else "mode=ro" if self.read_only else "mode=rwc"
        connection = sqlite3.connect(
            f"{self.path.as_uri()}?{mode}", uri=True, timeout=BUSY_SECONDS, check_same_thread=False, isolation_level=None
        )
        # A damaged text must reach the check of its digest instead of failing here.
        connection.text_factory = _lenient
        if not self.read_only:
            connection.execute("PRAGMA synchronous=NORMAL")
        return connection

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Lends a connection that no other thread uses meanwhile; a store in memory has one only."""
        if self.path is None:
            with self._lock, self._lent() as connection:
                yield connection
        else:
            with self._lent() as connection:
                yield connection

    @contextmanager
    def _lent(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = self._take()
            try:
                yield connection
            finally:
                self._give(connection)
        except sqlite3.OperationalError as error:
            raise WebError(f"{self._name}: {error}") from error
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            # SQLite quotes a damaged schema in its message, which Python may fail to decode.
            raise DataError(f"{self._name} is damaged or not a store: {error}") from error

    def _take(self) -> sqlite3.Connection:
        with self._lock:
            if self._closed:
                raise UsageError(f"{self._name} is closed")
            if self._pid != os.getpid():
                # SQLite forbids using, and even closing, a connection on the other side of a fork.
                self._inherited += self._idle
                self._idle, self._pid = [], os.getpid()
            if self._idle:
                return self._idle.pop()
        return self._open()

    def _give(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            if self._closed:
                connection.close()
            else:
                self._idle.append(connection)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _prepare(self) -> None:
        try:
            names = self._tables()
            if not names and not self.read_only:
                self._make()
            elif "meta" not in names or "entries" not in names:
                raise ConfigError(f"{self._name} is not a store of wildenv")
            meta = self.meta()
            if meta.get("schema_version") != str(SCHEMA_VERSION):
                found = f"has format {meta.get('schema_version')}, this release reads {SCHEMA_VERSION}"
                raise ConfigError(f"{self._name} {found}; install the wildenv that wrote it")
            if not self.read_only:
                if "pack_format" in meta:
                    advice = "use web.mode=replay, or import it into a store"
                    raise ConfigError(f"{self._name} is a pack, which is never written to; {advice}")
                self._share()
        except WebError as error:
            raise ConfigError(f"{error}; set web.store to a store file that can be opened") from error

    def _tables(self) -> set[str]:
        with self._connection() as connection:
            return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")}

    def _make(self) -> None:
        with self._transaction() as connection:
            for statement in filter(str.strip, _TABLES.split(";")):
                connection.execute(statement)
            connection.execute("INSERT OR IGNORE INTO meta VALUES ('schema_version', ?)", (str(SCHEMA_VERSION),))

    def _share(self) -> None:
        """Lets readers go on while one writes (SQLite's write-ahead log)."""
        if self.path is None:
            return
        deadline = time.monotonic() + BUSY_SECONDS
        with self._connection() as connection:
            while connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
                try:
                    connection.execute("PRAGMA journal_mode=WAL")
                except sqlite3.OperationalError:
                    # SQLite does not wait for this lock by itself when several processes open a new file at once.
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.01)
