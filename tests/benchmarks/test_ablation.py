"""What each phase of the scripted policy is for, with everything scored and drawn (Savanna, figures 6 and 7)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from agents.roll import roll
from agents.runs import ROOT
from benchmarks.reporting.facts import Facts
from benchmarks.reporting.run import read_runs
from benchmarks.reporting.scores import bucket, bucket_names
from tests.benchmarks.made_episodes import settings

ABLATED = {"full": {}, "blind": {"locate": False}, "hasty": {"corroborate": False}, "whole": {"isolate": False}}


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    assert known
    return sum(known) / len(known)


@pytest.mark.slow
def test_every_phase_raises_what_it_is_for(tmp_path: Path) -> None:
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        composed = compose("evaluate", ["reward=all", "generator=compositor", "judge=oracle", "+env.world={events: 120}"])
        env: Any = OmegaConf.to_container(composed.env, resolve=True)
        agent: Any = OmegaConf.to_container(composed.agent, resolve=True)
    played = {"tasks": "miniweb:train", "limit": 40, "concurrency": 2, "deadline_s": 120, "max_failed": 0.0}
    facts: dict[str, list[Facts]] = {}
    for name, changes in ABLATED.items():
        roll({**agent, **changes}, env, played, tmp_path / name, 0)
        (run,) = read_runs([tmp_path / name], settings(), progress=False)
        facts[name] = run.facts
        assert len(run.facts) == 40
        assert run.components >= {"search", "identity", "context", "generation", "sufficiency", "cost"}
        assert all(one.generator == "compositor-1" for one in run.facts if one.rewards["generation"])

    def recall(name: str) -> float:
        return _mean([None if one.first_search is None else float(one.first_search) for one in facts[name]])

    def top(name: str) -> float:
        confusing = [one.rewards["search"] for one in facts[name] if bucket(one) == bucket_names()[-1]]
        assert len(confusing) >= 10
        return _mean(confusing)

    def part(name: str, component: str) -> float:
        return _mean([one.rewards[component] for one in facts[name]])

    assert recall("full") > recall("blind") + 0.3
    assert recall("full") == recall("hasty") == recall("whole"), "the other phases come after the first image search"
    assert top("full") >= 0.8
    assert top("full") > top("hasty") + 0.3
    gained = {component: part("full", component) - part("whole", component) for component in ("identity", "context")}
    assert gained["identity"] > gained["context"] >= 0
    assert gained["identity"] > 0.1
    assert part("full", "search") >= part("whole", "search"), "cropping loses no target"
