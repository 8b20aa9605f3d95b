"""How much of something may be in use at once in this process, however many episodes run.

Whoever needs some waits in line for it, no longer than the tool call may. What is taken is counted, not enforced: it is for its
user not to use more.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from wildenv.web.deadline import remaining

_LONGEST_S = 3_600.0


class Room:
    """So many units. Safe for threads; whoever has some must not ask for more.

    Args:
        size: Units there are, at least 1.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._left = size
        self._change = threading.Condition()
        # First come, first served: otherwise many who need little would keep one who needs much waiting.
        self._line: deque[object] = deque()

    @contextmanager
    def taken(self, units: int) -> Iterator[None]:
        """Takes units for as long as the block lasts; more than there are counts as all of them.

        Raises:
            DeadlineExceeded: If the tool call ran out of time in line.
        """
        units = min(units, self._size)
        place = object()
        with self._change:
            self._line.append(place)
            try:
                while self._line[0] is not place or self._left < units:
                    self._change.wait(remaining(_LONGEST_S))
                self._left -= units
            finally:
                self._line.remove(place)
                self._change.notify_all()
        try:
            yield
        finally:
            with self._change:
                self._left += units
                self._change.notify_all()
