"""A drawing service on loopback that fails on command: each request takes the next turn of the script."""

from __future__ import annotations

import base64
import io
import json
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from PIL import Image

Turn = Callable[["_Handler"], None]


def picture(size: tuple[int, int] = (64, 48), colour: str = "teal") -> str:
    """Returns a PNG in base64."""
    buffer = io.BytesIO()
    Image.new("RGB", size, colour).save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()


def send(row: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Turn:
    """Answers with JSON, or with bytes as they are."""

    def turn(handler: _Handler) -> None:
        body = row if isinstance(row, bytes) else json.dumps(row).encode()
        handler.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **(headers or {})}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    return turn


def hang(handler: _Handler) -> None:
    """Says nothing until the server stops."""
    handler.state.stopped.wait(30)
    handler.close_connection = True


def drip(handler: _Handler) -> None:
    """Sends a byte now and then, so that no single read takes long."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "4000")
    handler.end_headers()
    for _ in range(4000):
        if handler.state.stopped.wait(0.05):
            return
        handler.wfile.write(b" ")
        handler.wfile.flush()


def drop(handler: _Handler) -> None:
    """Closes the connection without a word."""
    handler.close_connection = True


@dataclass
class ImageServer:
    """The server's state."""

    url: str = ""
    script: deque[Turn] = field(default_factory=deque)
    paths: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    stopped: threading.Event = field(default_factory=threading.Event)

    def json(self, number: int = -1) -> dict[str, Any]:
        """Returns what a request said."""
        row: dict[str, Any] = json.loads(self.bodies[number])
        return row


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: ImageServer

    def do_POST(self) -> None:
        self.state.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.state.paths.append(self.path)
        self.state.headers.append({name.lower(): value for name, value in self.headers.items()})
        self.state.script.popleft()(self)

    def log_message(self, format: str, *args: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A client that gives up closes its side, which is what some tests are about.
        pass


@contextmanager
def image_server() -> Iterator[ImageServer]:
    """Runs a server on a free port."""
    state = ImageServer()
    server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"state": state}))
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield state
    finally:
        state.stopped.set()
        server.shutdown()
        thread.join()
        server.server_close()
