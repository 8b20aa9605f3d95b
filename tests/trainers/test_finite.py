from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from transformers import TrainerControl, TrainerState, TrainingArguments

from tests.trainers.runs import tiny_config, with_
from trainers.finite import Finite, NotFinite
from trainers.settings import check_settings
from wildenv.errors import ConfigError


def log(tmp_path: Path, record: dict[str, Any]) -> None:
    Finite().on_log(TrainingArguments(output_dir=str(tmp_path)), TrainerState(global_step=7), TrainerControl(), logs=record)


def test_a_gradient_that_is_no_number_ends_the_run(tmp_path: Path) -> None:
    for norm in (math.nan, math.inf):
        with pytest.raises(NotFinite, match=r"step 7 .* trainer\.learning_rate"):
            log(tmp_path, {"loss": 0.0, "grad_norm": norm})


def test_other_records_pass(tmp_path: Path) -> None:
    for record in ({"loss": 0.5, "grad_norm": 1e9}, {"eval_loss": 0.5}, {}):
        log(tmp_path, record)


def test_settings_are_finite(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="learning_rate"):
        check_settings({**with_(tiny_config(tmp_path, tmp_path), learning_rate=math.inf), "task": "sft"})
