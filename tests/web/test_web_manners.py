"""Politeness: nobody is hurried, nobody waits for nothing, and no wait outlasts the tool call."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from wildenv.errors import ConfigError, DeadlineExceeded, ProviderError
from wildenv.web.deadline import tool_deadline
from wildenv.web.net.manners import LONGEST_PAUSE_S, Manners, Rules, TryAgain, retry_after_seconds


class FakeTime:
    """A clock that only sleeping moves; sleeps of several threads are counted one after another."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []
        self._lock = threading.Lock()

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self.slept.append(seconds)
            self.now += seconds


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    fake = FakeTime()
    monkeypatch.setattr("wildenv.web.deadline.time", SimpleNamespace(monotonic=fake.clock))
    return fake


def polite(fake: FakeTime, rules: Rules) -> Manners:
    return Manners("the service", rules, fake.clock, fake.sleep)


def failing(times: int, after_s: float | None = None) -> Callable[[], str]:
    """An attempt that asks to be repeated so many times."""
    count = itertools.count(1)

    def attempt() -> str:
        number = next(count)
        if number <= times:
            raise TryAgain("http 503", after_s, ProviderError(f"attempt {number} failed", "http 503"))
        return f"attempt {number}"

    return attempt


def test_what_succeeds_waits_for_nothing(fake: FakeTime) -> None:
    manners = polite(fake, Rules())
    assert manners.run(failing(0)) == "attempt 1"
    assert fake.slept == []
    assert manners.retries == 0
    assert manners.waited_s == 0


def test_backoff_doubles_with_jitter_and_is_counted(fake: FakeTime) -> None:
    manners = polite(fake, Rules(attempts=5, backoff_s=1.0))
    assert manners.run(failing(4)) == "attempt 5"
    for slept, whole in zip(fake.slept, (1.0, 2.0, 4.0, 8.0), strict=True):
        assert whole / 2 <= slept <= whole
    assert manners.retries == 4
    assert manners.waited_s == pytest.approx(sum(fake.slept))


def test_no_two_backoffs_are_the_same(fake: FakeTime) -> None:
    for _ in range(20):
        polite(fake, Rules(backoff_s=1.0)).run(failing(1))
    assert len(set(fake.slept)) > 10


def test_the_last_failure_is_raised_when_attempts_are_used_up(fake: FakeTime) -> None:
    with pytest.raises(ProviderError, match="attempt 3 failed"):
        polite(fake, Rules(attempts=3)).run(failing(9))
    assert len(fake.slept) == 2


def test_one_attempt_means_no_second(fake: FakeTime) -> None:
    with pytest.raises(ProviderError, match="attempt 1 failed"):
        polite(fake, Rules(attempts=1)).run(failing(9, after_s=1.0))
    assert fake.slept == []


def test_another_error_is_not_repeated(fake: FakeTime) -> None:
    def attempt() -> None:
        raise KeyError("mine")

    manners = polite(fake, Rules(concurrency=1))
    for _ in range(3):
        with pytest.raises(KeyError, match="mine"):
            manners.run(attempt)
    assert manners.run(lambda: 1) == 1


def test_retry_after_is_waited_for(fake: FakeTime) -> None:
    assert polite(fake, Rules(backoff_s=0.1)).run(failing(1, after_s=7.0)) == "attempt 2"
    assert fake.slept == [7.0]


def test_retry_after_of_nothing_still_backs_off(fake: FakeTime) -> None:
    polite(fake, Rules(backoff_s=1.0)).run(failing(1, after_s=0.0))
    assert 0.5 <= fake.slept[0] <= 1.0


def test_a_longer_wait_than_allowed_is_not_begun(fake: FakeTime) -> None:
    with pytest.raises(ProviderError, match="attempt 1 failed"):
        polite(fake, Rules(longest_wait_s=20)).run(failing(1, after_s=21.0))
    assert fake.slept == []


def test_a_wait_beyond_the_deadline_is_not_begun(fake: FakeTime) -> None:
    manners = polite(fake, Rules(longest_wait_s=60))
    with tool_deadline(10.0):
        assert manners.run(failing(1, after_s=9.0)) == "attempt 2"
        with pytest.raises(ProviderError, match="attempt 1 failed"):
            manners.run(failing(1, after_s=5.0))
    assert fake.slept == [9.0]


def test_the_gate_holds_for_everyone_and_is_said_to_be_closed(fake: FakeTime) -> None:
    manners = polite(fake, Rules(longest_wait_s=20))
    with pytest.raises(ProviderError):
        manners.run(failing(1, after_s=30.0))
    sent: list[float] = []
    with pytest.raises(ProviderError, match=r"the service asked for a pause \(http 503\) of which 30 s are left") as closed:
        manners.run(lambda: sent.append(fake.now))
    assert closed.value.kind == "http 503"
    assert sent == []
    assert fake.slept == []
    with pytest.raises(LookupError, match="http 503 30"):
        manners.run(lambda: sent.append(fake.now), lambda kind, left: LookupError(f"{kind} {left:.0f}"))
    fake.now += 15
    manners.run(lambda: sent.append(fake.now))
    assert sent == [1030.0]
    assert fake.slept == [15.0]


def test_a_gate_closed_by_another_call_does_not_hide_the_own_failure(fake: FakeTime) -> None:
    manners = polite(fake, Rules(backoff_s=1.0))

    def attempt() -> None:
        with pytest.raises(ProviderError):
            other.run(failing(1, after_s=500.0))
        raise TryAgain("timeout", None, ProviderError("mine", "timeout"))

    other = polite(fake, Rules())
    other._close = manners._close  # type: ignore[method-assign]
    with pytest.raises(ProviderError, match="mine"):
        manners.run(attempt)


def test_a_pause_without_end_is_asked_about_again_after_an_hour(fake: FakeTime) -> None:
    manners = polite(fake, Rules())
    with pytest.raises(ProviderError):
        manners.run(failing(1, after_s=1e11))
    fake.now += LONGEST_PAUSE_S + 1
    assert manners.run(lambda: "open") == "open"


def test_the_rate_holds(fake: FakeTime) -> None:
    manners = polite(fake, Rules(per_second=4.0))
    sent: list[float] = []
    for _ in range(9):
        manners.run(lambda: sent.append(fake.now))
    gaps = [later - earlier for earlier, later in itertools.pairwise(sent)]
    assert sent[0] == 1000.0
    assert all(0.249 <= gap <= 0.253 for gap in gaps), gaps


def test_a_gate_that_closes_during_the_wait_for_the_rate_holds(fake: FakeTime) -> None:
    manners = polite(fake, Rules(per_second=1.0))
    manners.run(lambda: None)
    pause = manners._sleep

    def interrupted(seconds: float) -> None:
        pause(seconds)
        if len(fake.slept) == 1:
            manners._close("http 429", 5.0)

    manners._sleep = interrupted
    sent: list[float] = []
    manners.run(lambda: sent.append(fake.now))
    assert sent[0] >= 1006.0


def test_a_rate_below_one_a_second_ends_with_the_deadline(fake: FakeTime) -> None:
    manners = polite(fake, Rules(per_second=0.1))
    manners.run(lambda: None)
    with tool_deadline(3.0), pytest.raises(DeadlineExceeded):
        manners.run(lambda: None)
    assert sum(fake.slept) <= 3.01


def test_all_threads_obey_one_retry_after() -> None:
    manners = Manners("the service", Rules(concurrency=8, attempts=3, backoff_s=0.01))
    lock = threading.Lock()
    sent: list[float] = []
    closed: list[float] = []

    def attempt() -> None:
        with lock:
            sent.append(time.monotonic())
            first = len(sent) == 1
        if first:
            time.sleep(0.05)
            closed.append(time.monotonic())
            raise TryAgain("http 429", 0.4, ProviderError("no", "http 429"))
        time.sleep(0.06)

    with ThreadPoolExecutor(32) as threads:
        for done in [threads.submit(manners.run, attempt) for _ in range(32)]:
            done.result()
    during = [moment for moment in sent if closed[0] + 0.02 < moment < closed[0] + 0.39]
    assert len(sent) == 33
    assert during == []
    assert manners.retries == 1
    assert sum(moment >= closed[0] + 0.39 for moment in sent) >= 25


def test_no_more_than_the_allowed_number_at_once() -> None:
    manners = Manners("the service", Rules(concurrency=3))
    lock = threading.Lock()
    under_way, most = 0, 0

    def attempt() -> None:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        time.sleep(0.005)
        with lock:
            under_way -= 1

    with ThreadPoolExecutor(32) as threads:
        for done in [threads.submit(manners.run, attempt) for _ in range(64)]:
            done.result()
    assert most == 3


def test_the_line_ends_with_the_deadline() -> None:
    manners = Manners("the service", Rules(concurrency=1))
    busy, leave = threading.Event(), threading.Event()

    def attempt() -> None:
        busy.set()
        leave.wait(5)

    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(manners.run, attempt)
        busy.wait(5)
        start = time.monotonic()
        with tool_deadline(0.1), pytest.raises(DeadlineExceeded, match=r"env\.tool_deadline_s"):
            manners.run(lambda: None)
        assert time.monotonic() - start < 1
        leave.set()
        first.result()


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("1.5", 1.5),
        ("Fri, 31 Jul 2026 12:00:30 GMT", 30.0),
        ("Fri, 31 Jul 2026 11:00:00 GMT", 0.0),
        ("Fri, 31 Jul 2026 12:00:30", 30.0),
        (None, None),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("nan", None),
        ("١٢", None),
        ("9" * 400, None),
        ("Fri, 99 Jul 2026 12:00:30 GMT", None),
    ],
)
def test_retry_after_headers(header: str | None, seconds: float | None) -> None:
    assert retry_after_seconds(header, datetime(2026, 7, 31, 12, tzinfo=UTC)) == seconds


@pytest.mark.parametrize(
    "wrong",
    [
        {"concurrency": 0},
        {"attempts": 0},
        {"backoff_s": -1.0},
        {"longest_wait_s": float("inf")},
        {"per_second": 0.0},
        {"per_second": float("nan")},
        {"concurrency": "8"},
        {"attempts": 1.5},
        {"backoff_s": None},
        {"per_second": "fast"},
        {"longest_wait_s": True},
    ],
)
def test_rules_that_make_no_sense_name_themselves(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        Rules(**wrong)  # type: ignore[arg-type]
