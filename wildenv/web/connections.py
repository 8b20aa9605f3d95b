"""Connections to one SQLite file, lent to one thread at a time.

Safe for threads, and for processes that fork. Errors of SQLite become ours here and name the file. What the tables are is not
known here.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wildenv.errors import DataError, UsageError, WebError

BUSY_SECONDS = 60.0
"""How long a writer waits for its turn before it gives up."""


def _lenient(data: bytes) -> str:
    return data.decode("utf-8", "replace")


class Connections:
    """A file, or a database in memory, and its open connections.

    Args:
        path: The file; None is a database in memory, which has one connection only.
        read_only: Open it for reading; the file must exist.
        immutable: The file does not change while it is open and may lie in a folder that cannot be written.
    """

    def __init__(self, path: Path | None, read_only: bool, immutable: bool) -> None:
        self.path = path
        self.name = "store in memory" if path is None else f"web.store={path}"
        self.inherited: list[sqlite3.Connection] = []
        self._mode = "immutable=1" if immutable else "mode=ro" if read_only else "mode=rwc"
        self._read_only = read_only or immutable
        self._closed = False
        self._pid = os.getpid()
        self._idle: list[sqlite3.Connection] = []
        self._lock = threading.RLock()

    @contextmanager
    def lent(self) -> Iterator[sqlite3.Connection]:
        """Lends a connection that no other thread uses meanwhile.

        Raises:
            UsageError: After `close`.
            DataError: If the file is damaged or no database.
            WebError: If it cannot be read or written, or other writers keep it for longer than `BUSY_SECONDS`.
        """
        if self.path is None:
            with self._lock, self._translated() as connection:
                yield connection
        else:
            with self._translated() as connection:
                yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Lends a connection inside a transaction that holds the only right to write. Errors as in `lent`."""
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lends a connection that sees the file as at its first look, whatever others write meanwhile. Errors as in `lent`."""
        with self._transaction("BEGIN") as connection:
            yield connection

    def share(self) -> None:
        """Lets readers go on while one writes (SQLite's write-ahead log). Errors as in `lent`."""
        if self.path is None:
            return
        deadline = time.monotonic() + BUSY_SECONDS
        with self.lent() as connection:
            while connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
                try:
                    connection.execute("PRAGMA journal_mode=WAL")
                except sqlite3.OperationalError:
                    # SQLite does not wait for this lock by itself when several processes open a new file at once.
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.01)

    def gather(self) -> None:
        """Moves what was written from the write-ahead log into the file, as far as nobody reads it. Errors as in `lent`."""
        with self.lent() as connection:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    def close(self) -> None:
        """Closes the file. A call that another thread is in the middle of finishes first; later calls raise `UsageError`."""
        with self._lock:
            self._closed = True
            while self._idle:
                self._idle.pop().close()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self.lent() as connection:
            connection.execute(begin)
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _translated(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = self._take()
            try:
                yield connection
            finally:
                self._give(connection)
        except sqlite3.OperationalError as error:
            raise WebError(f"{self.name}: {error}") from error
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            # SQLite quotes a damaged schema in its message, which Python may fail to decode.
            raise DataError(f"{self.name} is damaged or not a store: {error}") from error

    def _take(self) -> sqlite3.Connection:
        with self._lock:
            if self._closed:
                raise UsageError(f"{self.name} is closed")
            if self._pid != os.getpid():
                # SQLite forbids using, and even closing, a connection on the other side of a fork.
                self.inherited += self._idle
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

    def _open(self) -> sqlite3.Connection:
        if self.path is None:
            return sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        connection = sqlite3.connect(
            f"{self.path.as_uri()}?{self._mode}", uri=True, timeout=BUSY_SECONDS, check_same_thread=False, isolation_level=None
        )
        # A damaged text must reach the check of its digest instead of failing here.
        connection.text_factory = _lenient
        if not self._read_only:
            connection.execute("PRAGMA synchronous=NORMAL")
        return connection
