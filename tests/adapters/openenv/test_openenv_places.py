"""Places of sessions: never more than there are, and free again however a client goes away."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import time
from typing import Any
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import ConnectionClosed

from tests.adapters.openenv.serving import Served, ask, raw, run, served, until
from tests.fakes import FakeProvider, call, make_env
from wildenv.adapters.openenv.client import WildClient
from wildenv.adapters.openenv.server import create_app, serve
from wildenv.errors import ConfigError, InfrastructureError, UsageError
from wildenv.web.client import WebClient

pytestmark = pytest.mark.loopback

IDLE_S = 0.5


def _slow(seconds: float) -> Any:
    provider = FakeProvider()
    provider.before = lambda tool: time.sleep(seconds)
    web = WebClient(provider, mode="live")
    return lambda: make_env(web=web)


def _half_open(one: Served) -> socket.socket:
    """Returns a connection that has shaken hands, and whose client then neither says nor reads anything."""
    url = urlsplit(one.url)
    connection = socket.create_connection((url.hostname, url.port), timeout=5)
    request = f"GET /ws HTTP/1.1\r\nHost: {url.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    connection.sendall(f"{request}Sec-WebSocket-Key: {'A' * 22}==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
    assert b" 101 " in connection.recv(4096)
    until(lambda: one.sessions.active_sessions > 0)
    return connection


def test_one_more_is_refused_at_once_and_let_in_later() -> None:
    async def session(one: Served) -> dict[str, Any]:
        async with WildClient(one.url) as first, WildClient(one.url) as second:
            await first.reset(seed=0)
            await second.reset(seed=0)
            started = time.perf_counter()
            async with WildClient(one.url) as third:
                with pytest.raises(InfrastructureError, match=r"no session left \(.*2/2.*\); .* --max-sessions"):
                    await third.reset(seed=0)
            assert time.perf_counter() - started < 5
            async with await raw(one) as refused:
                reply: dict[str, Any] = json.loads(await refused.recv())
        return reply

    with served(max_sessions=2) as one:
        refusal = run(session(one))
        one.free()
        with WildClient(one.url).sync() as client:
            assert client.reset(seed=0).observation["text"]
    assert refusal["data"]["code"] == "CAPACITY_REACHED"
    assert refusal["data"]["max_sessions"] == 2


def test_a_silent_client_loses_its_session_and_is_told() -> None:
    async def session(one: Served) -> str:
        async with await raw(one) as connection:
            await ask(connection, "reset", {"seed": 0})
            with pytest.raises(ConnectionClosed) as closed:
                await connection.recv()
            assert closed.value.rcvd is not None
            return closed.value.rcvd.reason

    async def later(one: Served) -> None:
        async with WildClient(one.url) as client:
            await client.reset(seed=0)
            await asyncio.sleep(IDLE_S * 2)
            with pytest.raises(UsageError, match="call reset before step: this session"):
                await client.step("x")

    with served(idle_timeout_s=IDLE_S) as one:
        assert run(session(one)) == "nothing was sent for 0.5 s"
        one.free()
        run(later(one))


def test_a_long_step_is_not_silence() -> None:
    async def session(one: Served) -> dict[str, Any]:
        async with await raw(one) as connection:
            await ask(connection, "reset", {"seed": 0})
            return await ask(connection, "step", {"message": call("text_search", queries=["lantern"])})

    with served(_slow(IDLE_S * 3), idle_timeout_s=IDLE_S) as one:
        assert "Lantern" in run(session(one))["data"]["observation"]["text"]


def test_half_open_connections_keep_no_place() -> None:
    with served(max_sessions=3, idle_timeout_s=IDLE_S) as one:
        held = [_half_open(one) for _ in range(3)]
        one.free()
        with WildClient(one.url).sync() as client:
            assert client.reset(seed=0).observation["text"]
        for connection in held:
            connection.close()


def test_a_client_that_answers_no_ping_keeps_no_place() -> None:
    with served(max_sessions=1, ping_s=0.3) as one:
        connection = _half_open(one)
        one.free()
        connection.close()


def test_a_connection_that_breaks_keeps_no_place() -> None:
    with served(max_sessions=1) as one:
        for _ in range(3):
            connection = _half_open(one)
            # Closing then sends a reset instead of a goodbye.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
            one.free()


def test_a_client_that_vanishes_in_a_step_keeps_no_place() -> None:
    async def session(one: Served) -> None:
        connection = await raw(one)
        await ask(connection, "reset", {"seed": 0})
        await connection.send(json.dumps({"type": "step", "data": {"message": call("text_search", queries=["lantern"])}}))
        await asyncio.sleep(0.1)
        connection.transport.abort()

    with served(_slow(0.5), max_sessions=1) as one:
        run(session(one))
        assert one.sessions.active_sessions == 1
        one.free()
        with WildClient(one.url).sync() as client:
            assert client.reset(seed=0).observation["text"]


def test_a_client_that_reads_nothing_keeps_no_place() -> None:
    async def session(one: Served) -> None:
        connection = await raw(one)
        await ask(connection, "reset", {"seed": 0})
        connection.transport.pause_reading()
        # Far more replies than fit between the two; the client is never silent, since its questions wait in line.
        for _ in range(10_000):
            await connection.send('{"type": "state"}')
        await asyncio.to_thread(one.free)
        connection.transport.abort()

    with served(max_sessions=1, idle_timeout_s=IDLE_S) as one:
        run(session(one))


@pytest.mark.parametrize("wrong", [{"max_sessions": 0}, {"max_sessions": True}, {"idle_timeout_s": 0}, {"idle_timeout_s": "1"}])
def test_settings_that_are_wrong_are_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        create_app(make_env, **wrong)


def test_a_port_in_use_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"port={port}: cannot listen on"):
            serve(create_app(make_env), port=port)
