"""Servers of the small web of `tests.fakes`, on a free port of this machine."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import uvicorn
from websockets.asyncio.client import ClientConnection, connect

from tests.fakes import FakeProvider, make_env
from wildenv.adapters.openenv.server import create_app, server_config
from wildenv.env import WildEnv
from wildenv.web.client import WebClient

_PATIENCE_S = 10.0


@dataclass(frozen=True)
class Served:
    """A running server."""

    url: str
    sessions: Any

    @property
    def socket_url(self) -> str:
        return self.url.replace("http", "ws") + "/ws"

    def post(self, path: str, **arguments: Any) -> httpx.Response:
        return httpx.post(self.url + path, timeout=_PATIENCE_S, **arguments)

    def get(self, path: str) -> httpx.Response:
        return httpx.get(self.url + path, timeout=_PATIENCE_S)

    def free(self) -> None:
        """Waits until no session is left."""
        until(lambda: self.sessions.active_sessions == 0)


def until(true: Callable[[], bool]) -> None:
    """Waits until something is true."""
    deadline = time.monotonic() + _PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)


@contextmanager
def served(make: Callable[[], WildEnv] | None = None, *, ping_s: float | None = None, **settings: Any) -> Iterator[Served]:
    """Runs a server; what it serves shares one web, as `shared_env` has it."""
    web = WebClient(FakeProvider(), mode="live")
    app = create_app(make or (lambda: make_env(web=web)), **settings)
    config = server_config(app)
    if ping_s is not None:
        config.ws_ping_interval = config.ws_ping_timeout = ping_s
    server = uvicorn.Server(config)
    listening = socket.create_server(("127.0.0.1", 0), backlog=512)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        until(lambda: server.started)
        yield Served(f"http://127.0.0.1:{listening.getsockname()[1]}", app.state.sessions)
    finally:
        server.should_exit = True
        thread.join(_PATIENCE_S)
        listening.close()
    assert not thread.is_alive()


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Runs a test's coroutine, with a limit."""
    return asyncio.run(asyncio.wait_for(coroutine, 40))


async def ask(connection: ClientConnection, kind: str, data: Any = None) -> dict[str, Any]:
    """Sends a message and returns the reply."""
    await connection.send(json.dumps({"type": kind} if data is None else {"type": kind, "data": data}))
    reply: dict[str, Any] = json.loads(await connection.recv())
    return reply


async def raw(served: Served) -> ClientConnection:
    """Connects without any client of OpenEnv or ours."""
    return await connect(served.socket_url, proxy=None, max_size=None)
