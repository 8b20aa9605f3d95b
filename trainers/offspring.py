"""Processes of a run that end with the one that started them, however that ends. On Linux only: elsewhere they live on."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_ASKED = "WILDENV_ENDS_WITH_PARENT"
_PARENT_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of Linux's prctl."""


def child_environment() -> dict[str, str]:
    """Returns the environment for a child that calls `follow_parent`."""
    return {**os.environ, _ASKED: "1"}


def follow_parent() -> None:
    """Asks to be ended with the parent, if the parent asked for that."""
    if os.environ.pop(_ASKED, None) is not None:
        end_with_parent(signal.SIGTERM)


def end_with_parent(number: signal.Signals) -> None:
    """Asks the system for a signal at the death of the parent."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PARENT_DEATH_SIGNAL, number)
