"""How long a tool call may still take; everything below it that waits asks here.

The deadline belongs to the running context (`contextvars`): copy the context into threads that work for the same tool call. It
ends waiting, not computing: code that neither waits nor asks is not interrupted.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from wildenv.errors import DeadlineExceeded

_END: ContextVar[tuple[float, float] | None] = ContextVar("tool call deadline", default=None)


@contextmanager
def tool_deadline(seconds: float | None) -> Iterator[None]:
    """Limits what runs inside to so many seconds of wall clock; None sets no limit. An outer, earlier deadline stays in force."""
    outer = _END.get()
    if seconds is None:
        yield
        return
    end = time.monotonic() + seconds
    token = _END.set(outer if outer is not None and outer[0] < end else (end, seconds))
    try:
        yield
    finally:
        _END.reset(token)


def remaining(most: float) -> float:
    """Returns the seconds that may still be waited, at most `most`.

    Raises:
        DeadlineExceeded: If there are none.
    """
    found = _END.get()
    if found is None:
        return most
    left = found[0] - time.monotonic()
    if left <= 0:
        raise DeadlineExceeded(f"the tool call took longer than {found[1]:g} s; raise env.tool_deadline_s or lower web.limits")
    return min(left, most)


def overdue() -> bool:
    """Says whether the deadline of this context has passed."""
    found = _END.get()
    return found is not None and found[0] <= time.monotonic()


class Work:
    """The seconds of work that something has left, whatever it waits for in between.

    Args:
        seconds: In all.
    """

    def __init__(self, seconds: float) -> None:
        self._whole = seconds
        self._left = seconds

    @property
    def worthwhile(self) -> bool:
        """Whether enough is left to begin again."""
        return self._left > 0.1 * self._whole

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Counts, and limits, what is done inside."""
        start = time.monotonic()
        try:
            with tool_deadline(max(0.0, self._left)):
                yield
        finally:
            self._left -= time.monotonic() - start
