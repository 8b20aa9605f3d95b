"""LoRA's targets, looked up in a model without weights."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from tests.trainers.preflight.conftest import Check, Make
from trainers.checks.all import run_check
from trainers.checks.finding import Status

LORA = "trainer.peft=lora"
TARGETS = "trainer.lora.target_modules"


def test_full_training_needs_none(check: Check) -> None:
    assert check("LoRA").status is Status.NOT_APPLICABLE


@pytest.mark.parametrize("targets", ["all-linear", "[q_proj,v_proj]", "'.*visual.*(fc1|fc2)'", "[lm_head,q_proj]"])
def test_targets_that_are_there_pass_supervised(check: Check, targets: str) -> None:
    assert check("LoRA", LORA, f"{TARGETS}={targets}", kind="sft").status is Status.PASSED


def test_a_name_that_matches_nothing_is_refused_with_near_ones(check: Check) -> None:
    found = check("LoRA", LORA, f"{TARGETS}=[q_proj,v_prj]")
    assert found.status is Status.REFUSED
    assert f"{TARGETS}: the model has no module 'v_prj'" in found.reason
    assert "v_proj" in found.reason


def test_a_pattern_that_matches_nothing_is_refused(check: Check) -> None:
    assert "no module 'vision_.*'" in check("LoRA", LORA, f"{TARGETS}='vision_.*'").reason


def test_a_module_that_takes_no_adapter_is_refused(check: Check) -> None:
    found = check("LoRA", LORA, f"{TARGETS}=[mlp]")
    assert found.status is Status.REFUSED
    assert "takes no adapter" in found.reason


def test_the_head_is_refused_under_grpo(check: Check) -> None:
    found = check("LoRA", LORA, f"{TARGETS}=[lm_head,q_proj]")
    assert found.status is Status.REFUSED
    assert "lm_head" in found.reason
    assert TARGETS in found.reason


def test_an_adapter_is_looked_at(check: Check, tmp_path: Path) -> None:
    asked = f"trainer.adapter={tmp_path}"
    assert "trainer.adapter" in check("LoRA", asked).reason
    (tmp_path / "adapter_config.json").write_text(json.dumps({"target_modules": ["q_proj"]}), encoding="utf-8")
    assert check("LoRA", asked).status is Status.PASSED
    (tmp_path / "adapter_config.json").write_text(json.dumps({"target_modules": ["query"]}), encoding="utf-8")
    found = check("LoRA", asked)
    assert found.status is Status.REFUSED
    assert "trainer.adapter: the model has no module 'query'" in found.reason


def test_no_weights_are_made(make: Make) -> None:
    subject = make(LORA)
    run_check("LoRA", subject)
    assert all(parameter.device == torch.device("meta") for parameter in subject.skeleton.parameters())
