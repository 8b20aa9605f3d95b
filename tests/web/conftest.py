"""A provider that counts how often it is asked, and answers from what a test puts into it."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from wildenv.errors import ToolError, Unavailable
from wildenv.web.results import ImageHit, Page, TextHit


class FakeProvider:
    """Answers any query with `hits` numbered results, unless a test replaces `answer`."""

    name = "fake"
    version = "1"
    local = True

    def __init__(self, hits: int = 3, published: str | None = "2026-07-01") -> None:
        self.hits = hits
        self.published = published
        self.asked: Counter[str] = Counter()
        self.limits: list[int] = []
        self.fail: Callable[[int], None] = lambda call: None
        self.pictures: dict[str, bytes] = {}
        self.down = "/down"
        self._lock = threading.Lock()

    def text_search(self, query: str, limit: int, cutoff: date | None) -> list[TextHit]:
        self._note("text_search", limit)
        hits = [TextHit(f"{query} {i}", f"https://a.example/{i}", "words", self.published) for i in range(self.hits)]
        return hits[:limit]

    def image_search(self, query: str, limit: int, cutoff: date | None) -> list[ImageHit]:
        self._note("image_search", limit)
        page = "https://a.example/page"
        hits = [ImageHit(f"{query} {i}", f"https://a.example/{i}.png", page, self.published) for i in range(self.hits)]
        return hits[:limit]

    def fetch_page(self, url: str, cutoff: date | None) -> Page:
        self._note("fetch_page", 1)
        if self.down and url.endswith(self.down):
            raise Unavailable(url, "http 503", "the site is down")
        if url.endswith("/missing"):
            raise ToolError(f"there is no page {url}")
        return Page(url, "A page", "" if url.endswith("/blank") else "SECRET text", self.published)

    def fetch_image(self, url: str) -> bytes:
        self._note("fetch_image", 1)
        if url not in self.pictures:
            raise ToolError(f"there is no picture {url}")
        return self.pictures[url]

    def _note(self, tool: str, limit: int) -> None:
        with self._lock:
            self.asked[tool] += 1
            self.limits.append(limit)
            call = self.asked[tool]
        self.fail(call)


def picture(colour: str = "teal", form: str = "PNG", size: tuple[int, int] = (16, 8)) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, colour).save(buffer, format=form)
    return buffer.getvalue()


@pytest.fixture
def make_provider() -> type[FakeProvider]:
    return FakeProvider


@pytest.fixture
def make_picture() -> Callable[..., bytes]:
    return picture


@pytest.fixture
def run_python() -> Any:
    """Starts a Python process in the repository root with sockets blocked; the caller waits for it."""
    block = (
        "import socket\n"
        "def refuse(*_, **__): raise RuntimeError('a connection was tried')\n"
        "socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse\n"
    )
    started: list[subprocess.Popen[str]] = []

    def start(script: str, *arguments: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", block + script, *map(str, arguments)],
            cwd=Path(__file__).parents[2],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()
