"""One JSON API that the user configured: a search service, a page reader.

Its host is the user's choice, so private addresses are fine and nothing is checked about them; redirects are not followed,
because they could carry a key elsewhere. Waits end with the deadline of the tool call (`wildenv.web.net.wire`), replies have
a size limit, failures that may pass are tried again (`wildenv.web.net.manners`). Secrets of this process are replaced in
replies before they are read, in errors, and in the debug logs of the HTTP library; a service that returns a secret in another
encoding defeats that.
"""

from __future__ import annotations

import json
import os
import re
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NoReturn
from urllib.parse import urlsplit

import httpcore
import httpx

from wildenv.construct import is_number
from wildenv.errors import ConfigError, DeadlineExceeded, ProviderError
from wildenv.secrets import Secret, logger, scrub
from wildenv.strict_json import loads
from wildenv.web.deadline import overdue, remaining, tool_deadline
from wildenv.web.net.decoding import ACCEPTED, BadEncoding, Unfinished, unpacked
from wildenv.web.net.manners import Manners, Rules, TryAgain, retry_after_seconds
from wildenv.web.net.spending import Spending
from wildenv.web.net.wire import service_pool

WIRE_BYTES = 8_000_000
"""A reply that is larger on the wire is a failure."""

DECODED_BYTES = 20_000_000
"""A reply that is larger once unpacked is a failure."""

_PASSING = (408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529)
_LOGGERS = tuple(f"httpcore.{part}" for part in ("connection", "http11", "http2", "proxy", "socks"))


@dataclass(frozen=True, slots=True)
class Reply:
    """What a service answered.

    Attributes:
        status: HTTP status, or the one that the body of an HTTP 200 names.
        body: The JSON value; None if it is not JSON.
        is_json: Whether it is.
        said: Start of what it said, for messages.
        retry_after: The header, if there is one.
    """

    status: int
    body: Any
    is_json: bool
    said: str
    retry_after: str | None = None


Judge = Callable[[Reply], Exception | None]
"""Says what is wrong with a reply in the service's own terms; None leaves it to the general rules."""


def _no_judge(reply: Reply) -> None:
    return None


class Service:
    """A JSON API over HTTP. Safe for threads; a forked process opens connections of its own.

    Args:
        name: Of the service, for messages.
        url: Its address; paths are appended.
        setting: The settings it is configured by, ``web.search`` or ``web.pages``.
        headers: Sent with every request; secrets are read when they are sent.
        key_env: The environment variable that holds the key, for messages; empty if there is no key.
        rules: Manners towards it.
        timeout_s: Seconds one attempt may take in all, from connecting to the last byte.
        status_of: Finds the status in the body of a reply with HTTP 200 that is an error all the same.

    Raises:
        ConfigError: If a value is not valid.
    """

    def __init__(
        self,
        name: str,
        url: str,
        setting: str,
        headers: Mapping[str, str | Secret] | None = None,
        key_env: str = "",
        rules: Rules | None = None,
        timeout_s: float = 20.0,
        status_of: Callable[[Any], int | None] = lambda body: None,
    ) -> None:
        if not (is_number(timeout_s) and timeout_s > 0):
            raise ConfigError(f"{setting}.timeout_s={timeout_s!r} must be a positive number of seconds")
        self.name = name
        self.url = _checked(url, setting)
        self.spending = Spending()
        self._setting = setting
        self._headers = dict(headers or {})
        self._key_env = key_env
        self._rules = rules or Rules()
        self._timeout_s = timeout_s
        self._status_of = status_of
        self._manners = Manners(name, self._rules)
        self._lock = threading.Lock()
        self._pool: httpcore.ConnectionPool | None = None
        self._process = 0
        for header, value in self._headers.items():
            if not re.fullmatch(r"[\x21-\x7e]+( [\x21-\x7e]+)*", _revealed(value)):
                raise ConfigError(f"the value for {header} is empty or holds odd characters; {self._key_advice()}")
        _silence_loggers()

    def get(self, path: str, params: Mapping[str, str | int], judge: Judge = _no_judge) -> Any:
        """Sends a GET request; returns, raises and judges as `post`."""
        return self._ask("GET", httpx.URL(self.url + path, params=dict(params)), b"", judge)

    def post(self, path: str, body: Mapping[str, Any], judge: Judge = _no_judge) -> Any:
        """Sends a JSON value.

        Args:
            path: Appended to the address of the service.
            body: The JSON value.
            judge: Says what is wrong with a reply; what it returns is raised, and tried again if it is a `TryAgain`.

        Returns:
            The JSON value of the reply.

        Raises:
            ProviderError: If the service failed, or keeps failing.
            DeadlineExceeded: If the tool call ran out of time.
        """
        return self._ask("POST", httpx.URL(self.url + path), json.dumps(dict(body)).encode(), judge)

    def close(self) -> None:
        """Closes the connections; the next request opens new ones."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def failure(self, what: str, kind: str, advice: str) -> ProviderError:
        """Returns the error for a failure of this service, with every secret replaced."""
        return ProviderError(scrub(f"{self.name} {what}; {advice}"), kind)

    def _ask(self, method: str, url: httpx.URL, content: bytes, judge: Judge) -> Any:
        tries = 0

        def attempt() -> Any:
            nonlocal tries
            tries += 1
            self.spending.add(requests=1, retries=int(tries > 1))
            reply = self._exchange(method, url, content)
            found = judge(reply)
            if found is not None:
                raise found
            return self._body(reply)

        return self._manners.run(attempt)

    def _exchange(self, method: str, url: httpx.URL, content: bytes) -> Reply:
        """Sends one request and reads the whole reply; raises `TryAgain` if there is none."""
        try:
            with tool_deadline(self._timeout_s):
                return self._send(method, url, content)
        except (DeadlineExceeded, httpcore.TimeoutException):
            if overdue():
                remaining(0)
            what, kind = f"did not answer within {self._timeout_s:g} s", "timeout"
            advice = f"raise {self._setting}.timeout_s, or check {self._setting}.url and the network"
        except httpcore.NetworkError as error:
            what, kind = f"cannot be reached at {self.url} ({error})", "unreachable"
            advice = f"check {self._setting}.url and the network"
        except (httpcore.ProtocolError, httpcore.ProxyError, BadEncoding, Unfinished) as error:
            what, kind = f"sent what is no proper HTTP reply ({error})", "protocol"
            advice = f"check {self._setting}.url"
        # Raised out here so that no traceback carries what the libraries say, which may hold what the server sent.
        raise TryAgain(kind, None, self.failure(what, kind, advice))

    def _send(self, method: str, url: httpx.URL, content: bytes) -> Reply:
        headers = {name: _revealed(value) for name, value in self._headers.items()}
        headers |= {"Accept": "application/json", "Accept-Encoding": ACCEPTED}
        if content:
            headers["Content-Type"] = "application/json"
        with self._connected().stream(method, str(url), headers=list(headers.items()), content=content or None) as response:
            given = {name.lower(): value.decode("latin-1") for name, value in response.headers}
            data = self._read(response, given.get(b"content-encoding", ""))
            status, retry_after = response.status, given.get(b"retry-after")
        said = scrub(data.decode("utf-8", errors="replace"))
        try:
            body, is_json = loads(said), True
        except ValueError:
            body, is_json = None, False
        if status < 300 and is_json:
            status = self._status_of(body) or status
        return Reply(status, body, is_json, " ".join(said[:400].split())[:160], retry_after)

    def _read(self, response: httpcore.Response, coding: str) -> bytes:
        wire = 0

        def arriving() -> Iterator[bytes]:
            nonlocal wire
            for chunk in response.iter_stream():
                wire += len(chunk)
                self.spending.add(bytes=len(chunk))
                if wire > WIRE_BYTES:
                    self._too_large(WIRE_BYTES)
                yield chunk

        pieces: list[bytes] = []
        size = 0
        try:
            for piece in unpacked(arriving(), coding):
                pieces.append(piece)
                size += len(piece)
                if size > DECODED_BYTES:
                    self._too_large(DECODED_BYTES)
            return b"".join(pieces)
        finally:
            # An error keeps what the functions it went through had, for as long as anybody has the error.
            pieces.clear()

    def _too_large(self, limit: int) -> NoReturn:
        raise self.failure(f"sent a reply of more than {limit:,} bytes", "too large", f"check {self._setting}.url")

    def _body(self, reply: Reply) -> Any:
        """Returns the body of a good reply."""
        kind = f"http {reply.status}"
        said = f"(HTTP {reply.status}: {reply.said})" if reply.said else f"(HTTP {reply.status})"
        if reply.status in _PASSING:
            after = retry_after_seconds(reply.retry_after, datetime.now(UTC))
            if reply.status == 429:
                what, advice = "says that it is asked too often", f"lower {self._setting}.rules.per_second or .concurrency"
            else:
                what, advice = "has a failure of its own", "try again later; what was recorded so far is kept"
            raise TryAgain(kind, after, self.failure(f"{what} {said}", kind, advice))
        if reply.status in (401, 403, 407):
            raise self.failure(f"refuses the request {said}", kind, self._key_advice())
        if 300 <= reply.status < 400:
            raise self.failure(f"answers with a redirect {said}", kind, f"set {self._setting}.url to its final address")
        if reply.status >= 400:
            raise self.failure(f"refuses the request {said}", kind, f"check {self._setting}")
        if not reply.is_json:
            failure = self.failure(f"sent something that is not JSON {said}", "not json", f"check {self._setting}.url")
            raise TryAgain("not json", None, failure)
        return reply.body

    def _key_advice(self) -> str:
        if not self._key_env:
            return f"check {self._setting}.url, and whether the service needs a key"
        return f"check the key in the environment variable {self._key_env}, which {self._setting}.key_env names"

    def _connected(self) -> httpcore.ConnectionPool:
        with self._lock:
            if self._pool is None or self._process != os.getpid():
                self._pool = service_pool(self.url, self._rules.concurrency)
                self._process = os.getpid()
                weakref.finalize(self, self._pool.close)
            return self._pool


def _checked(url: str, setting: str) -> str:
    """Returns the address without a slash at its end."""
    try:
        parts = urlsplit(url.strip())
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable:
        raise ConfigError(f"{setting}.url={scrub(url)!r} is not an address such as http://127.0.0.1:8888")
    if parts.username is not None or parts.query or parts.fragment:
        raise ConfigError(
            f"{setting}.url must hold no user name, password, query or fragment: it would end up in logs and errors"
        )
    return url.strip().rstrip("/")


def _revealed(value: str | Secret) -> str:
    return value.reveal() if isinstance(value, Secret) else value


def _silence_loggers() -> None:
    for name in _LOGGERS:
        logger(name)
