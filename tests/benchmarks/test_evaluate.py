"""``python -m benchmarks.evaluate`` with answers that are drawn and judged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from benchmarks.evaluate import kappa_of
from wildenv.episode import LatestEpisodes
from wildenv.errors import ConfigError
from wildenv.generators.settings import make_generator
from wildenv.rewards.settings import RewardSettings

ROOT = Path(__file__).resolve().parents[2]
SMALL = ["+env.world={events: 60, seed: 3}", "benchmark.limit=4", "benchmark.kappa=null", "agent=direct_search"]


def _run(tmp_path: Path, *overrides: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.evaluate", *SMALL, f"folder={tmp_path / 'episodes'}"]
    command += [f"hydra.run.dir={tmp_path / 'run'}", *overrides]
    environment = {**os.environ, "WILDENV_CACHE": str(tmp_path / "worlds")}
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)


def _composed(config: str, *overrides: str) -> dict[str, Any]:
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        reward = OmegaConf.to_container(compose(config, list(overrides)).env.reward, resolve=True)
    assert isinstance(reward, dict)
    return {str(name): value for name, value in reward.items()}


@pytest.mark.parametrize("config", ["evaluate", "collect", "sft"])
def test_by_default_references_are_judged_by_the_oracle_and_nothing_is_drawn(config: str) -> None:
    reward = RewardSettings.of(_composed(config))
    assert (list(reward.components), reward.weighed(), reward.judge) == (["search"], {"search": 1.0}, {"kind": "oracle"})
    assert reward.generator == {"kind": "none"}


@pytest.mark.parametrize("reward", sorted({path.stem for path in (ROOT / "conf/reward").glob("*.yaml")} - {"custom"}))
def test_every_reward_takes_judge_generator_and_seed_of_the_run(reward: str) -> None:
    generator = ["generator=qwen_edit", "generator.base_url=http://127.0.0.1:1"]
    composed = _composed("evaluate", f"reward={reward}", *generator, "judge=oracle", "seed=7")
    settings = RewardSettings.of(composed)
    assert (settings.seed, settings.judge_kind, settings.w) == (7, "oracle", 0.8)
    assert sum(settings.weighed().values()) == pytest.approx(1)
    assert make_generator(settings.generator) is not None


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"caf\xe9", "benchmark.kappa=.* is not UTF-8 text"),
        pytest.param(b"[" * 100_000, "benchmark.kappa=.*nested too deeply", id="deep"),
        (b'{"a": NaN}', "benchmark.kappa=.*NaN is not a finite number"),
        (b"[1]", "benchmark.kappa=.* give miniweb, null or a JSON file"),
    ],
)
def test_a_file_of_confusions_that_cannot_be_read_is_named(tmp_path: Path, data: bytes, says: str) -> None:
    path = tmp_path / "kappa.json"
    path.write_bytes(data)
    with pytest.raises(ConfigError, match=says):
        kappa_of({"kappa": str(path)}, {})
    path.write_text('\ufeff{"a": 0.5}', encoding="utf-8")
    look_up = kappa_of({"kappa": str(path)}, {})
    assert look_up is not None
    assert look_up("a") == 0.5


@pytest.mark.slow
def test_a_run_prints_all_scores_and_resumes(tmp_path: Path) -> None:
    settings = ["generator=compositor", "judge=oracle", "reward=all"]
    ran = _run(tmp_path, *settings)
    assert ran.returncode == 0, ran.stderr
    assert all(f"│ {name} " in ran.stdout for name in ("search", "identity", "context", "generation", "sufficiency", "cost"))
    first = (tmp_path / "episodes/episodes.jsonl").read_bytes()
    scores = json.loads((tmp_path / "episodes/scores.json").read_text())
    assert scores["components"]["identity"]["n"] == 4
    episodes = list(LatestEpisodes(tmp_path / "episodes"))
    drawn = [one.drawn for one in episodes if one.answer is not None and one.answer["references"]]
    assert drawn
    assert all(one is not None and one["generator"] == "compositor-1" for one in drawn)
    for one in episodes:
        parts = one.rewards
        assert parts["generation"] == pytest.approx(0.8 * parts["identity"] + 0.2 * parts["context"])  # type: ignore[operator]
    again = _run(tmp_path, *settings)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "episodes/episodes.jsonl").read_bytes() == first
    assert json.loads((tmp_path / "episodes/scores.json").read_text()) == scores
    other = _run(tmp_path, *settings, "reward.w=0.5")
    assert other.returncode != 0
    assert "other settings of env.reward.w" in other.stderr


@pytest.mark.slow
def test_a_reward_that_judges_a_picture_names_the_generator_to_set(tmp_path: Path) -> None:
    ran = _run(tmp_path, "reward=all")
    assert ran.returncode != 0
    assert "set reward.generator, for example generator=compositor" in ran.stderr
