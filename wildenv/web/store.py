"""A store of answers in one SQLite file: entries by key, and blobs by the sha256 of their bytes.

Many threads and processes may read while one writes; further writers wait their turn. Every write is one transaction, so a
process killed at any moment loses at most the entry it was writing. A power cut may lose the last entries but does not damage
the file. While a store is open, its newest entries lie beside it in ``-wal``; pass on a pack, not the store. Not for network file
systems, whose locks SQLite cannot rely on: copy a pack to the local disk instead.

The format is in `wildenv.web.schema`. A file of an earlier format is read as it is, and raised to this one when it is opened for
writing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wildenv.errors import ConfigError, DataError, UsageError, WebError
from wildenv.folders import make_folder
from wildenv.secrets import scrubbed
from wildenv.strict_json import loads
from wildenv.web.connections import Connections
from wildenv.web.request import canonical_json, sha256
from wildenv.web.schema import SCHEMA_VERSION, TABLES, migrate, readable

_BATCH = 500


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


@dataclass(frozen=True, slots=True)
class Gap:
    """A request that was made and got no answer; `request` is JSON text."""

    tool: str
    key: str
    request: str


class Store:
    """Entries and blobs; see the module's description. Safe for threads, and for processes that fork.

    Args:
        path: The file; made if it is missing, unless `read_only`. None keeps everything in memory.
        read_only: Never write. The file must exist.
        immutable: The file does not change while it is open and may lie in a folder that cannot be written; implies `read_only`.

    Raises:
        ConfigError: If the file is missing, cannot be opened, or is of a later format than this release knows.
        DataError: If the file is damaged or no store.
    """

    def __init__(self, path: str | Path | None, read_only: bool = False, *, immutable: bool = False) -> None:
        self.path = None if path is None else Path(path).absolute()
        self.read_only = read_only or immutable
        self.immutable = immutable
        self._connections = Connections(self.path, self.read_only, immutable)
        self._gapless = False
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
            DataError: If the stored response is no object or does not have the digest it was stored with.
        """
        with self._connections.lent() as connection:
            row = connection.execute("SELECT digest, response FROM entries WHERE tool=? AND key=?", (tool, key)).fetchone()
        if row is None:
            return None
        response = _object(row[1])
        if response is None or sha256(row[1]) != row[0]:
            raise DataError(
                f"{self._connections.name}: entry {tool} {key[:12]} is damaged; record it again with web.mode=refresh"
            )
        return response

    def blob(self, digest: str) -> Blob:
        """Returns a blob.

        Raises:
            DataError: If it is missing or its bytes do not have this digest.
        """
        with self._connections.lent() as connection:
            row = connection.execute("SELECT bytes, media_type FROM blobs WHERE digest=?", (digest,)).fetchone()
        if row is None:
            raise DataError(f"{self._connections.name}: blob {digest[:12]} is missing; record it again with web.mode=refresh")
        if not isinstance(row[0], bytes) or not isinstance(row[1], str) or sha256(row[0]) != digest:
            raise DataError(f"{self._connections.name}: blob {digest[:12]} is damaged; record it again with web.mode=refresh")
        return Blob(row[0], row[1])

    def put(self, tool: str, key: str, request: Mapping[str, Any], response: Mapping[str, Any], blob: Blob | None = None) -> str:
        """Writes an entry and its blob in one transaction, over an entry of the same tool and key; secrets are replaced.

        Returns:
            The digest of the response.

        Raises:
            UsageError: If the response names another blob than the one given.
            ConfigError: If the store is read-only.
            WebError: If the file cannot be written, or other writers keep it for longer than `BUSY_SECONDS`.
        """
        if response.get("blob") != (None if blob is None else blob.digest):
            raise UsageError(f"the response names blob {response.get('blob')!r}, which is not the blob given with it")
        text = canonical_json(scrubbed(response))
        row = Row(tool, key, sha256(text), canonical_json(scrubbed(request)), text)
        self.write([row], [] if blob is None else [blob])
        return row.digest

    def note_gap(self, tool: str, key: str, request: Mapping[str, Any]) -> None:
        """Writes that a request was made and got no answer, unless it has one. Errors as in `put`."""
        self.write([], [], [Gap(tool, key, canonical_json(scrubbed(request)))])

    def has_gap(self, tool: str, key: str) -> bool:
        """Says whether a request was made and got no answer."""
        if self._gapless:
            return False
        with self._connections.lent() as connection:
            return connection.execute("SELECT 1 FROM gaps WHERE tool=? AND key=?", (tool, key)).fetchone() is not None

    def gaps(self, tools: Sequence[str]) -> list[Gap]:
        """Returns the requests of these tools that got no answer, sorted by tool and key."""
        return self.listing(tools)[1]

    def write(self, rows: Sequence[Row], blobs: Sequence[Blob], gaps: Sequence[Gap] = ()) -> None:
        """Writes rows, blobs and gaps in one transaction.

        Rows and blobs go over those that are there; a row closes the gap of its request, and a gap of a request that has a row
        is not written. Errors as in `put`.
        """
        if self.read_only:
            raise ConfigError(f"{self._connections.name} is read-only; to record, set web.store to a file that can be written")
        with self._connections.writing() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO blobs(digest, media_type, bytes) VALUES (?,?,?)",
                [(blob.digest, blob.media_type, blob.data) for blob in blobs],
            )
            connection.executemany(
                "INSERT OR REPLACE INTO entries(tool, key, digest, request, response) VALUES (?,?,?,?,?)",
                [(row.tool, row.key, row.digest, row.request, row.response) for row in rows],
            )
            connection.executemany("DELETE FROM gaps WHERE tool=? AND key=?", [(row.tool, row.key) for row in rows])
            connection.executemany(
                "INSERT OR IGNORE INTO gaps(tool, key, request) SELECT ?1, ?2, ?3 "
                "WHERE NOT EXISTS (SELECT 1 FROM entries WHERE tool=?1 AND key=?2)",
                [(gap.tool, gap.key, gap.request) for gap in gaps],
            )

    def counts(self) -> dict[str, int]:
        """Returns the number of entries by tool, sorted by tool."""
        with self._connections.lent() as connection:
            return dict(connection.execute("SELECT tool, COUNT(*) FROM entries GROUP BY tool ORDER BY tool").fetchall())

    def __len__(self) -> int:
        return sum(self.counts().values())

    def requests(self, tool: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yields key and request of every entry of a tool, in the order of the keys.

        Raises:
            DataError: If a request cannot be read.
        """
        after = ""
        while True:
            with self._connections.lent() as connection:
                rows = connection.execute(
                    f"SELECT key, request FROM entries WHERE tool=? AND key>? ORDER BY key LIMIT {_BATCH}", (tool, after)
                ).fetchall()
            if not rows:
                return
            for key, request in rows:
                row = _object(request)
                if row is None:
                    name = f"{self._connections.name}: entry {tool} {str(key)[:12]}"
                    raise DataError(f"{name} is damaged: its request cannot be read")
                yield key, row
            after = rows[-1][0]

    def foreign(self, tools: Sequence[str]) -> list[str]:
        """Returns the other tools, sorted, that have an entry or a gap."""
        tables = ("entries",) if self._gapless else ("entries", "gaps")
        query = " UNION ".join(f"SELECT tool FROM {table}" for table in tables)
        with self._connections.lent() as connection:
            return sorted({str(tool) for (tool,) in connection.execute(query)} - set(tools))

    def sources(self, tool: str) -> list[tuple[str, str, str]]:
        """Returns provider, version and extractor of the web requests made by a tool, answered or not, each once, sorted."""
        fields = ", ".join(f"json_extract(request, '$.{name}')" for name in ("provider", "version", "extractor"))
        tables = ("entries",) if self._gapless else ("entries", "gaps")
        query = " UNION ".join(f"SELECT DISTINCT {fields} FROM {table} WHERE tool=?1" for table in tables)
        with self._connections.lent() as connection:
            return connection.execute(f"{query} ORDER BY 1, 2, 3", (tool,)).fetchall()

    def listing(self, tools: Sequence[str]) -> tuple[list[tuple[str, str, str]], list[Gap]]:
        """Returns what there is of these tools at one moment: tool, key and response digest of every entry, and the gaps; sorted.

        Raises:
            DataError: If the list holds what is no text.
        """
        chosen = f"WHERE tool IN ({','.join('?' * len(tools))}) ORDER BY tool, key"
        with self._connections.reading() as connection:
            entries = connection.execute(f"SELECT tool, key, digest FROM entries {chosen}", tuple(tools)).fetchall()
            gaps = (
                []
                if self._gapless
                else connection.execute(f"SELECT tool, key, request FROM gaps {chosen}", tuple(tools)).fetchall()
            )
        if not all(isinstance(value, str) for found in (*entries, *gaps) for value in found):
            raise DataError(f"{self._connections.name} is damaged: its list of entries holds what is no text")
        return entries, [Gap(*gap) for gap in gaps]

    def digests(self, tools: Sequence[str]) -> list[tuple[str, str, str]]:
        """Returns tool, key and response digest of every entry of these tools, sorted."""
        return self.listing(tools)[0]

    def rows(self, keys: Sequence[tuple[str, str]]) -> Iterator[Row]:
        """Yields the entries with these tools and keys, in this order.

        Raises:
            DataError: If one is not there, or not under its key.
        """
        query = "SELECT tool, key, digest, request, response FROM entries WHERE tool=? AND key=?"
        for start in range(0, len(keys), _BATCH):
            chunk = keys[start : start + _BATCH]
            with self._connections.lent() as connection:
                found = [connection.execute(query, pair).fetchone() for pair in chunk]
            for pair, row in zip(chunk, found, strict=True):
                if row is None or row[:2] != pair or not all(isinstance(value, str) for value in row):
                    raise DataError(f"{self._connections.name}: entry {pair[0]} {pair[1][:12]} is missing or out of place")
                yield Row(*row)

    def content_digest(self, tools: Sequence[str]) -> str:
        """Returns one digest over tool, key and response digest of every entry, and tool and key of every gap, in any order."""
        entries, gaps = self.listing(tools)
        return sha256("\n".join([*(" ".join(entry) for entry in entries), *(f"{gap.tool} {gap.key} -" for gap in gaps)]))

    def meta(self) -> dict[str, str]:
        """Returns the names and values of the table ``meta``; raises `DataError` if it holds what is no text."""
        with self._connections.lent() as connection:
            rows = connection.execute("SELECT name, value FROM meta ORDER BY name").fetchall()
        if not all(isinstance(value, str) for row in rows for value in row):
            raise DataError(f"{self._connections.name} is damaged: its table meta holds what is no text")
        return dict(rows)

    def set_meta(self, values: Mapping[str, str]) -> None:
        """Writes names and values into ``meta`` in one transaction."""
        with self._connections.writing() as connection:
            connection.executemany("INSERT OR REPLACE INTO meta(name, value) VALUES (?,?)", sorted(values.items()))

    def gather(self) -> None:
        """Moves what was written into the file itself, so that it can be copied alone, as far as nobody reads it just now."""
        self._connections.gather()

    def close(self) -> None:
        """Closes the file. A call that another thread is in the middle of finishes first; later calls raise `UsageError`."""
        self._connections.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _prepare(self) -> None:
        try:
            names = self._tables()
            if not names and not self.read_only:
                self._make()
            elif "meta" not in names or "entries" not in names:
                raise ConfigError(f"{self._connections.name} is not a store of wildenv")
            meta = self.meta()
            if not readable(meta.get("schema_version")):
                found = f"has format {meta.get('schema_version')}, this release reads up to {SCHEMA_VERSION}"
                raise ConfigError(f"{self._connections.name} {found}; install the wildenv that wrote it")
            if not self.read_only:
                if "pack_format" in meta:
                    advice = "use web.mode=replay, or import it into a store"
                    raise ConfigError(f"{self._connections.name} is a pack, which is never written to; {advice}")
                self._connections.share()
                if meta["schema_version"] != str(SCHEMA_VERSION):
                    with self._connections.writing() as connection:
                        migrate(connection)
            self._gapless = "gaps" not in self._tables()
        except WebError as error:
            raise ConfigError(f"{error}; set web.store to a store file that can be opened") from error

    def _tables(self) -> set[str]:
        with self._connections.lent() as connection:
            return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")}

    def _make(self) -> None:
        with self._connections.writing() as connection:
            for statement in TABLES:
                connection.execute(statement)
            connection.execute("INSERT OR IGNORE INTO meta VALUES ('schema_version', ?)", (str(SCHEMA_VERSION),))


def _object(written: Any) -> dict[str, Any] | None:
    """Returns a JSON object as it is stored; None if it is none."""
    try:
        row = loads(written) if isinstance(written, str) else None
    except ValueError:
        return None
    return row if isinstance(row, dict) else None
