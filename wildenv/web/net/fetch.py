"""Fetches pages and pictures from hosts that nobody vouches for.

Every fetch ends within its limits of time, bytes and redirects, whatever the other side does, and connects to public
addresses only (`wildenv.web.net.guard`). It keeps no cookies, sends no credentials, uses no proxy of the environment, and
runs no script: what a page shows only in a browser is not seen. It does not read ``robots.txt``. What was fetched may still
be hostile to whoever decodes it.

Kinds of failure: ``timeout``, ``dns``, ``connection``, ``tls``, ``http 503`` and the like, ``refused address``, ``redirects``,
``too large``, ``bad reply``, ``bad encoding``, ``incomplete``, ``empty``, ``unsupported type``, ``not a picture``. Where our own
network is down, no address has failed but the infrastructure (`wildenv.web.net.network`).
"""

from __future__ import annotations

import codecs
import math
import re
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Literal

import httpcore
import httpx

from wildenv.errors import ConfigError, DeadlineExceeded, ToolError, Unavailable
from wildenv.secrets import logger, scrub
from wildenv.web.deadline import Work, overdue, remaining
from wildenv.web.net.decoding import ACCEPTED, BadEncoding, Unfinished, unpacked
from wildenv.web.net.guard import Guard, Place, Refused
from wildenv.web.net.guarded import Allowance, Excess, GuardedBackend, NoAddress, NoAnswer, NoRoute
from wildenv.web.net.hosts import Hosts
from wildenv.web.net.limits import FetchLimits
from wildenv.web.net.manners import Rules, TryAgain, retry_after_seconds
from wildenv.web.net.network import Network, down
from wildenv.web.net.spending import Spending

__all__ = ["Download", "FetchLimits", "Fetcher"]

_LOG = logger(__name__)

HOST_RULES = Rules(attempts=2, longest_wait_s=10.0)
"""Less patient than towards a service: one tool call fetches many pictures, whose hosts may all be slow or ask for a pause."""

USER_AGENT = "Mozilla/5.0 (compatible; wildenv)"

Noun = Literal["page", "picture"]

_ACCEPT: dict[Noun, str] = {
    "page": "text/html, application/xhtml+xml, application/pdf;q=0.9, text/plain;q=0.8, */*;q=0.1",
    "picture": "image/png, image/jpeg, image/webp, image/avif, image/gif, image/*;q=0.5",
}
_HEAD_BYTES = 98_304
_ABSENT = (404, 410)
_PASSING = (408, 425, 429, 500, 502, 503, 504, *range(520, 525), 529)
"""Replies that may be another one a moment later; those from 520 are a cache's that could not reach its site."""

_UNREACHED = ("dns", "connection", "timeout")
"""Kinds of failure that our own network may have caused."""

_MARKUP = ("text/html", "application/xhtml+xml", "application/json", "application/xml", "text/xml")
_CHARSET = re.compile(r"""charset\s*=\s*["']?([\w.:+-]{1,40})""", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Download:
    """What was fetched.

    Attributes:
        url: Where it came from in the end.
        media_type: As the server declared it, in lower case and without parameters; empty if it did not.
        charset: As the server declared it, whether or not there is such a one; None if it did not.
        data: The body, unpacked.
    """

    url: str
    media_type: str
    charset: str | None
    data: bytes


@dataclass(frozen=True, slots=True)
class _Moved:
    """A reply that leads elsewhere."""

    location: str


class _Absent(Exception):
    """The site says that there is no such thing."""


class _Failed(Exception):
    """A request came to nothing; `again` says whether another one may not, `doubt` what of ours may be at fault."""

    def __init__(
        self,
        kind: str,
        detail: str,
        again: bool = False,
        after_s: float | None = None,
        doubt: Literal["resolver", "route"] | None = None,
    ) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind
        self.detail = detail
        self.again = again
        self.after_s = after_s
        self.doubt = doubt


class Fetcher:
    """Fetches by GET. Safe for threads.

    Args:
        limits: Of each fetch.
        rules: Manners towards each host; `HOST_RULES` by default. Settings: ``web.host_rules``.
        allow: Private addresses with ports that may be fetched from all the same, ``127.0.0.1:8080``. Setting: `web.allow`.
        user_agent: How it introduces itself.
        tls: Which certificates are trusted; by default those that httpx trusts.

    Attributes:
        spending: Requests and bytes so far.

    Raises:
        ConfigError: If an address or the user agent is not valid.
    """

    def __init__(
        self,
        limits: FetchLimits | None = None,
        rules: Rules | None = None,
        allow: Sequence[str] = (),
        user_agent: str = USER_AGENT,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        if not user_agent.strip() or not (user_agent.isascii() and user_agent.isprintable()):
            raise ConfigError(f"the user agent {user_agent!r} must be one line of ASCII")
        self.limits = limits or FetchLimits()
        self.spending = Spending()
        self._user_agent = user_agent
        self._guard = Guard(allow)
        self._network = Network(self._guard, self.limits.connect_s)
        self._hosts = Hosts(rules or HOST_RULES)
        self._given_tls = tls

    def page(self, url: str) -> Download:
        """Fetches a page; which types can be read is the reader's to say, only pictures, sound and films are refused here.

        Raises:
            ToolError: If the site says that there is no such page (HTTP 404 or 410).
            Unavailable: If it cannot be had for any other reason.
            ProviderError: If our own network is down.
            DeadlineExceeded: If the tool call ran out of time.
        """
        return self._fetch(url, "page")

    def picture(self, url: str) -> bytes:
        """Fetches the bytes of a picture, which are not decoded here.

        Markup in the place of a picture is `Unavailable`: a site that turns a robot away, or asks for consent first, sends a page
        with HTTP 200 and may send the picture the next time, so that nothing is known about the picture. Other bytes that are
        no picture are the site's answer, and whoever decodes them says so.

        Raises:
            ToolError: If the site says that there is no such picture (HTTP 404 or 410).
            Unavailable: If it cannot be had for any other reason.
            ProviderError: If our own network is down.
            DeadlineExceeded: If the tool call ran out of time.
        """
        return self._fetch(url, "picture").data

    def _fetch(self, url: str, noun: Noun) -> Download:
        work = Work(self.limits.total_s)
        place: Place | None = None
        try:
            place = self._place(url)
            seen: set[str] = set()
            while len(seen) <= self.limits.redirects and place.url not in seen:
                seen.add(place.url)
                reply = self._ask(place, noun, work)
                if isinstance(reply, Download):
                    return reply
                place = self._next(place, reply)
            raise _Failed("redirects", "in a circle" if place.url in seen else f"more than {self.limits.redirects}")
        except _Absent:
            raise ToolError(f"there is no {noun} at {url}") from None
        except _Failed as failure:
            detail = scrub(failure.detail)
            _LOG.debug("%s: %s: %s", scrub(url), failure.kind, detail)
            if place is not None and failure.kind in _UNREACHED:
                self._check_network(place.host, failure.doubt, detail)
            raise Unavailable(url, failure.kind, detail) from failure

    def _check_network(self, host: str, doubt: str | None, detail: str) -> None:
        if doubt == "route":
            raise down(f"it has no way to {host} ({detail})")
        if doubt == "resolver":
            self._network.check_resolver(detail)
        self._network.check_after(host, detail)

    def _place(self, url: str) -> Place:
        try:
            return self._guard.place(url)
        except Refused as error:
            raise _Failed("refused address", str(error)) from error

    def _next(self, place: Place, reply: _Moved) -> Place:
        try:
            location = str(httpx.URL(place.url).join(reply.location))
        except (httpx.InvalidURL, ValueError) as error:
            raise _Failed("redirects", f"to {reply.location[:200]!r}: {error}") from error
        return self._place(location)

    def _ask(self, place: Place, noun: Noun, work: Work) -> Download | _Moved:
        tries = 0

        def attempt() -> Download | _Moved:
            nonlocal tries
            tries += 1
            self.spending.add(requests=1, retries=int(tries > 1))
            try:
                with work.counted():
                    return self._send(place, noun)
            except DeadlineExceeded:
                if overdue():
                    raise
                raise _Failed("timeout", f"more than {self.limits.total_s:g} s in all") from None
            except _Failed as failure:
                if failure.kind == "timeout" and overdue():
                    remaining(0)
                if failure.again and work.worthwhile:
                    raise TryAgain(failure.kind, failure.after_s, failure) from failure
                raise

        def closed(kind: str, left_s: float) -> Exception:
            return _Failed(kind, f"{place.host} asked for a pause of which {left_s:.0f} s are left")

        with self._hosts.towards(f"{place.host}:{place.port}") as manners:
            return manners.run(attempt, closed)

    def _send(self, place: Place, noun: Noun) -> Download | _Moved:
        """Sends one request; what goes wrong with it is a `_Failed`, but for the deadline."""
        allowance = Allowance("connecting", self.limits.connect_s)
        try:
            return self._exchange(place, noun, allowance)
        except NoAnswer as error:
            raise _Failed("timeout", str(error), again=True, doubt="resolver") from error
        except httpcore.TimeoutException as error:
            raise _Failed("timeout", str(error) or "no answer in time", again=True) from error
        except Refused as error:
            raise _Failed("refused address", str(error)) from error
        except NoAddress as error:
            raise _Failed("dns", str(error), again=error.for_now, doubt="resolver" if error.for_now else None) from error
        except Excess as error:
            raise _Failed("too large", str(error)) from error
        except NoRoute as error:
            raise _Failed("connection", str(error), again=True, doubt="route") from error
        except httpcore.NetworkError as error:
            if isinstance(error.__cause__, ssl.SSLError):
                raise _Failed("tls", str(error)) from error
            raise _Failed("connection", str(error), again=True) from error
        except httpcore.ProtocolError as error:
            raise _Failed("bad reply", str(error), again=True) from error
        finally:
            self.spending.add(bytes=allowance.taken)

    def _exchange(self, place: Place, noun: Noun, allowance: Allowance) -> Download | _Moved:
        def trace(event: str, _: object) -> None:
            if event == "http11.send_request_headers.started":
                self._network.reached(place.host, place.port)
                # Some room for what does not belong to the head any more but arrives with it.
                allowance.begin("the head of the reply", self.limits.first_byte_s, _HEAD_BYTES)

        host, target = place.host.encode("ascii"), place.target.encode("ascii")
        url = httpcore.URL(scheme=place.scheme.encode("ascii"), host=host, port=place.port, target=target)
        headers = [
            ("Host", place.netloc),
            ("User-Agent", self._user_agent),
            ("Accept", _ACCEPT[noun]),
            ("Accept-Language", "en, *;q=0.5"),
            ("Accept-Encoding", ACCEPTED),
            ("Connection", "close"),
        ]
        backend = GuardedBackend(self._guard, allowance, httpcore.SyncBackend())
        tls = self._tls if place.scheme == "https" else None
        connection = httpcore.HTTPConnection(url.origin, ssl_context=tls, network_backend=backend)
        try:
            with connection.stream("GET", url, headers=headers, extensions={"trace": trace}) as response:
                return self._read(place, response, noun, allowance)
        finally:
            connection.close()

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return self._given_tls or httpx.create_ssl_context()

    def _read(self, place: Place, response: httpcore.Response, noun: Noun, allowance: Allowance) -> Download | _Moved:
        self._network.answered()
        status = response.status
        location = _header(response, b"location")
        if status in (301, 302, 303, 307, 308) and location:
            return _Moved(location)
        if status in _ABSENT:
            raise _Absent
        if status not in (200, 203):
            again = status in _PASSING
            after_s = retry_after_seconds(_header(response, b"retry-after"), datetime.now(UTC)) if again else None
            raise _Failed(f"http {status}", response.extensions.get("reason_phrase", b"").decode("latin-1")[:200], again, after_s)
        declared = _header(response, b"content-type")
        media_type = declared.partition(";")[0].strip().lower()
        _check_type(media_type, noun)
        most = self.limits.page_bytes if noun == "page" else self.limits.picture_bytes
        length = _header(response, b"content-length")
        if length.isdecimal() and int(length) > most:
            raise _Failed("too large", f"{length} bytes announced")
        allowance.begin("the body", math.inf, most)
        data = self._body(response, allowance)
        if not data:
            raise _Failed("empty", "no bytes")
        if noun == "picture" and data[:1024].removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"<"):
            raise _Failed("not a picture", f"markup declared as {media_type[:100]!r}")
        charset = _CHARSET.search(declared)
        return Download(place.url, media_type, charset and charset[1].lower(), data)

    def _body(self, response: httpcore.Response, allowance: Allowance) -> bytes:
        pieces: list[bytes] = []
        left = self.limits.decoded_bytes
        try:
            for piece in unpacked(response.iter_stream(), _header(response, b"content-encoding")):
                left -= len(piece)
                if left < 0:
                    raise _Failed("too large", f"more than {self.limits.decoded_bytes} bytes unpacked")
                pieces.append(piece)
                # Asked for each piece: unpacking what has already arrived takes time as well.
                allowance.seconds()
            return b"".join(pieces)
        except BadEncoding as error:
            raise _Failed("bad encoding", str(error)) from error
        except (Unfinished, httpcore.RemoteProtocolError) as error:
            raise _Failed("incomplete", str(error), again=True) from error
        finally:
            # An error keeps what the functions it went through had, for as long as anybody has the error.
            pieces.clear()


def _check_type(media_type: str, noun: Noun) -> None:
    """Refuses what is certainly not what was asked for, before it is read."""
    family = media_type.partition("/")[0]
    if noun == "picture" and media_type in _MARKUP:
        raise _Failed("not a picture", media_type)
    wrong = family in ("audio", "video", "font") or media_type == "image/svg+xml"
    if wrong or (noun == "page" and family == "image") or (noun == "picture" and media_type == "application/pdf"):
        raise _Failed("unsupported type", media_type[:100])


def _header(response: httpcore.Response, name: bytes) -> str:
    """Returns a header; of several with that name all of them, as one list."""
    return ", ".join(value.decode("latin-1") for key, value in response.headers if key.lower() == name)
