from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from PIL import Image
from transformers import TrainerControl, TrainerState, TrainingArguments

from trainers.figures import GRPO_FIGURES, HEALTH, LOSS, REWARD, SFT_FIGURES, Line, Panel, _present, draw
from trainers.track import LocalLog, read_metrics, write_metrics

HISTORY: list[dict[str, Any]] = [
    {
        "step": step,
        "loss": 0.1 * step,
        "reward": 0.1 * step,
        "reward_std": 0.2,
        "rewards/image_reward/mean": 0.2,
        "rewards/image_reward/std": 0.1,
        "rewards/text_reward/mean": 0.3,
        "rewards/text_reward/std": 0.1,
        "frac_reward_zero_std": 0.5,
        "entropy": 1.0 / step,
        "rollouts/failed_web": 0.1,
        "rollouts/failed_judge": None,
    }
    for step in range(1, 5)
]


def names(panel: Panel, history: list[dict[str, Any]] = HISTORY) -> dict[str, str]:
    return {line.measure: line.label for line in _present(panel, history)}


def opened(path: Path) -> Image.Image:
    with Image.open(path) as image:
        return image.convert("RGB")


def test_components_are_found_whatever_the_reward_functions_are_called() -> None:
    assert names(REWARD[1]) == {"rewards/image_reward/mean": "image_reward", "rewards/text_reward/mean": "text_reward"}
    assert [line.spread for line in _present(REWARD[1], HISTORY)] == ["rewards/image_reward/std", "rewards/text_reward/std"]


def test_only_what_was_measured_is_drawn() -> None:
    failed = next(panel for panel in HEALTH if any("failed_" in line.measure for line in panel.lines))
    assert names(failed) == {"rollouts/failed_web": "failed: web"}
    assert names(LOSS[0]) == {"loss": "training"}


def test_a_figure_grows_with_what_there_is_to_show(tmp_path: Path) -> None:
    assert draw(tmp_path / "few.png", [{"step": 1, "entropy": 0.5}], HEALTH)
    assert draw(tmp_path / "more.png", HISTORY, HEALTH)
    assert opened(tmp_path / "more.png").width > opened(tmp_path / "few.png").width
    assert not draw(tmp_path / "none.png", [{"step": 1, "loss": 0.5}], HEALTH)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["few.png", "more.png"]


def test_the_band_is_the_spread(tmp_path: Path) -> None:
    panel = Panel("reward", "", (Line("reward", "reward", "reward_std"),))
    without = [{name: value for name, value in record.items() if name != "reward_std"} for record in HISTORY]
    draw(tmp_path / "band.png", HISTORY, (panel,))
    draw(tmp_path / "line.png", without, (panel,))
    pale = (210, 227, 241)

    def tinted(name: str) -> int:
        pixels = opened(tmp_path / name).get_flattened_data()
        return sum(all(abs(one - other) < 8 for one, other in zip(pixel, pale, strict=True)) for pixel in pixels)

    assert tinted("band.png") > 10_000
    assert tinted("line.png") < 1_000


@pytest.mark.parametrize(("figures", "files"), [(SFT_FIGURES, {"loss.png"}), (GRPO_FIGURES, {"reward.png", "health.png"})])
def test_the_callback_leaves_measures_and_figures(tmp_path: Path, figures: Any, files: set[str]) -> None:
    log = LocalLog(tmp_path, figures)
    arguments = TrainingArguments(output_dir=str(tmp_path / "out"), report_to=[])
    state = TrainerState(log_history=HISTORY, is_world_process_zero=False)
    log.on_save(arguments, state, TrainerControl())
    assert not list(tmp_path.glob("*.*")), "other ranks write nothing"
    state.is_world_process_zero = True
    log.on_train_end(arguments, state, TrainerControl())
    assert {path.name for path in tmp_path.glob("*.*")} == {"metrics.parquet", *files}
    assert pq.read_table(tmp_path / "metrics.parquet").num_rows == 4


def test_the_last_value_of_each_measure_is_read_back(tmp_path: Path) -> None:
    write_metrics(
        tmp_path / "metrics.parquet", [{"step": 1, "loss": 2.0}, {"step": 2, "loss": 1.0}, {"step": 2, "eval_loss": 3.0}]
    )
    assert read_metrics(tmp_path / "metrics.parquet") == {"step": 2.0, "loss": 1.0, "eval_loss": 3.0}
