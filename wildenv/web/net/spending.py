"""What services were asked for and what that cost.

Counts are of this process and begin at zero with it; they are what the services said they charged, not what they will bill.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from wildenv.construct import is_number
from wildenv.errors import ConfigError, ProviderError
from wildenv.secrets import logger

_LOG = logger(__name__)

NEARLY = 0.9
"""Share of a quota at which a warning is logged."""


@dataclass(slots=True)
class Spending:
    """Counters of one service. `add` is safe for threads.

    Attributes:
        requests: Requests sent, repeated ones included.
        retries: Those of them that repeated an earlier one.
        credits: What the service charged, in its own unit.
        cost: The same in money, if a price is set.
        bytes: Bytes of replies as they came over the wire.
    """

    requests: int = 0
    retries: int = 0
    credits: int = 0
    cost: float = 0.0
    bytes: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def add(self, requests: int = 0, retries: int = 0, credits: int = 0, cost: float = 0.0, bytes: int = 0) -> None:
        """Adds to the counters."""
        with self._lock:
            self.requests += requests
            self.retries += retries
            self.credits += credits
            self.cost += cost
            self.bytes += bytes

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON values."""
        with self._lock:
            return {name: getattr(self, name) for name in ("requests", "retries", "credits", "cost", "bytes")}


@runtime_checkable
class Metered(Protocol):
    """Whoever counts what it spends."""

    @property
    def spending(self) -> Spending:
        """The counters, live."""
        ...


def checked_price(price: float, setting: str) -> float:
    """Returns a price; raises `ConfigError`, naming the setting, if it is none."""
    if not (is_number(price) and 0 <= price < math.inf):
        raise ConfigError(f"{setting}={price!r} must be 0 or more")
    return price


class Quota:
    """Credits that may be used; warns once when they are nearly gone, or the next request may take the last. Safe for threads.

    Credits are booked before a request is sent, so that many threads cannot overdraw it together; a request that turns out to
    cost more than one credit can exceed it by the difference.

    Args:
        name: Of the service, for messages.
        limit: Credits this process may use; None for no limit.
        setting: The setting that holds the limit, for messages.

    Raises:
        ConfigError: If the limit is negative.
    """

    def __init__(self, name: str, limit: int | None, setting: str) -> None:
        if limit is not None and not (is_number(limit, whole=True) and limit >= 0):
            raise ConfigError(f"{setting}={limit!r} must be 0 or more, or null for no limit")
        self.name = name
        self.limit = limit
        self.setting = setting
        self._lock = threading.Lock()
        self._used = 0
        self._booked = 0
        self._warned = False

    def book(self) -> None:
        """Sets one credit aside; `settle` must follow.

        Raises:
            ProviderError: If none is left.
        """
        with self._lock:
            if self.limit is not None and self._used + self._booked >= self.limit:
                raise ProviderError(
                    f"{self.name}: the quota of {self.limit} credits is used up; raise {self.setting}, or set it to null", "quota"
                )
            self._booked += 1

    def settle(self, credits: int) -> None:
        """Replaces a booked credit by what was charged."""
        with self._lock:
            self._booked -= 1
            self._used += credits
            # A small quota is never nine tenths used before it is gone: what was charged last will be charged again.
            close = self.limit is not None and (self._used >= NEARLY * self.limit or self._used + credits >= self.limit)
            warn = close and not self._warned
            self._warned = self._warned or warn
            used = self._used
        if warn:
            _LOG.warning("%s: %d of the %d credits of %s are used", self.name, used, self.limit, self.setting)
