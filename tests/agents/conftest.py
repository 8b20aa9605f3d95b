"""A small checkpoint, tools and a chat shared by the tests of the model side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from PIL import Image

from agents import checkpoint
from agents.checkpoint import Loaded
from trainers.nano import build_nano
from wildenv.images import ImageStore
from wildenv.messages import Message, image_block, text_block

ROOT = Path(__file__).resolve().parents[2]
CORPUS = [
    "The brass lantern of Velmora was unveiled in the harbour on 12 March 2024, a teal body with orange trim.",
    "Search results: [1] Lantern unveiled (2024-03-12) https://news.example/lantern IMG_001: lantern on a quay",
] * 20


@pytest.fixture(scope="session")
def nano_config() -> dict[str, Any]:
    """``conf/model/nano.yaml``, cut down so that a test builds and runs it at once."""
    config: dict[str, Any] = yaml.safe_load((ROOT / "conf/model/nano.yaml").read_text(encoding="utf-8"))
    config["tokenizer"] = {"vocab_size": 700, "images": 40}
    config["text"] |= {"num_hidden_layers": 2, "intermediate_size": 64}
    return config


@pytest.fixture(scope="session")
def nano_folder(nano_config: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_nano(nano_config, CORPUS, 0, tmp_path_factory.mktemp("nano") / "checkpoint")


@pytest.fixture(scope="session")
def nano(nano_folder: Path) -> Loaded:
    return checkpoint.load(nano_folder)


@pytest.fixture
def store() -> ImageStore:
    return ImageStore()


@pytest.fixture
def tools() -> list[dict[str, Any]]:
    def tool(name: str, **properties: dict[str, Any]) -> dict[str, Any]:
        schema = {"type": "object", "properties": properties, "required": list(properties)}
        return {"type": "function", "function": {"name": name, "description": "A tool.", "parameters": schema}}

    return [
        tool("image_search", query={"type": "string"}),
        tool("answer", prompt={"type": "string"}, references={"type": "array", "items": {"type": "string"}}),
    ]


def call(number: int, name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": f"call_{number}_1", "type": "function", "function": {"name": name, "arguments": arguments}}


@pytest.fixture
def chat(store: ImageStore) -> list[Message]:
    """Two turns: a search that shows two pictures, then the answer."""
    teal, red = (store.put(Image.new("RGB", (112, 84), colour)) for colour in ("teal", "red"))
    return [
        {"role": "system", "content": [text_block("You find pictures.")]},
        {"role": "user", "content": [text_block("A lantern in a library.")]},
        {
            "role": "assistant",
            "content": [text_block("The lantern is teal.")],
            "tool_calls": [call(1, "image_search", query='teal "lantern"')],
        },
        {
            "role": "tool",
            "tool_call_id": "call_1_1",
            "name": "image_search",
            "content": [
                text_block("IMG_001: lantern | https://a.example/1"),
                image_block("IMG_001", teal),
                text_block("IMG_002: lamp | https://a.example/2"),
                image_block("IMG_002", red),
            ],
        },
        {
            "role": "assistant",
            "content": [text_block("Teal is IMG_001.")],
            "tool_calls": [call(2, "answer", prompt="A teal lantern.", references=["IMG_001"])],
        },
    ]
