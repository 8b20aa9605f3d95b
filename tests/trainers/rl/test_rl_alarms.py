from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from transformers import TrainerControl, TrainerState, TrainingArguments

from tests.trainers.rl.settings import ROOT
from trainers.rl.alarms import ALARMS, Alarms, Collapse
from wildenv.errors import ConfigError

FINE = {
    "reward": 0.5,
    "frac_reward_zero_std": 0.2,
    "entropy": 0.5,
    "searches/repeated": 0.1,
    "answer/chars": 100.0,
    "rollouts/unscored": 0.0,
}


def settings(**changed: Any) -> dict[str, Any]:
    written: dict[str, Any] = yaml.safe_load((ROOT / "conf/trainer/grpo.yaml").read_text(encoding="utf-8"))["alarms"]
    return written | changed


def watch(folder: Path, records: list[dict[str, Any]], **changed: Any) -> list[dict[str, Any]]:
    alarms = Alarms(settings(**changed), folder)
    state = TrainerState(is_world_process_zero=True)
    for step, record in enumerate(records, 1):
        state.global_step = step
        alarms.on_log(TrainingArguments(output_dir=str(folder)), state, TrainerControl(), logs=record)
    written = folder / ALARMS
    return [json.loads(line) for line in written.read_text(encoding="utf-8").splitlines()] if written.exists() else []


@pytest.mark.parametrize(
    ("measure", "value", "alarm"),
    [
        ("frac_reward_zero_std", 1.0, "zero_std_share"),
        ("entropy", 0.001, "entropy_min"),
        ("searches/repeated", 0.9, "repeated_queries"),
        ("answer/chars", 1000.0, "answer_growth"),
        ("rollouts/unscored", 0.6, "unscored"),
    ],
)
def test_a_measure_that_stays_out_of_range_sounds_once(tmp_path: Path, measure: str, value: float, alarm: str) -> None:
    sounded = watch(tmp_path, [FINE, *[FINE | {measure: value}] * 5])
    assert [(one["step"], one["alarm"]) for one in sounded] == [(4, alarm)]
    assert f"trainer.alarms.{alarm}" in sounded[0]["what"]


def test_one_good_record_begins_the_count_anew(tmp_path: Path) -> None:
    bad = FINE | {"frac_reward_zero_std": 1.0}
    assert watch(tmp_path, [bad, bad, FINE, bad, bad]) == []
    assert len(watch(tmp_path, [bad, bad, FINE, bad, bad, bad])) == 1


def test_an_alarm_that_is_off_or_a_measure_that_is_missing_is_silent(tmp_path: Path) -> None:
    assert watch(tmp_path, [FINE | {"entropy": 0.0}] * 4, entropy_min=None) == []
    assert watch(tmp_path, [{"reward": 0.5}] * 4) == []
    assert watch(tmp_path, [{"loss": 0.5, "frac_reward_zero_std": 1.0}] * 4) == [], "no record of rollouts"


def test_a_run_can_be_ended_by_an_alarm(tmp_path: Path) -> None:
    with pytest.raises(Collapse, match="zero_std_share"):
        watch(tmp_path, [FINE | {"frac_reward_zero_std": 1.0}] * 3, stop=True)


def test_patience_is_at_least_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="patience"):
        Alarms(settings(patience=0), tmp_path)
