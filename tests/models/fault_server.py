"""An OpenAI-compatible endpoint on loopback that fails on command.

Each request takes the next turn of `FaultServer.script`, and a plain reply when the script is empty. Everything that was sent is
kept, so that a test can look at the bytes.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Turn = Callable[["_Handler"], None]


def completion(text: str | None = "fine", finish: str | None = "stop", **fields: Any) -> dict[str, Any]:
    """Returns a chat completion; fields that a message has go into the message, others on top."""
    in_message = {"refusal", "tool_calls", "reasoning_content"}
    message = {"role": "assistant", "content": text, **{name: fields.pop(name) for name in in_message & fields.keys()}}
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 0,
        "model": "served-1",
        "system_fingerprint": "fp-7",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
        **fields,
    }


def say(text: str | None = "fine", finish: str | None = "stop", **fields: Any) -> Turn:
    """Answers with a completion."""
    return send(json.dumps(completion(text, finish, **fields)))


def send(body: str | bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Turn:
    """Answers with this body."""

    def turn(handler: _Handler) -> None:
        handler.reply(body.encode() if isinstance(body, str) else body, status, headers or {})

    return turn


def fail(status: int, code: str = "", headers: Mapping[str, str] | None = None, message: str = "no") -> Turn:
    """Answers with an error in OpenAI's form."""
    return send(json.dumps({"error": {"message": message, "type": "t", "code": code or None}}), status, headers)


def hang(handler: _Handler) -> None:
    """Says nothing until the server stops."""
    handler.stopped.wait(60)
    handler.close_connection = True


def drip(handler: _Handler) -> None:
    """Sends one byte of a valid reply now and then, so that no single read takes long."""
    body = json.dumps(completion("slow")).encode().ljust(4_000)
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    for byte in body:
        if handler.stopped.wait(0.05):
            return
        handler.wfile.write(bytes([byte]))
        handler.wfile.flush()


def drop(handler: _Handler) -> None:
    """Closes the connection without a word."""
    handler.close_connection = True


@dataclass
class FaultServer:
    """The server's state; `url` is its base URL."""

    url: str = ""
    script: deque[Turn] = field(default_factory=deque)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    delay_s: float = 0.0
    at_once: int = 0
    most_at_once: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    stopped: threading.Event = field(default_factory=threading.Event)

    @property
    def calls(self) -> int:
        """Requests so far."""
        return len(self.bodies)

    def turn(self, body: dict[str, Any], headers: dict[str, str]) -> Turn:
        """Notes a request and returns what happens to it."""
        with self.lock:
            self.bodies.append(body)
            self.headers.append(headers)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            return self.script.popleft() if self.script else say()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: FaultServer

    @property
    def stopped(self) -> threading.Event:
        return self.state.stopped

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        turn = self.state.turn(body, {name.lower(): value for name, value in self.headers.items()})
        try:
            if self.path != "/v1/chat/completions":
                turn = fail(404)
            if self.state.delay_s:
                self.stopped.wait(self.state.delay_s)
            turn(self)
        finally:
            with self.state.lock:
                self.state.at_once -= 1

    def reply(self, body: bytes, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A client that gives up closes its side, which is what some tests are about.
        pass


@contextmanager
def fault_server() -> Iterator[FaultServer]:
    """Runs a server on a free port."""
    state = FaultServer()
    server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"state": state}))
    state.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield state
    finally:
        state.stopped.set()
        server.shutdown()
        thread.join()
        server.server_close()
