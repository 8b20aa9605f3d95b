"""Whole runs on a tiny model, through the same function the command line uses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from peft import PeftModel

from agents import checkpoint
from tests.trainers.runs import ROOT, losses, tiny_config, validation_loss, with_
from tests.trainers.sample_rows import write_rows
from trainers.arguments import training_arguments
from trainers.data import RowFolder
from trainers.export import write_whole
from trainers.sft import train
from wildenv.errors import ConfigError


@pytest.fixture
def config(nano_folder: Path, tmp_path: Path) -> dict[str, Any]:
    write_rows(tmp_path / "rows", 8)
    return tiny_config(nano_folder, tmp_path / "rows")


def test_a_run_leaves_models_metrics_and_a_curve(config: dict[str, Any], tmp_path: Path) -> None:
    run = tmp_path / "run"
    measures = train(config, run)
    assert measures["last_loss"] < measures["first_loss"]
    assert (run / "loss.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(losses(run)) == [1, 2, 3, 4, 5, 6]
    assert json.loads((run / "fit.json").read_text())["counts"]["training"]["rows"] == 6
    for name in ("best", "last"):
        loaded = checkpoint.load(run / name)
        assert loaded.processor is not None
        assert "tool_call" in loaded.encoder.chat_template
    assert validation_loss(run / "last", tmp_path / "rows") == pytest.approx(measures["eval_loss"], rel=1e-5)
    trained = checkpoint.load(run / "last").model.state_dict()
    before = checkpoint.load(config["model"]["path"]).model.state_dict()
    assert any(not torch.equal(trained[name], before[name]) for name in before)


def test_resume_gives_the_same_losses(config: dict[str, Any], tmp_path: Path) -> None:
    train(config, tmp_path / "straight")
    straight = losses(tmp_path / "straight")
    resumed = with_(config, resume=str(tmp_path / "straight/checkpoints/checkpoint-3"))
    train(resumed, tmp_path / "resumed")
    assert losses(tmp_path / "resumed") == pytest.approx(straight, rel=1e-6)
    one = checkpoint.load(tmp_path / "straight/last").model.state_dict()
    two = checkpoint.load(tmp_path / "resumed/last").model.state_dict()
    for name, value in one.items():
        torch.testing.assert_close(two[name], value)


def test_accumulation_does_not_change_the_losses(config: dict[str, Any], tmp_path: Path) -> None:
    train(with_(config, micro_batch=4), tmp_path / "whole")
    train(with_(config, micro_batch=1), tmp_path / "split")
    assert losses(tmp_path / "split") == pytest.approx(losses(tmp_path / "whole"), rel=1e-4)


def test_evaluation_loss_does_not_depend_on_batching(config: dict[str, Any], tmp_path: Path) -> None:
    values = []
    for batch in (1, 2):
        run = tmp_path / f"eval{batch}"
        values.append(train(with_(config, eval_batch=batch, max_steps=1, eval_steps=1), run)["eval_loss"])
    assert values[0] == pytest.approx(values[1], rel=1e-5)


def test_an_adapter_is_merged_on_saving(config: dict[str, Any], tmp_path: Path) -> None:
    run = tmp_path / "run"
    adapted = with_(
        config, peft="lora", learning_rate=0.05, lora={"r": 4, "alpha": 8, "dropout": 0.0, "target_modules": "all-linear"}
    )
    measures = train(adapted, run)
    assert validation_loss(run / "last", tmp_path / "rows") == pytest.approx(measures["eval_loss"], rel=1e-4)
    base = checkpoint.load(config["model"]["path"])
    rows = RowFolder(tmp_path / "rows")
    encoded = base.encoder.encode(rows[0].messages, rows[0].tools, rows.images)
    inputs = {
        "input_ids": torch.tensor([encoded.input_ids]),
        "mm_token_type_ids": torch.tensor([encoded.mm_token_type_ids]),
        "pixel_values": encoded.pixel_values,
        "image_grid_thw": encoded.image_grid_thw,
    }
    with torch.no_grad():
        plain = base.model(**inputs).logits
        merged = checkpoint.load(run / "last").model(**inputs).logits
        adapter = PeftModel.from_pretrained(base.model, run / "checkpoints/checkpoint-6").eval()(**inputs).logits
    torch.testing.assert_close(merged, adapter, atol=1e-4, rtol=1e-4)
    assert (merged - plain).abs().max() > 1e-2


def test_a_batch_that_does_not_divide_names_the_setting(config: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"trainer\.effective_batch=4"):
        training_arguments(with_(config, micro_batch=3), tmp_path)


def test_nothing_to_resume_from_names_the_setting(config: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"trainer\.resume"):
        train(with_(config, resume=str(tmp_path)), tmp_path / "run")


def test_a_checkpoint_can_be_exported_again(config: dict[str, Any], nano_folder: Path, tmp_path: Path) -> None:
    loaded = checkpoint.load(nano_folder)
    write_whole(nano_folder, tmp_path / "copy", config["model"], loaded)
    copy = checkpoint.load(tmp_path / "copy").model.state_dict()
    assert all(torch.equal(copy[name], value) for name, value in loaded.model.state_dict().items())


def test_deepspeed_without_effect_is_refused(config: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    zero = yaml.safe_load((ROOT / "conf/deepspeed/zero2.yaml").read_text(encoding="utf-8"))
    with pytest.raises(ConfigError, match="deepspeed"):
        train({**config, "deepspeed": zero}, tmp_path / "run")
