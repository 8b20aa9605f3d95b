"""Single flight: of several threads that want the same thing at the same time, one does the work and the others wait for it.

Within one process only, and only while the work lasts: nothing is remembered afterwards. A failure reaches everyone who waited,
as the same exception.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """Work under way, by key. Safe for threads; the work must not ask for its own key again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flights: dict[str, Future[T]] = {}

    def run(self, key: str, work: Callable[[], T]) -> tuple[T, bool]:
        """Does the work, or waits for the thread that is doing it.

        Returns:
            The result, and whether this call did the work.

        Raises:
            BaseException: What the work raised.
        """
        with self._lock:
            waiting = self._flights.get(key)
            if waiting is None:
                flight = self._flights[key] = Future()
        if waiting is not None:
            return waiting.result(), False
        try:
            result = work()
        except BaseException as error:
            self._land(key)
            flight.set_exception(error)
            raise
        self._land(key)
        flight.set_result(result)
        return result, True

    def _land(self, key: str) -> None:
        with self._lock:
            del self._flights[key]
