"""Ctrl-C while the command's modules are being imported: one line instead of a traceback out of somebody's import.

Only for the command and for ``python -m``: whoever imports the package keeps Python's own behaviour.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

STOPPED = 130
"""Exit code after Ctrl-C, as shells have it."""

# While Python looks for the module of `python -m`, the first argument is "-m".
_COMMANDS = ("wildenv", "wildenv.exe", "-m")


@contextmanager
def starting() -> Iterator[None]:
    """Ends the process quietly at Ctrl-C."""
    ours = (
        Path(sys.argv[0] if sys.argv else "").name in _COMMANDS
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if not ours:
        yield
        return
    signal.signal(signal.SIGINT, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _stop(number: int, frame: FrameType | None) -> None:
    os.write(2, b"wildenv: stopped\n")
    # An exception would come out of the import that is going on, and imports turn exceptions into others.
    os._exit(STOPPED)
