from __future__ import annotations

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from wildenv.errors import ProviderError
from wildenv.web.flight import SingleFlight


def test_concurrent_callers_share_one_run_and_its_result() -> None:
    flights, barrier, release, runs = SingleFlight[object](), threading.Barrier(32), threading.Event(), []

    def work() -> object:
        runs.append(1)
        assert release.wait(10)
        return object()

    def call() -> tuple[object, bool]:
        barrier.wait(10)
        return flights.run("k", work)

    with ThreadPoolExecutor(32) as pool:
        waiting = [pool.submit(call) for _ in range(32)]
        # All have passed the barrier once the leader works; the others need a moment to queue up behind it.
        threading.Timer(0.1, release.set).start()
        results = [one.result() for one in waiting]
    assert len(runs) == 1
    assert len({id(result) for result, _ in results}) == 1
    assert sum(led for _, led in results) == 1


def test_a_failure_reaches_every_waiter_and_is_not_remembered() -> None:
    flights, started, release = SingleFlight[int](), threading.Event(), threading.Event()

    def fail() -> int:
        started.set()
        assert release.wait(10)
        raise ProviderError("down")

    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(flights.run, "k", fail)
        assert started.wait(10)
        others = [pool.submit(flights.run, "k", fail) for _ in range(3)]
        threading.Timer(0.1, release.set).start()
        for one in (first, *others):
            with pytest.raises(ProviderError, match="down"):
                one.result()
    assert flights.run("k", lambda: 7) == (7, True)


def test_different_keys_do_not_wait_for_each_other() -> None:
    flights = SingleFlight[int]()
    assert flights.run("a", lambda: flights.run("b", lambda: 1)[0] + 1) == (2, True)


def test_an_error_that_is_forgotten_keeps_nothing_of_the_work() -> None:
    """Not even until the next collection: what the work had in its hands may be a page of many megabytes."""
    flights, started, release = SingleFlight[int](), threading.Event(), threading.Event()
    seen: list[weakref.ref[Body]] = []

    class Body:
        """Stands for what was fetched."""

    def work() -> int:
        body = Body()
        seen.append(weakref.ref(body))
        started.set()
        assert release.wait(10)
        raise ProviderError("down")

    def call() -> str:
        try:
            return str(flights.run("k", work))
        except ProviderError as error:
            return str(error)

    gc.collect()
    gc.disable()
    try:
        with ThreadPoolExecutor(2) as pool:
            first = pool.submit(call)
            assert started.wait(10)
            second = pool.submit(call)
            threading.Timer(0.1, release.set).start()
            assert (first.result(), second.result()) == ("down", "down")
        assert len(seen) == 1
        assert seen[0]() is None
    finally:
        gc.enable()
