"""Servers on 127.0.0.1 that behave as services do, well or badly, and remember what they were asked."""

from __future__ import annotations

import gzip
import io
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

from PIL import Image

from wildenv.errors import ToolError
from wildenv.web.results import ImageHit, Page, TextHit


@dataclass(frozen=True)
class Asked:
    """One request, as the server got it."""

    method: str
    path: str
    params: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True)
class Reply:
    """What to send: JSON values are encoded, bytes are sent as they are."""

    body: Any = field(default_factory=dict)
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    def send(self, handler: BaseHTTPRequestHandler, over: threading.Event) -> None:
        data = self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()
        handler.send_response(self.status)
        for name, value in {"Content-Length": str(len(data)), **self.headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)


class Hang(Reply):
    """Says nothing, until the test is over."""

    def send(self, handler: BaseHTTPRequestHandler, over: threading.Event) -> None:
        over.wait(10)
        handler.close_connection = True


class DripHeaders(Reply):
    """Sends headers without end, one every 50 ms."""

    def send(self, handler: BaseHTTPRequestHandler, over: threading.Event) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        for number in range(200):
            if over.wait(0.05):
                break
            handler.wfile.write(b"X-%d: drip\r\n" % number)
        handler.close_connection = True


class DripBody(Reply):
    """Sends a body of 1,000 bytes, one every 50 ms."""

    def send(self, handler: BaseHTTPRequestHandler, over: threading.Event) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(200):
            if over.wait(0.05):
                break
            handler.wfile.write(b" ")
        handler.close_connection = True


class Short(Reply):
    """Promises more bytes than it sends."""

    def send(self, handler: BaseHTTPRequestHandler, over: threading.Event) -> None:
        handler.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"organic": [')
        handler.close_connection = True


class NoHttp(Reply):
    """Sends what is not HTTP."""

    def send(self, handler: BaseHTTPRequestHandler, over: threading.Event) -> None:
        handler.wfile.write(b"220 mail.example ESMTP\r\n")
        handler.close_connection = True


def bomb(megabytes: int) -> Reply:
    """A small packed body that becomes a large one."""
    return Reply(gzip.compress(b" " * 1_000_000 * megabytes), headers={"Content-Encoding": "gzip"})


class FakeService:
    """A running server. `answer` may be replaced at any time."""

    def __init__(self, answer: Callable[[Asked], Reply]) -> None:
        self.answer = answer
        self.asked: list[Asked] = []
        self.at: list[float] = []
        self.connections = 0
        self._over = threading.Event()
        self._lock = threading.Lock()
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 10
            disable_nagle_algorithm = True

            def setup(self) -> None:
                super().setup()
                with service._lock:
                    service.connections += 1

            def handle_any(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                data = self.rfile.read(length)
                parts = urlsplit(self.path)
                headers = {name.lower(): value for name, value in self.headers.items()}
                params = dict(parse_qsl(parts.query, keep_blank_values=True))
                asked = Asked(self.command, parts.path, params, headers, json.loads(data) if data else None)
                with service._lock:
                    service.asked.append(asked)
                    service.at.append(time.monotonic())
                try:
                    service.answer(asked).send(self, service._over)
                except OSError:
                    self.close_connection = True

            def do_GET(self) -> None:
                self.handle_any()

            def do_POST(self) -> None:
                self.handle_any()

            def log_message(self, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False
            request_queue_size = 128

            def handle_error(self, *args: Any) -> None:
                """Clients that hang up are part of the tests."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    @contextmanager
    def running(self) -> Iterator[FakeService]:
        thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._over.set()
            self._server.shutdown()
            self._server.server_close()
            thread.join(5)


def in_turn(*replies: Reply) -> Callable[[Asked], Reply]:
    """Answers with one reply after another; the last one again and again."""
    left = list(replies)
    lock = threading.Lock()

    def answer(asked: Asked) -> Reply:
        with lock:
            return left.pop(0) if len(left) > 1 else left[0]

    return answer


def serper(asked: Asked) -> Reply:
    """A Serper that finds ten of everything, more pictures than were asked for, and knows one key."""
    if asked.headers.get("x-api-key") != "serper-test-key":
        return Reply({"message": "Unauthorized.", "statusCode": 403}, 403)
    query, kind = asked.body["q"], asked.path.strip("/")
    common = [{"title": f"{query} {n}", "link": f"https://site{n}.example/page", "position": n} for n in range(1, 11)]
    found: dict[str, list[dict[str, Any]]] = {
        "search": [{**row, "snippet": "words", "date": "Jul 1, 2026"} for row in common],
        "images": [{**row, "imageUrl": f"https://site{n}.example/{n}.jpg"} for n, row in enumerate(common * 3)],
        "news": [{**row, "snippet": "words", "source": "Paper", "date": "2 hours ago"} for row in common],
    }
    holds = "organic" if kind == "search" else kind
    return Reply({"searchParameters": {**asked.body, "type": kind}, holds: found[kind], "credits": 2 if kind == "images" else 1})


def searxng(asked: Asked) -> Reply:
    """A SearXNG that finds four a page, for three pages."""
    if asked.params.get("format") != "json":
        return Reply(b"<!doctype html><title>SearXNG</title>", headers={"Content-Type": "text/html"})
    page, query = int(asked.params["pageno"]), asked.params["q"]
    rows: list[dict[str, Any]] = []
    for number in range((page - 1) * 4, page * 4 if page <= 3 else 0):
        row = {"title": f"{query} {number}", "url": f"https://site{number}.example/page", "engine": "fake", "publishedDate": None}
        if asked.params["categories"] == "images":
            row |= {"img_src": f"https://site{number}.example/{number}.png"}
        if asked.params["categories"] == "news":
            row |= {"publishedDate": f"2026-07-{1 + number % 3:02d}T08:00:00", "source": "Paper"}
        rows.append({**row, "content": "words"})
    return Reply({"query": query, "number_of_results": 0, "results": rows, "answers": [], "unresponsive_engines": []})


def jina(asked: Asked) -> Reply:
    """A reader that knows the pages of ``*.example``."""
    url = asked.body["url"]
    host = urlsplit(url).hostname or ""
    if not host.endswith(".example"):
        message = f"Domain '{host}' could not be resolved"
        return Reply({"data": None, "code": 400, "name": "ParamValidationError", "status": 40001, "message": message}, 400)
    data = {
        "title": "A page",
        "description": "",
        "url": url,
        "content": "First paragraph.\n\nSecond paragraph.",
        "publishedTime": "Wed, 01 Jul 2026 08:00:00 GMT",
        "usage": {"tokens": 1200},
    }
    if asked.headers.get("x-with-links-summary"):
        data["links"] = {"More": "https://other.example/more", "Up": "/", "Mail": "mailto:a@b.example"}
    return Reply({"code": 200, "status": 20000, "data": data, "meta": {"usage": {"tokens": 1200}}})


class Whole:
    """A provider of everything: searches through one, fetches pages through another, and draws the pictures of ``*.example``."""

    name = "whole"
    version = "1"
    local = False

    def __init__(self, search: Any = None, pages: Any = None) -> None:
        self._search = search
        self._pages = pages

    def text_search(self, query: str, limit: int, cutoff: date | None) -> list[TextHit]:
        if self._search is None:
            return [TextHit(query, "https://site1.example/page", "words")][:limit]
        return list(self._search.text_search(query, limit, cutoff))

    def image_search(self, query: str, limit: int, cutoff: date | None) -> list[ImageHit]:
        if self._search is None:
            return [ImageHit(query, "https://site1.example/1.png", "https://site1.example/page")][:limit]
        return list(self._search.image_search(query, limit, cutoff))

    def fetch_page(self, url: str, cutoff: date | None) -> Page:
        if self._pages is not None:
            return cast(Page, self._pages.fetch_page(url, cutoff))
        if not (urlsplit(url).hostname or "").endswith(".example"):
            raise ToolError(f"there is no page {url}")
        return Page(url, "A page", "words")

    def fetch_image(self, url: str) -> bytes:
        if not (urlsplit(url).hostname or "").endswith(".example"):
            raise ToolError(f"there is no picture {url}")
        buffer = io.BytesIO()
        Image.new("RGB", (16, 8), "teal").save(buffer, format="PNG")
        return buffer.getvalue()
