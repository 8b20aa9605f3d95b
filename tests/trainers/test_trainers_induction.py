"""Nano models start out able to look up what followed a token before."""

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
TEXT = "Draw the new Tusol Masokin storm hovercraft on a beach. Locate: what does the Tusol Masokin storm hovercraft look like?"


def _config(**changes: Any) -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load((ROOT / "conf/model/nano.yaml").read_text(encoding="utf-8"))
    return {**config, "chat_template": str(ROOT / config["chat_template"]), **changes}


def _attention(config: dict[str, Any], folder: Path) -> tuple[list[int], Any]:
    loaded = checkpoint.load(build_nano(config, [TEXT] * 5, 0, folder))
    loaded.model.set_attn_implementation("eager")
    ids = loaded.tokenizer.encode(TEXT)
    with torch.no_grad():
        return ids, loaded.model.model(input_ids=torch.tensor([ids]), output_attentions=True).attentions


def _looked_up(ids: list[int], attention: torch.Tensor) -> float:
    """Mean attention to what followed earlier occurrences of the current token."""
    shares = []
    for i, token in enumerate(ids):
        places = [j for j in range(1, i + 1) if ids[j - 1] == token]
        if places:
            shares.append(float(attention[i, places].sum()))
    return sum(shares) / len(shares)


def test_copying_weights_look_back_and_look_up(tmp_path: Path) -> None:
    ids, attentions = _attention(_config(), tmp_path / "copying")
    assert float(attentions[0][0, 0].diagonal(-1).mean()) > 0.9
    assert _looked_up(ids, attentions[1][0, 0]) > 0.4


def test_random_weights_do_not(tmp_path: Path) -> None:
    ids, attentions = _attention(_config(init="random"), tmp_path / "random")
    assert float(attentions[0][0, 0].diagonal(-1).mean()) < 0.3
    assert _looked_up(ids, attentions[1][0, 0]) < 0.3


def test_unknown_and_impossible_starts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"model\.init='best'"):
        build_nano(_config(init="best"), [TEXT], 0, tmp_path / "a")
    text = {**_config()["text"], "num_key_value_heads": 2}
    with pytest.raises(ConfigError, match=r"model\.init=random"):
        build_nano(_config(text=text), [TEXT], 0, tmp_path / "b")
