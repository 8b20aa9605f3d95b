"""One guarded connection: the name is looked up once, every address it has is checked, and only a checked one is connected to.

So a name that answers differently the next time (rebinding) changes nothing, and each hop of a redirect passes the same check.
What a connection may cost in seconds and bytes is enforced where its bytes arrive, so that a head which drips counts as well. A
connection serves one request: what a site sends too much cannot be taken for the answer to the next one.
"""

from __future__ import annotations

import errno
import queue
import socket
import ssl
import threading
import time
from collections.abc import Iterable
from itertools import chain, zip_longest
from typing import Any

import httpcore

from wildenv.web.deadline import remaining
from wildenv.web.net.guard import Guard, is_numeric

MOST_TRIED = 4
"""Addresses of one name that are tried before its site counts as down."""

_LOOKUPS = threading.BoundedSemaphore(64)
"""Look-ups cannot be interrupted; so many may hang at once in a process before further ones have to wait."""

_NO_SUCH_NAME = (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))
_NO_ROUTE = (errno.ENETUNREACH, errno.ENETDOWN)


class Excess(Exception):
    """More bytes than a connection may bring."""


class NoAddress(Exception):
    """A name without an address.

    Args:
        message: For a log.
        for_now: Whether the resolver failed, instead of saying that there is none.
    """

    def __init__(self, message: str, for_now: bool) -> None:
        super().__init__(message)
        self.for_now = for_now


class NoAnswer(httpcore.TimeoutException):
    """The resolver takes too long."""


class NoRoute(httpcore.ConnectError):
    """This machine has no way to any of the addresses, IPv4 ones among them: it is not connected to the network."""


class Allowance:
    """What one connection may still cost in its present phase; the deadline of the tool call counts besides.

    Args:
        phase: Name of the first phase, for messages.
        seconds: Of the first phase.

    Attributes:
        taken: Bytes that arrived so far, in all phases.
    """

    def __init__(self, phase: str, seconds: float) -> None:
        self.taken = 0
        self.begin(phase, seconds, 0)

    def begin(self, phase: str, seconds: float, size: int) -> None:
        """Begins the next phase, which may take so many seconds and bring so many bytes."""
        self._phase = phase
        self._end = time.monotonic() + seconds
        self._most = self.taken + size

    def seconds(self) -> float:
        """Returns how long may still be waited.

        Raises:
            httpcore.TimeoutException: If the phase is over.
            DeadlineExceeded: If the tool call ran out of time.
        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise httpcore.TimeoutException(f"{self._phase} took too long")
        return remaining(left)

    def took(self, size: int) -> None:
        """Counts bytes that arrived.

        Raises:
            Excess: If they are too many.
        """
        self.taken += size
        if self.taken > self._most:
            raise Excess(f"{self._phase} brought too many bytes")


class GuardedBackend(httpcore.NetworkBackend):
    """Makes the connection.

    Args:
        guard: Decides about addresses.
        allowance: Of this connection.
        inner: Connects to a numeric address.
    """

    def __init__(self, guard: Guard, allowance: Allowance, inner: httpcore.NetworkBackend) -> None:
        self._guard = guard
        self._allowance = allowance
        self._inner = inner

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connects; the time limit is the allowance's.

        Raises:
            Refused: If one of the addresses is not public, whatever the others are.
            NoAddress: If there is none.
            httpcore.ConnectError: If none can be connected to; so with `httpcore.TimeoutException`. `NoRoute` if this machine has
                no way to them.
        """
        addresses = [host] if is_numeric(host) else _alternating(look_up(host, port, self._allowance))
        for address in addresses:
            self._guard.check(address, port)
        tried = addresses[:MOST_TRIED]
        routeless: list[str] = []
        for number, address in enumerate(tried, start=1):
            # What is left is shared out: one address that does not answer must not use up the time of the next.
            share = self._allowance.seconds() / (len(tried) - number + 1)
            try:
                stream = self._inner.connect_tcp(address, port, share, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                if isinstance(error.__cause__, OSError) and error.__cause__.errno in _NO_ROUTE:
                    routeless.append(address)
                if number < len(tried):
                    continue
                # Many machines have no way to any IPv6 address, which says nothing about their network.
                if len(routeless) == len(tried) and not all(":" in one for one in routeless):
                    raise NoRoute(str(error)) from error
                raise
            else:
                return _Metered(stream, self._allowance)
        raise NoAddress(f"{host} has no address", for_now=False)


class _Metered(httpcore.NetworkStream):
    """A stream under an allowance."""

    def __init__(self, stream: httpcore.NetworkStream, allowance: Allowance) -> None:
        self._stream = stream
        self._allowance = allowance

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = self._stream.read(max_bytes, self._allowance.seconds())
        self._allowance.took(len(data))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._allowance.seconds())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        try:
            stream = self._stream.start_tls(ssl_context, server_hostname, self._allowance.seconds())
        except BaseException:
            self._stream.close()
            raise
        return _Metered(stream, self._allowance)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def look_up(host: str, port: int, allowance: Allowance) -> list[str]:
    """Returns the addresses of a name, in the resolver's order.

    Raises:
        NoAddress: If there is none, or the resolver failed.
        NoAnswer: If the resolver takes too long. Its thread goes on; so many of them may hang at once.
    """
    places = _LOOKUPS
    answers: queue.SimpleQueue[list[str] | BaseException] = queue.SimpleQueue()

    def ask() -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
            answers.put([str(address[0]) for *_, address in found])
        except BaseException as error:  # noqa: BLE001 - raised below, by the thread that waits
            answers.put(error)
        finally:
            places.release()

    if not places.acquire(timeout=allowance.seconds()):
        raise NoAnswer("too many look-ups hang")
    # A daemon, because nothing ends a resolver that hangs, and it must not keep the process from ending.
    threading.Thread(target=ask, name=f"look up {host}", daemon=True).start()
    try:
        answer = answers.get(timeout=allowance.seconds())
    except queue.Empty:
        raise NoAnswer(f"looking up {host} took too long") from None
    if isinstance(answer, (OSError, UnicodeError)):
        # A name that cannot even be asked for is a UnicodeError.
        final = isinstance(answer, UnicodeError) or answer.errno in _NO_SUCH_NAME
        raise NoAddress(f"{host}: {answer}", for_now=not final) from answer
    if isinstance(answer, BaseException):
        raise answer
    return answer


def _alternating(addresses: list[str]) -> list[str]:
    """Takes IPv6 and IPv4 in turn, beginning with what the resolver prefers: on many networks one of them leads nowhere."""
    unique = list(dict.fromkeys(addresses))
    first = [address for address in unique if (":" in address) == (":" in unique[0])]
    second = [address for address in unique if (":" in address) != (":" in unique[0])]
    return [address for address in chain.from_iterable(zip_longest(first, second)) if address is not None]
