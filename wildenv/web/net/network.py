"""Whose doing it is that a host cannot be reached: its own, or that of the network this process is in.

Where our own network is down nothing is learnt about any site, so that nothing may be recorded about one: `ProviderError`, kind
``network``. A name server that fails on one name is asked for another; a machine without a route says so itself; and where
several hosts failed one after another, one that could be reached before is tried again. Until then up to `MOST_IN_A_ROW` failures
of a network that drops everything without a word look like those of sites.
"""

from __future__ import annotations

import secrets
import threading

import httpcore

from wildenv.errors import ProviderError
from wildenv.web.net.guard import Guard, Refused
from wildenv.web.net.guarded import Allowance, GuardedBackend, NoAddress, look_up

MOST_IN_A_ROW = 4
"""Different hosts that may fail one after another, with no reply from any in between, before our own network is suspected."""


class Network:
    """What one fetcher knows about the network it is in. Safe for threads.

    Args:
        guard: Decides about addresses.
        connect_s: Seconds to look up a name or to connect.
    """

    def __init__(self, guard: Guard, connect_s: float) -> None:
        self._guard = guard
        self._connect_s = connect_s
        self._lock = threading.Lock()
        self._failed: set[str] = set()
        self._reached: tuple[str, int] | None = None

    def reached(self, host: str, port: int) -> None:
        """Notes that a connection to a host stood."""
        with self._lock:
            self._reached = (host, port)

    def answered(self) -> None:
        """Notes that some host replied, whatever it said."""
        with self._lock:
            self._failed.clear()

    def check_resolver(self, said: str) -> None:
        """Finds out whether the name server failed on one name only.

        Args:
            said: How it failed, for the message.

        Raises:
            ProviderError: If it fails on others as well.
            DeadlineExceeded: If the tool call ran out of time.
        """
        # A name that nobody has, and that no cache has heard of: only a name server that works can say that it is none.
        name = f"{secrets.token_hex(10)}.com."
        try:
            look_up(name, 80, Allowance("asking whether the name server works", self._connect_s))
        except NoAddress as error:
            if error.for_now:
                raise down(f"its name server does not work ({said})") from error
        except httpcore.TimeoutException as error:
            raise down(f"its name server does not answer ({said})") from error

    def check_after(self, host: str, said: str) -> None:
        """Notes that a host could not be reached, and finds out whether that is likely to be its own doing.

        Raises:
            ProviderError: If many others could not be reached either, nor the one that could be reached last.
            DeadlineExceeded: If the tool call ran out of time.
        """
        with self._lock:
            suspected = len(self._failed - {host}) >= MOST_IN_A_ROW
            self._failed.add(host)
            count, known = len(self._failed), self._reached
        if not suspected:
            return
        if known is None or not self._reaches(*known):
            raise down(f"{count} hosts failed one after another and none replied, the last one {host} ({said})")
        self.answered()

    def _reaches(self, host: str, port: int) -> bool:
        allowance = Allowance("asking whether the network works", self._connect_s)
        try:
            GuardedBackend(self._guard, allowance, httpcore.SyncBackend()).connect_tcp(host, port).close()
        except (Refused, NoAddress, httpcore.TimeoutException, httpcore.NetworkError):
            return False
        return True


def down(what: str) -> ProviderError:
    """Returns the error for a network that is down."""
    advice = "check its connection, its name server and its firewall; pages and pictures are fetched without a proxy"
    return ProviderError(f"the network of this machine seems to be down: {what}; {advice}", "network")
