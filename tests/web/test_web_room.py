from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from wildenv.errors import DeadlineExceeded
from wildenv.web.deadline import tool_deadline
from wildenv.web.room import Room


def test_no_more_is_taken_than_there_is() -> None:
    room, lock, used, most = Room(10), threading.Lock(), [0], [0]

    def work(units: int) -> None:
        with room.taken(units):
            with lock:
                used[0] += units
                most[0] = max(most[0], used[0])
            time.sleep(0.002)
            with lock:
                used[0] -= units

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(work, [1, 2, 3, 4, 5, 6, 7, 10] * 8))
    assert used == [0]
    assert 5 < most[0] <= 10


def test_who_wants_more_than_there_is_gets_all_of_it() -> None:
    room = Room(3)
    with room.taken(100), tool_deadline(0.05), pytest.raises(DeadlineExceeded), room.taken(1):
        pass
    with room.taken(3):
        pass


def test_the_deadline_ends_the_wait_and_leaves_the_line() -> None:
    room = Room(2)
    with room.taken(1):
        with tool_deadline(0.05), pytest.raises(DeadlineExceeded, match=r"env\.tool_deadline_s"), room.taken(2):
            pass
        with tool_deadline(5), room.taken(1):
            pass


def test_first_come_first_served() -> None:
    """One who needs all of it is not kept waiting by others who need little and come later."""
    room, order = Room(2), []
    started = threading.Event()

    def large() -> None:
        started.set()
        with room.taken(2):
            order.append("large")

    def small() -> None:
        with room.taken(1):
            order.append("small")

    with ThreadPoolExecutor(2) as threads:
        with room.taken(1):
            first = threads.submit(large)
            assert started.wait(5)
            time.sleep(0.05)
            second = threads.submit(small)
            time.sleep(0.05)
            assert order == []
        first.result(5)
        second.result(5)
    assert order == ["large", "small"]
