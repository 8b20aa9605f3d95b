"""The nano model is built from its config alone, reproducibly, and once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from agents import checkpoint
from trainers.nano import build_nano
from wildenv.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ["A teal lantern with orange trim was shown in the harbour on 12 March 2024."] * 5


@pytest.fixture
def config() -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load((ROOT / "conf/model/nano.yaml").read_text(encoding="utf-8"))
    config["tokenizer"]["vocab_size"] = 500
    return config


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return dict(checkpoint.load(folder).model.named_parameters())


def test_the_default_has_three_to_five_million_parameters(config: dict[str, Any], tmp_path: Path) -> None:
    full = yaml.safe_load((ROOT / "conf/model/nano.yaml").read_text(encoding="utf-8"))
    built = checkpoint.load(build_nano(config, CORPUS, 0, tmp_path / "nano"))
    assert built.model.config.tie_word_embeddings
    missing = full["tokenizer"]["vocab_size"] - len(built.tokenizer)
    assert 3_000_000 <= built.model.num_parameters() + missing * full["text"]["hidden_size"] <= 5_000_000


def test_the_seed_decides_the_weights(config: dict[str, Any], tmp_path: Path) -> None:
    state = torch.get_rng_state()
    one, same, other = (weights(build_nano(config, CORPUS, seed, tmp_path / str(i))) for i, seed in enumerate((3, 3, 4)))
    assert all(torch.equal(one[name], same[name]) for name in one)
    name = "model.language_model.layers.0.self_attn.q_proj.weight"
    assert not torch.equal(one[name], other[name])
    assert torch.equal(torch.get_rng_state(), state), "building leaves torch's own stream alone"


def test_it_is_built_once(config: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "nano"
    build_nano(config, iter(CORPUS), 0, folder)
    written = (folder / "model.safetensors").stat().st_mtime_ns
    build_nano({**config, "path": str(folder)}, CORPUS, 0, folder)
    assert (folder / "model.safetensors").stat().st_mtime_ns == written
    build_nano(config, [*CORPUS, "One more page."], 0, folder)
    assert (folder / "model.safetensors").stat().st_mtime_ns != written


def test_another_checkpoint_is_not_overwritten(config: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ConfigError, match="something other than a nano model"):
        build_nano(config, CORPUS, 0, tmp_path)
    assert (tmp_path / "config.json").read_text() == "{}"


def test_sizes_that_do_not_fit_are_named(config: dict[str, Any], tmp_path: Path) -> None:
    config["text"]["mrope_section"] = [1, 2, 3]
    with pytest.raises(ConfigError, match=r"mrope_section=\[1, 2, 3\]"):
        build_nano(config, CORPUS, 0, tmp_path / "nano")
