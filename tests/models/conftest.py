"""A fault server, and models that ask it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.models.fault_server import FaultServer, fault_server
from wildenv.models.chat import ChatModel
from wildenv.web.net.manners import Rules

QUICK = Rules(concurrency=8, attempts=3, backoff_s=0.01, longest_wait_s=5.0)


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with fault_server() as running:
        yield running


@pytest.fixture
def make(server: FaultServer) -> Iterator[Callable[..., ChatModel]]:
    """Makes models that ask the server; all are closed at the end."""
    with ExitStack() as stack:

        def made(**settings: Any) -> ChatModel:
            values = {"model": "tiny", "base_url": server.url, "rules": QUICK, "timeout_s": 10.0, **settings}
            return stack.enter_context(ChatModel(**values))

        yield made
