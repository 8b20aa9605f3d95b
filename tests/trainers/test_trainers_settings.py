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
