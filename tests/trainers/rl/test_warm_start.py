from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from agents import checkpoint
from tests.trainers.rl.settings import ROOT, grpo_config
from trainers.warm_start import start_model
from wildenv.errors import ConfigError


def config(folder: Path, **model: Any) -> dict[str, Any]:
    nano = yaml.safe_load((ROOT / "conf/model/nano.yaml").read_text(encoding="utf-8"))
    return {**grpo_config(folder), "model": nano | model, "warm_start": {"steps": 2, "tasks": 6}}


@pytest.mark.slow
def test_the_nano_model_is_trained_first_and_a_resumed_run_starts_from_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    started = start_model(config(tmp_path), tmp_path / "run")
    path = Path(started["model"]["path"])
    assert path.parent == tmp_path / "run/warm_start"
    assert checkpoint.load(path).encoder.vision
    again = config(tmp_path)
    assert start_model(again, tmp_path / "run")["model"]["path"] == str(path)
    for resume in (tmp_path / "run", tmp_path / "run/checkpoints/checkpoint-2"):
        resumed = {**again, "trainer": {**again["trainer"], "resume": str(resume)}}
        assert start_model(resumed, tmp_path / "other")["model"]["path"] == str(path)


def test_a_model_that_is_named_is_left_alone(tmp_path: Path) -> None:
    named = config(tmp_path, path="somewhere")
    assert start_model(named, tmp_path) is named
    other = config(tmp_path, kind="hub")
    assert start_model(other, tmp_path) is other


def test_what_cannot_be_warm_started_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"model\.path to a checkpoint"):
        start_model({**config(tmp_path), "tasks": "tasks.jsonl"}, tmp_path)
    resumed = config(tmp_path)
    resumed["trainer"]["resume"] = str(tmp_path / "gone")
    with pytest.raises(ConfigError, match=r"trainer\.resume"):
        start_model(resumed, tmp_path)
