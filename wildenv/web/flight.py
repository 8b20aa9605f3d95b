"""Single flight: of several threads that want the same thing at the same time, one does the work and the others wait for it.

Within one process only, and only while the work lasts: nothing is remembered afterwards. A failure reaches everyone who waited,
as the same exception; but when the one who worked ran out of time, the others start again with the time they have.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as WaitedTooLong
from typing import Generic, TypeVar

from wildenv.errors import DeadlineExceeded
from wildenv.web.deadline import overdue, remaining

_LONGEST = 3_600.0
"""Seconds that somebody without a deadline waits for another's work."""

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
        while True:
            with self._lock:
                waiting = self._flights.get(key)
                if waiting is None:
                    flight = self._flights[key] = Future()
                    break
            try:
                return waiting.result(remaining(_LONGEST)), False
            except WaitedTooLong:
                remaining(_LONGEST)
            except DeadlineExceeded:
                if overdue():
                    raise
            finally:
                # The flight has the error, the error this function, and this function must not have the flight: such a circle
                # would keep whatever the work had in its hands until the next collection.
                del waiting
        try:
            result = work()
        except BaseException as error:
            self._land(key)
            flight.set_exception(error)
            del flight
            raise
        self._land(key)
        flight.set_result(result)
        return result, True

    def _land(self, key: str) -> None:
        with self._lock:
            del self._flights[key]
