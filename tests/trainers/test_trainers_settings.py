"""Settings out of range are refused by name."""

from __future__ import annotations

from typing import Any

import pytest
from hydra import compose, initialize

from agents.runs import Config, plain
from trainers.settings import check_settings
from wildenv.errors import ConfigError


@pytest.fixture(params=["laptop", "cluster"])
def config(request: pytest.FixtureRequest) -> Config:
    with initialize(version_base="1.3", config_path="../../conf"):
        composed = compose("sft", ["experiment=ranger", f"scale={request.param}", "logger=none"])
        return plain(composed)


def test_the_shipped_settings_are_in_range(config: Config) -> None:
    check_settings(config)


@pytest.mark.parametrize(
    ("group", "key", "value"),
    [
        ("launch", "processes", 0),
        ("trainer", "micro_batch", 0),
        ("trainer", "learning_rate", "fast"),
        ("trainer", "learning_rate", -1),
        ("trainer", "schedule", "cosin"),
        ("trainer", "loss_chunk", 0),
        ("trainer", "max_steps", 0),
        ("trainer", "eval_steps", 0),
        ("trainer", "workers", True),
    ],
)
def test_a_value_out_of_range_is_named(config: Config, group: str, key: str, value: Any) -> None:
    changed = {**config, group: {**config[group], key: value}}
    with pytest.raises(ConfigError, match=rf"{group}\.{key}={value!r} must be"):
        check_settings(changed)


@pytest.fixture(params=["laptop_grpo", "cluster_grpo"])
def grpo(request: pytest.FixtureRequest) -> Config:
    with initialize(version_base="1.3", config_path="../../conf"):
        return plain(compose("grpo", ["experiment=gen_searcher", f"scale={request.param}", "logger=none"]))


def test_the_shipped_settings_of_grpo_are_in_range(grpo: Config) -> None:
    check_settings(grpo)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seed", -1),
        ("launch.freeze_only", "maybe"),
        ("trainer.precision", "fp8"),
        ("trainer.peft", "qlora"),
        ("trainer.lora.r", 0),
        ("trainer.lora.dropout", 1.5),
        ("trainer.gradient_checkpointing", "maybe"),
        ("limit", 0),
        ("warm_start.steps", 0),
        ("trainer.group", 1),
        ("trainer.prompts", 0),
        ("trainer.kl", -0.1),
        ("trainer.clip_low", 1.5),
        ("trainer.loss", "ppo"),
        ("trainer.min_valid", 1),
        ("trainer.mask_truncated", "yes"),
        ("trainer.alarms.patience", 0),
        ("trainer.alarms.unscored", 2),
        ("rollout.temperature", 0),
        ("rollout.top_p", 0),
        ("rollout.deadline_s", 0),
    ],
)
def test_a_value_of_grpo_out_of_range_is_named(grpo: Config, name: str, value: Any) -> None:
    *groups, key = name.split(".")
    inner: Any = grpo
    for group in groups:
        inner = inner[group]
    inner[key] = value
    with pytest.raises(ConfigError, match=rf"{name.replace('.', '[.]')}={value!r} must be"):
        check_settings(grpo)
