"""Manners towards one service or one host: how many requests at once, how many a second, and what to do when it asks to wait.

All threads that share a `Manners` share its line, its rate and its gate: when one of them is told ``Retry-After``, none of them
sends anything before that moment. Every wait ends with the deadline of the tool call (`wildenv.web.deadline`); a wait that cannot
end before it is not begun. Several processes do not share anything: divide the rate among them. The line is not strictly first
come, first served, and an attempt that is under way is not interrupted, it has to limit itself.
"""

from __future__ import annotations

import math
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from pyrate_limiter import GCRA, Rate, RateItem, StateBucket
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential

from wildenv.construct import is_number
from wildenv.errors import ConfigError, DeadlineExceeded, ProviderError
from wildenv.web.deadline import remaining

T = TypeVar("T")

LONGEST_PAUSE_S = 3600.0
"""A pause that is asked for is obeyed, but after an hour it is asked whether it is still meant."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What is polite, and how patient to be. Settings: `web.search.rules`, `web.pages.rules`, `web.host_rules`.

    Args:
        concurrency: Requests under way at the same time.
        per_second: Requests a second, evenly spaced; None for no limit.
        attempts: How often a request is tried in all, at least 1.
        backoff_s: Seconds before the second attempt; doubles with each further one, less a random part of up to one half.
        longest_wait_s: A longer wait, whoever asks for it, is not begun: the request fails at once.

    Raises:
        ConfigError: If a value is out of range.
    """

    concurrency: int = 8
    per_second: float | None = None
    attempts: int = 3
    backoff_s: float = 0.5
    longest_wait_s: float = 20.0

    def __post_init__(self) -> None:
        where = "set it in web.search.rules, web.pages.rules or web.host_rules"
        for name in ("concurrency", "attempts"):
            if not (is_number(getattr(self, name), whole=True) and getattr(self, name) >= 1):
                raise ConfigError(f"{name}={getattr(self, name)!r} must be a whole number of at least 1; {where}")
        for name in ("backoff_s", "longest_wait_s"):
            if not (is_number(getattr(self, name)) and 0 <= getattr(self, name) < math.inf):
                raise ConfigError(f"{name}={getattr(self, name)!r} must be 0 or a positive number of seconds; {where}")
        if self.per_second is not None and not (is_number(self.per_second) and 0 < self.per_second < math.inf):
            raise ConfigError(f"per_second={self.per_second!r} must be positive, or null for no limit; {where}")


class TryAgain(Exception):
    """Raised by an attempt that may be repeated.

    Args:
        kind: What went wrong, one of a few words.
        after_s: Seconds the other side asked to wait, which holds for every thread; None if it did not say.
        failure: What is raised when attempts or time are used up.
    """

    def __init__(self, kind: str, after_s: float | None, failure: Exception) -> None:
        super().__init__(kind)
        self.kind = kind
        self.after_s = after_s
        self.failure = failure


class _Closed(Exception):
    """The gate opens later than this call may wait."""

    def __init__(self, kind: str, left_s: float) -> None:
        super().__init__(kind)
        self.kind = kind
        self.left_s = left_s


class Manners:
    """Runs attempts politely. Safe for threads.

    Args:
        name: Of the service or host, for messages.
        rules: What is polite.
        clock: Seconds that never go back.
        sleep: Waits so many seconds.
    """

    def __init__(
        self,
        name: str,
        rules: Rules,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.name = name
        self.rules = rules
        self._clock = clock
        self._sleep = sleep
        self._places = threading.BoundedSemaphore(rules.concurrency)
        self._turn = threading.Lock()
        self._bucket: StateBucket | None = None
        if rules.per_second is not None:
            rate = Rate(1, max(1, math.ceil(1000 / rules.per_second)), burst=1)
            self._bucket = StateBucket([rate], GCRA())
        self._lock = threading.Lock()
        self._opens = -math.inf
        self._asked_by = ""
        self._retries = 0
        self._waited = 0.0
        # Not seeded, on purpose: equal runs on several machines must not come back at the same moment. No result depends on it.
        self._random = random.Random()

    @property
    def retries(self) -> int:
        """Attempts that repeated an earlier one."""
        with self._lock:
            return self._retries

    @property
    def waited_s(self) -> float:
        """Seconds that threads spent waiting to be polite, all together; not the time in line for a place."""
        with self._lock:
            return self._waited

    def run(self, attempt: Callable[[], T], closed: Callable[[str, float], Exception] | None = None) -> T:
        """Runs an attempt, again if it raises `TryAgain` and there is time.

        Args:
            attempt: Does the work once; waits at most as long as `remaining` allows.
            closed: Makes the exception for the case that nothing is sent at all, because an earlier call was asked to wait for
                longer than this one can: it is given the kind of that earlier failure and the seconds left. Without it, a
                `ProviderError`.

        Raises:
            Exception: The `failure` of the last `TryAgain` when attempts or time are used up, what `closed` makes, or whatever
                else the attempt raises.
            DeadlineExceeded: If the tool call ran out of time in line.
        """
        own: list[TryAgain] = []
        retrying = Retrying(
            retry=retry_if_exception_type(TryAgain),
            stop=self._given_up,
            wait=self._wait_before,
            sleep=self._pause,
            before=self._count,
            reraise=True,
        )
        try:
            result: T = retrying(self._once, attempt, own)
        except TryAgain as last:
            raise last.failure from last.failure.__cause__
        except _Closed as gate:
            if own:
                raise own[-1].failure from own[-1].failure.__cause__
            raise (closed or self._closed)(gate.kind, gate.left_s) from None
        return result

    def _once(self, attempt: Callable[[], T], own: list[TryAgain]) -> T:
        self._check_gate()
        with self._place():
            while True:
                self._wait_for_gate()
                self._wait_for_turn()
                if self._left() <= 0:
                    break
            try:
                return attempt()
            except TryAgain as again:
                own.append(again)
                if again.after_s is not None:
                    self._close(again.kind, again.after_s)
                raise

    @contextmanager
    def _place(self) -> Iterator[None]:
        _acquire(self._places)
        try:
            yield
        finally:
            self._places.release()

    def _wait_for_gate(self) -> None:
        while (left := self._check_gate()) > 0:
            self._pause(left)

    def _check_gate(self) -> float:
        """Returns the seconds until the gate opens, if they may be waited."""
        left = self._left()
        if left > 0 and not self._may_wait(left):
            with self._lock:
                raise _Closed(self._asked_by, left)
        return left

    def _wait_for_turn(self) -> None:
        if self._bucket is None:
            return
        _acquire(self._turn)
        try:
            # Only the thread whose turn it is waits for the rate, so that they do not all wake for one free slot.
            while True:
                item = RateItem(self.name, int(self._clock() * 1000))
                if self._bucket.put(item):
                    return
                wait = self._bucket.waiting(item)
                assert isinstance(wait, int)
                self._pause(remaining(max(wait, 1) / 1000))
        finally:
            self._turn.release()

    def _left(self) -> float:
        with self._lock:
            return self._opens - self._clock()

    def _close(self, kind: str, seconds: float) -> None:
        with self._lock:
            opens = self._clock() + min(seconds, LONGEST_PAUSE_S)
            if opens > self._opens:
                self._opens, self._asked_by = opens, kind

    def _closed(self, kind: str, seconds: float) -> Exception:
        return ProviderError(
            f"{self.name} asked for a pause ({kind}) of which {seconds:.0f} s are left; lower per_second or concurrency in its "
            f"rules, or raise longest_wait_s and env.tool_deadline_s",
            kind,
        )

    def _may_wait(self, seconds: float) -> bool:
        """Whether a wait is short enough, and there is time left after it."""
        if seconds > self.rules.longest_wait_s:
            return False
        try:
            return remaining(math.inf) > seconds
        except DeadlineExceeded:
            return False

    def _pause(self, seconds: float) -> None:
        self._sleep(seconds)
        with self._lock:
            self._waited += seconds

    def _count(self, state: RetryCallState) -> None:
        if state.attempt_number > 1:
            with self._lock:
                self._retries += 1

    def _wait_before(self, state: RetryCallState) -> float:
        backoff = wait_exponential(multiplier=self.rules.backoff_s)(state) * self._random.uniform(0.5, 1)
        asked = _failed(state).after_s
        return backoff if asked is None else max(asked, backoff)

    def _given_up(self, state: RetryCallState) -> bool:
        return stop_after_attempt(self.rules.attempts)(state) or not self._may_wait(state.upcoming_sleep)


def retry_after_seconds(header: str | None, now: datetime) -> float | None:
    """Reads a ``Retry-After`` header.

    Args:
        header: Its value: a number of seconds or an HTTP date.
        now: Aware; what a date is compared with.

    Returns:
        Seconds, not negative; None if there is no header or it cannot be read.
    """
    text = (header or "").strip()
    if re.fullmatch(r"\d{1,12}(\.\d{1,9})?", text, re.ASCII):
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())


def _acquire(lock: threading.Lock | threading.Semaphore) -> None:
    """Waits for a lock as long as the tool call may; `remaining` says so once it may no longer."""
    while not lock.acquire(timeout=remaining(threading.TIMEOUT_MAX)):
        pass


def _failed(state: RetryCallState) -> TryAgain:
    assert state.outcome is not None
    error = state.outcome.exception()
    assert isinstance(error, TryAgain)
    return error
