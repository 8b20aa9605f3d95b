"""Keeps every test off the network, and generates one small world for all of them."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from wildenv.miniweb.config import WorldConfig
from wildenv.miniweb.world import MiniWorld


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuses connections to anything but a Unix socket, and name look-ups; each worker process patches its own `socket`."""
    for name in ("connect", "connect_ex"):
        original = getattr(socket.socket, name)

        def guarded(self: socket.socket, address: Any, original: Any = original) -> Any:
            if self.family != socket.AF_UNIX:
                raise RuntimeError(f"a test tried to connect to {address}")
            return original(self, address)

        monkeypatch.setattr(socket.socket, name, guarded)

    def refuse(host: Any, *_: Any, **__: Any) -> Any:
        raise RuntimeError(f"a test tried to look up {host}")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture(scope="session")
def small_world() -> MiniWorld:
    """A world of 120 events, one in eight of them in the test split."""
    return MiniWorld.generate(WorldConfig(events=120))
