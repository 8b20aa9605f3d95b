"""One writer for a folder.

The system takes the lock away from a process that ends, however it ends; the file stays and means nothing by itself. Threads and
processes of one machine exclude each other. Where a file system cannot lock, as some network file systems cannot, a warning says
so and nothing is excluded.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from wildenv.errors import ConfigError
from wildenv.folders import make_folder
from wildenv.secrets import logger

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

FILE = ".lock"

_LOG = logger(__name__)
_HELD: ContextVar[frozenset[Path]] = ContextVar("wildenv_folders_held", default=frozenset())


@contextmanager
def only_writer(folder: str | Path, setting: str = "folder") -> Iterator[None]:
    """Makes the caller the only one to write a folder; inside of another `only_writer` of the same folder it does nothing.

    Args:
        folder: Made if it is missing.
        setting: Named in errors.

    Raises:
        ConfigError: If somebody else writes it, or it cannot be made or written.
    """
    make_folder(Path(folder), setting)
    path = Path(folder).resolve()
    if path in _HELD.get():
        yield
        return
    try:
        file = os.open(path / FILE, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise ConfigError(f"{setting}={folder} cannot be written ({error.strerror}); name another folder") from error
    try:
        _take(file, folder, setting)
        token = _HELD.set(_HELD.get() | {path})
        try:
            yield
        finally:
            _HELD.reset(token)
    finally:
        os.close(file)


def _take(file: int, folder: str | Path, setting: str) -> None:
    try:
        if fcntl is None:
            raise OSError(errno.ENOTSUP, "this system has no such locks")
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise ConfigError(f"another run is writing {setting}={folder}; wait for it to end, or name another folder") from error
    except OSError as error:
        _LOG.warning("%s cannot be locked (%s); start no second run that writes it", folder, error.strerror)
