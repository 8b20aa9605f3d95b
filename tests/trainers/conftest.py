"""A tiny checkpoint that the tests of the trainers share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

import torch

from agents import checkpoint
from agents.checkpoint import Loaded
from trainers.nano import build_nano

ROOT = Path(__file__).resolve().parents[2]
CORPUS = [
    "The teal kettle with a star emblem was shown on a pier: [1] press shot https://news.example/kettle IMG_001: on a pier"
] * 20


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def nano_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    config: dict[str, Any] = yaml.safe_load((ROOT / "conf/model/nano.yaml").read_text(encoding="utf-8"))
    config["tokenizer"] = {"vocab_size": 600, "images": 10}
    config["text"] |= {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2}
    config["text"] |= {"num_key_value_heads": 2, "mrope_section": [2, 3, 3]}
    config["vision_tower"] |= {"depth": 1, "embed_dim": 32, "num_heads": 2}
    return build_nano(config, CORPUS, 0, tmp_path_factory.mktemp("nano") / "model")


@pytest.fixture
def nano(nano_folder: Path) -> Loaded:
    return checkpoint.load(nano_folder)
