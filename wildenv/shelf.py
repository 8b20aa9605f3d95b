"""Bytes by name for as long as somebody needs them: in memory while they are few, beyond that in a temporary folder.

The folder goes with the shelf; a process that is killed leaves it behind. Safe for threads.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from pathlib import Path

MEMORY_BYTES = 16_000_000
"""Bytes of one shelf that stay in memory."""


class Shelf:
    """Bytes by name. A name must be usable as that of a file, and stands for the same bytes every time.

    Args:
        memory_bytes: How many stay in memory.
    """

    def __init__(self, memory_bytes: int = MEMORY_BYTES) -> None:
        self._left = memory_bytes
        self._memory: dict[str, bytes] = {}
        self._names: set[str] = set()
        self._folder: Path | None = None
        self._lock = threading.Lock()

    def put(self, name: str, data: bytes) -> None:
        """Keeps bytes; those of a name that is there already stay."""
        with self._lock:
            if name in self._memory or name in self._names:
                return
            if len(data) <= self._left:
                self._left -= len(data)
                self._memory[name] = data
                return
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="wildenv-"))
                weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            (self._folder / name).write_bytes(data)
            self._names.add(name)

    def get(self, name: str) -> bytes:
        """Returns bytes.

        Raises:
            KeyError: If there are none of this name.
        """
        with self._lock:
            if name in self._names and self._folder is not None:
                return (self._folder / name).read_bytes()
            return self._memory[name]

    def __contains__(self, name: str) -> bool:
        with self._lock:
            return name in self._memory or name in self._names
