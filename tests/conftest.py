"""Keeps every test off the network, and generates one small world for all of them.

A test with the marker ``loopback`` may talk to servers of its own on 127.0.0.1; nothing else is reachable for it either.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from wildenv.miniweb.config import WorldConfig
from wildenv.miniweb.world import MiniWorld
from wildenv.testing import sockets_blocked

LOOPBACK = ("127.0.0.1", "::1", "localhost")


@pytest.fixture(autouse=True)
def no_network(request: pytest.FixtureRequest) -> Iterator[None]:
    """Blocks sockets in every test; each worker process blocks its own."""
    with sockets_blocked(LOOPBACK if request.node.get_closest_marker("loopback") else ()):
        yield


@pytest.fixture(scope="session")
def small_world() -> MiniWorld:
    """A world of 120 events, one in eight of them in the test split."""
    return MiniWorld.generate(WorldConfig(events=120))
