"""What the client needs of the process it runs in: few imports, clear errors without them, and nothing shared across a fork."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection

import pytest

from tests.models.fault_server import FaultServer
from wildenv.errors import ConfigError
from wildenv.messages import text_block
from wildenv.models.chat import ChatModel

CHAT = [{"role": "user", "content": [text_block("hello")]}]


def test_importing_the_models_loads_no_client_package() -> None:
    code = (
        "import sys, wildenv.models.chat, wildenv.models.page_reader\n"
        "print(sorted({'openai', 'jsonschema', 'torch', 'transformers', 'pydantic'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


@pytest.mark.parametrize(("package", "schema"), [("openai", None), ("jsonschema", {"type": "object"})])
def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, package: str, schema: dict[str, str] | None) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with ChatModel("tiny", "http://127.0.0.1:9/v1") as model, pytest.raises(ConfigError, match=r"pip install 'wildenv\[chat\]'"):
        model.complete_sync(CHAT, schema=schema)


@pytest.mark.loopback
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_model_works_on_both_sides_of_a_fork(make: Callable[..., ChatModel], server: FaultServer) -> None:
    model = make()
    assert model.complete_sync(CHAT).text == "fine"

    def child(answers: Connection) -> None:
        answers.send(model.complete_sync(CHAT).text)

    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=child, args=(there,))
    process.start()
    try:
        assert here.poll(20)
        assert here.recv() == "fine"
    finally:
        process.join(5)
        process.kill()
    assert model.complete_sync(CHAT).text == "fine"
    assert server.calls == 3
