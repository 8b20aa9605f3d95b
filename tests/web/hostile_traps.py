"""What the hostile server does wrong, trap by trap."""

from __future__ import annotations

import socket
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.web import hostile_bodies as bodies

LONGEST_S = 60.0
"""No reply takes longer, nor does anybody wait longer for a request."""


@dataclass(slots=True)
class State:
    """What the hosts remember."""

    stop: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    counts: dict[str, int] = field(default_factory=dict)
    pause_until: float = 0.0
    since_pause: int = 0

    def count(self, name: str) -> int:
        with self.lock:
            self.counts[name] = self.counts.get(name, 0) + 1
            return self.counts[name]


class Talk:
    """One connection, written to in raw bytes."""

    def __init__(self, connection: socket.socket, head: bytes, state: State, ports: dict[str, int]) -> None:
        self.connection = connection
        self.head = head
        self.state = state
        self.ports = ports

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)

    def reply(
        self, body: bytes, head: str = "", status: str = "200 OK", media_type: str = "text/html", length: int | None = None
    ) -> None:
        """Sends a reply; `length` is what it says its length is."""
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body) if length is None else length}", "Connection: close"]
        lines += [f"Content-Type: {media_type}"] * bool(media_type) + [head] * bool(head)
        self.send("\r\n".join([*lines, "", ""]).encode() + body)

    def chunk(self, data: bytes) -> None:
        self.send(b"%x\r\n" % len(data) + data + b"\r\n")

    def drip(self, data: bytes, pause_s: float = 0.05) -> None:
        """Sends byte by byte."""
        for value in data:
            self.send(bytes([value]))
            if self.state.stop.wait(pause_s):
                return

    def forever(self) -> Iterator[None]:
        """For what has no end."""
        end = time.monotonic() + LONGEST_S
        while time.monotonic() < end and not self.state.stop.is_set():
            yield

    def reset(self) -> None:
        """Ends the connection as a crash does."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def to(self, location: str, status: str = "302 Found") -> None:
        self.reply(b"", f"Location: {location}", status)


Serve = Callable[[Talk], None]

CHUNKED = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
_PLAIN_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100000\r\n"


def _never(talk: Talk) -> None:
    for _ in talk.forever():
        talk.state.stop.wait(0.2)


def _drip_head(talk: Talk) -> None:
    talk.send(_PLAIN_HEAD)
    for number, _ in enumerate(talk.forever()):
        talk.drip(b"X-%d: a\r\n" % number)


def _drip_body(talk: Talk) -> None:
    talk.send(_PLAIN_HEAD + b"\r\n")
    for _ in talk.forever():
        talk.drip(b"<p>slow</p>")


def _drip_chunks(talk: Talk) -> None:
    talk.send(CHUNKED.encode())
    for _ in talk.forever():
        talk.chunk(b"<p>slow</p>")
        talk.state.stop.wait(0.05)


def _endless(talk: Talk) -> None:
    talk.send(CHUNKED.encode())
    for _ in talk.forever():
        talk.chunk(b"<p>more</p>" * 4000)


def _tiny_chunks(talk: Talk) -> None:
    talk.send(CHUNKED.encode())
    for _ in talk.forever():
        talk.send(b"1;padding=%s\r\na\r\n" % (b"x" * 50) * 500)


def _endless_trailers(talk: Talk) -> None:
    talk.send(CHUNKED.encode() + b"3\r\nabc\r\n0\r\n")
    for number, _ in enumerate(talk.forever()):
        talk.send(b"X-%d: a\r\n" % number * 500)


def _header_bomb(talk: Talk) -> None:
    talk.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n")
    for number, _ in enumerate(talk.forever()):
        talk.send(b"X-%d: %s\r\n" % (number, b"a" * 4000))


def _one_header(talk: Talk) -> None:
    talk.send(b"HTTP/1.1 200 OK\r\nX: ")
    for _ in talk.forever():
        talk.send(b"a" * 65_536)


def _continues(talk: Talk) -> None:
    for _ in talk.forever():
        talk.send(b"HTTP/1.1 100 Continue\r\n\r\n" * 500)


def _reset_in_body(talk: Talk) -> None:
    talk.send(_PLAIN_HEAD + b"\r\n" + b"a" * 5000)
    time.sleep(0.05)
    talk.reset()


def _html_20_mb(talk: Talk) -> None:
    page = bodies.long_html(20 * bodies.MIB)
    talk.send(CHUNKED.encode())
    for start in range(0, len(page), 65_536):
        talk.chunk(page[start : start + 65_536])
    talk.send(b"0\r\n\r\n")


def _busy(talk: Talk) -> None:
    """Asks for a pause of one second after every twentieth request, and takes note of who does not keep it."""
    state = talk.state
    with state.lock:
        now = time.monotonic()
        early = now < state.pause_until
        state.since_pause += 1
        if (not early and state.since_pause > 20) or state.pause_until == 0:
            state.pause_until, state.since_pause = now + 1.0, 0
            refused = True
        else:
            refused = early
    if early:
        state.count("impolite")
    if refused:
        talk.reply(b"slow down", "Retry-After: 1", "429 Too Many Requests")
    else:
        talk.reply(bodies.article())


def _moody(talk: Talk) -> None:
    """Fails once, then answers."""
    if talk.state.count("moody") == 1:
        talk.reply(b"a moment", status="503 Service Unavailable")
    else:
        talk.reply(bodies.article())


def _encoded(body: bytes, coding: str) -> Serve:
    return lambda talk: talk.reply(body, f"Content-Encoding: {coding}")


def _raw_deflate(talk: Talk) -> None:
    talk.reply(_deflate(-15), "Content-Encoding: deflate")


def _set_cookie(talk: Talk) -> None:
    talk.reply(b"", "Set-Cookie: id=1\r\nLocation: /echo", "302 Found")


def _deflate(wbits: int) -> bytes:
    packer = zlib.compressobj(6, zlib.DEFLATED, wbits)
    return packer.compress(bodies.article()) + packer.flush()


def failing(status: str) -> Serve:
    return lambda talk: talk.reply(bodies.article(f"Error {status}"), status=status)


def _redirect(location: str) -> Serve:
    return lambda talk: talk.to(location)


def _picture(name: str) -> Serve:
    def serve(talk: Talk) -> None:
        media_type, data = bodies.picture(name)
        talk.reply(data, media_type=media_type)

    return serve


def _page(body: bytes, media_type: str = "text/html") -> Serve:
    return lambda talk: talk.reply(body, media_type=media_type)


ANSWER = ("answer",)
ABSENT = ("absent",)

Row = tuple[str, str, Serve, tuple[str, ...]] | tuple[str, str, Serve, tuple[str, ...], tuple[str, ...]]
"""Host, name, what it does, what a fetcher makes of it, and a client if that differs."""

PAGES: list[Row] = [
    ("plain", "page", lambda talk: talk.reply(bodies.article()), ANSWER),
    ("plain", "no-type", _page(bodies.article(), ""), ANSWER),
    ("plain", "error-page-with-200", _page(bodies.article("500 Internal Server Error: something broke.")), ANSWER),
    ("plain", "moved", _redirect("/page"), ANSWER),
    ("plain", "echo", lambda talk: talk.reply(talk.head, media_type="text/plain"), ANSWER),
    ("plain", "sets-a-cookie", _set_cookie, ANSWER),
    ("plain", "gzip", _encoded(bodies.packed(bodies.article()), "gzip"), ANSWER),
    ("plain", "two-gzip-members", _encoded(bodies.packed(bodies.article()) + bodies.packed(b"<!-- more -->"), "gzip"), ANSWER),
    ("plain", "gzip-and-junk", _encoded(bodies.packed(bodies.article()) + b"junk", "gzip"), ANSWER),
    ("plain", "deflate", lambda talk: talk.reply(_deflate(15), "Content-Encoding: deflate"), ANSWER),
    ("plain", "raw-deflate", _raw_deflate, ANSWER),
    (
        "plain",
        "longer-than-it-says",
        lambda talk: talk.reply(bodies.article() + b"x" * 999, length=len(bodies.article())),
        ANSWER,
    ),
    ("plain", "unknown-charset", _page(bodies.article(), "text/html; charset=klingon-8"), ANSWER),
    ("plain", "wrong-charset", _page(bodies.article("Größe und Überfluß: çà et là."), "text/html; charset=utf-16"), ANSWER),
    (
        "plain",
        "latin-1",
        _page(bodies.article().replace(b"river", "r\xedver".encode("latin-1")), "text/html; charset=iso-8859-1"),
        ANSWER,
    ),
    (
        "plain",
        "deep-html",
        lambda talk: talk.reply(bodies.deep_html()),
        ANSWER,
        ("answer", "unreadable", "too slow", "too large"),
    ),
    ("plain", "not-found", failing("404 Not Found"), ABSENT),
    ("plain", "gone", failing("410 Gone"), ABSENT),
    ("plain", "forbidden", failing("403 Forbidden"), ("http 403",)),
    ("plain", "unauthorized", failing("401 Unauthorized"), ("http 401",)),
    ("plain", "no-content", lambda talk: talk.reply(b"", status="204 No Content"), ("http 204",)),
    ("plain", "moved-nowhere", lambda talk: talk.reply(b"", status="302 Found"), ("http 302",)),
    ("plain", "empty", _page(b""), ("empty",)),
    ("plain", "a-film", _page(b"\0" * 999, "video/mp4"), ("unsupported type",)),
    ("plain", "a-program", _page(b"MZ\x90\0" * 99, "application/octet-stream"), ANSWER, ("unsupported type",)),
    ("plain", "broken-pdf", _page(b"%PDF-1.7\n%broken", "application/pdf"), ANSWER, ("unreadable",)),
    ("plain", "circle", _redirect("/circle-2"), ("redirects",)),
    ("plain", "circle-2", _redirect("/circle"), ("redirects",)),
    ("plain", "chain", lambda talk: talk.to(f"/chain?{talk.state.count('chain')}"), ("redirects",)),
    ("plain", "to-metadata", _redirect("http://169.254.169.254/latest/meta-data/"), ("refused address",)),
    ("plain", "to-another-port", lambda talk: talk.to(f"http://127.0.0.1:{talk.ports['forbidden']}/"), ("refused address",)),
    ("plain", "to-localhost", lambda talk: talk.to(f"http://localhost:{talk.ports['plain']}/page"), ("refused address",)),
    ("plain", "to-a-number", _redirect("http://2130706433/"), ("refused address",)),
    ("plain", "to-a-file", _redirect("file:///etc/passwd"), ("refused address",)),
    ("plain", "to-ftp", _redirect("ftp://example.org/a"), ("refused address",)),
    ("plain", "to-data", _redirect("data:text/html,hello"), ("refused address",)),
    ("plain", "to-a-login", lambda talk: talk.to(f"http://me:secret@127.0.0.1:{talk.ports['plain']}/page"), ("refused address",)),
    ("plain", "to-nonsense", _redirect("http://[::1/"), ("redirects", "refused address")),
    ("broken", "shorter-than-it-says", lambda talk: talk.reply(bodies.article(), length=9999), ("incomplete",)),
    ("broken", "truncated-gzip", _encoded(bodies.packed(bodies.article())[:-20], "gzip"), ("incomplete",)),
    ("broken", "reset", _reset_in_body, ("connection",)),
    ("broken", "reset-at-once", lambda talk: talk.reset(), ("connection", "bad reply")),
    ("broken", "hangs-up", lambda talk: None, ("bad reply",)),
    ("broken", "not-http", lambda talk: talk.send(b"220 mail.example ESMTP\r\n"), ("bad reply",)),
    ("broken", "two-lengths", lambda talk: talk.reply(b"abc", "Content-Length: 7"), ("bad reply",)),
    ("broken", "storm", failing("500 Internal Server Error"), ("http 500",)),
    ("broken", "plain-as-gzip", _encoded(bodies.article(), "gzip"), ("bad encoding",)),
    ("broken", "packed-twice", _encoded(bodies.packed(bodies.packed(bodies.article())), "gzip, gzip"), ("bad encoding",)),
    ("broken", "brotli-unasked", _encoded(b"\x0b\x02\x80abc\x03", "br"), ("bad encoding",)),
    (
        "broken",
        "gzip-bomb",
        lambda talk: _encoded(bodies.zeros_gzip(1024 * bodies.MIB), "gzip")(talk),
        ("too large",),
        ("too large", "timeout"),
    ),
    ("broken", "html-20-mb", _html_20_mb, ("too large",), ("too large", "timeout")),
    ("broken", "says-20-mb", lambda talk: talk.reply(b"a", length=20_000_000), ("too large",)),
    ("broken", "endless", _endless, ("too large",), ("too large", "timeout")),
    ("broken", "tiny-chunks", _tiny_chunks, ("too large",), ("too large", "timeout")),
    ("broken", "endless-trailers", _endless_trailers, ("too large", "incomplete"), ("too large", "incomplete", "timeout")),
    ("broken", "header-bomb", _header_bomb, ("too large",), ("too large", "timeout")),
    ("broken", "one-endless-header", _one_header, ("too large",), ("too large", "timeout")),
    ("broken", "continues", _continues, ("too large",), ("too large", "timeout")),
    ("slow", "never", _never, ("timeout",)),
    ("slow", "drip-head", _drip_head, ("timeout",)),
    ("slow", "drip-body", _drip_body, ("timeout",)),
    ("slow", "drip-chunks", _drip_chunks, ("timeout",)),
    ("busy", "busy", _busy, ANSWER),
    (
        "closed",
        "come-back-in-an-hour",
        lambda talk: talk.reply(b"no", "Retry-After: 3600", "429 Too Many Requests"),
        ("http 429",),
    ),
    ("moody", "moody", _moody, ANSWER),
]

_BAD_PICTURES = {
    **dict.fromkeys(("truncated-jpeg", "truncated-png", "pixel-bomb", "noise"), (ANSWER, ABSENT)),
    **dict.fromkeys(("svg-as-png", "html-as-jpeg"), (("not a picture",), ("not a picture",))),
}

IMAGES: list[Row] = [
    *(("plain", name, _picture(name), *_BAD_PICTURES.get(name, (ANSWER,))) for name in bodies.PICTURES),
    ("plain", "html-instead-of-picture", _page(bodies.article()), ("not a picture",)),
    ("plain", "json-instead-of-picture", _page(b'{"error": "no"}', "application/json"), ("not a picture",)),
    ("plain", "svg", _page(bodies.SVG, "image/svg+xml"), ("unsupported type",)),
    ("plain", "no-picture", _page(b"", "image/png"), ("empty",)),
    ("plain", "no-such-picture", failing("404 Not Found"), ABSENT),
    ("plain", "picture-to-metadata", _redirect("http://169.254.169.254/a.png"), ("refused address",)),
    ("broken", "picture-of-25-mb", lambda talk: talk.reply(bytes(25_000_000), media_type="image/png"), ("too large",)),
    ("slow", "picture-never", _never, ("timeout",)),
]

SERVED: dict[str, Serve] = {row[1]: row[2] for row in (*PAGES, *IMAGES)}
