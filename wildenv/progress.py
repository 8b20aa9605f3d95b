"""Progress of long work on standard error: a bar on a terminal, elsewhere a plain line now and then.

A log file or a scheduler gets lines without control characters, the first after `PAUSE_S`; work that is done earlier says
nothing there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, TypeVar

from tqdm import tqdm

T = TypeVar("T")

PAUSE_S = 30.0
"""Seconds between two lines where there is no terminal."""

_LINE = "{desc}: {n_fmt}/{total_fmt} {unit} in {elapsed}, {remaining} to go"


def progress_bar(title: str, total: int, unit: str, *, done: int = 0, leave: bool = True, hidden: bool = False) -> tqdm[None]:
    """Returns a bar to be updated and closed.

    Args:
        title: What is being done.
        total: Units in all.
        unit: What is counted.
        done: Units that are done already, by an earlier run.
        leave: Whether the bar stays on a terminal once it is full.
        hidden: Draw nothing.
    """
    return tqdm(desc=title, total=total, initial=done, unit=unit, leave=leave, disable=hidden, **_style())


def progress(found: Iterable[T], title: str, total: int, unit: str, *, leave: bool = True, hidden: bool = False) -> Iterable[T]:
    """Passes on what is found and draws a bar meanwhile; arguments as in `progress_bar`."""
    passed: Iterable[T] = tqdm(found, title, total, unit=unit, leave=leave, disable=hidden, **_style())
    return passed


def _style() -> dict[str, Any]:
    if sys.stderr.isatty():
        return {}
    pause = {"mininterval": PAUSE_S, "maxinterval": PAUSE_S, "delay": PAUSE_S, "miniters": 1}
    return {"file": _Lines(), "bar_format": _LINE, **pause}


class _Lines:
    """Standard error, a line for each state of a bar."""

    def write(self, text: str) -> None:
        """Writes what is more than a move of the cursor."""
        line = text.strip()
        if line:
            sys.stderr.write(f"{line}\n")

    def flush(self) -> None:
        """Flushes standard error."""
        sys.stderr.flush()
