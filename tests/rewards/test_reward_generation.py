from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tests.fakes import tasks
from tests.rewards.fakes_reward import Draws, always, score, submission
from wildenv.errors import ConfigError
from wildenv.judges.base import Drawn
from wildenv.rewards.combined import CombinedReward
from wildenv.rewards.component import ComponentScore
from wildenv.rewards.generation import GenerationComponent, generation_score

TASK = tasks()[0]


def _one(component: GenerationComponent) -> ComponentScore:
    return asyncio.run(component.score(TASK, replace(submission(), drawn=Drawn("0" * 64, "draws-1", 0))))


def test_identity_and_context_are_weighed_by_w_and_reported_as_parts() -> None:
    one = _one(GenerationComponent(always(0.2, {"identity": 0.2, "context": 0.5}), w=0.6))
    assert one.value == pytest.approx(0.6 * 0.2 + 0.4 * 0.5)
    assert one.parts == {"identity": 0.2, "context": 0.5}
    assert one.value == generation_score(0.2, 0.5, 0.6)


@pytest.mark.parametrize(("gate", "earned"), [(True, 0.0), (False, 0.2)])
def test_the_gate_changes_the_reward_and_not_what_is_reported(gate: bool, earned: float) -> None:
    component = GenerationComponent(always(0.0, {"identity": 0.0, "context": 1.0}), gate=gate)
    report = score(CombinedReward([component], {"generation": 1.0}, Draws()), TASK, submission())
    assert report.value == pytest.approx(earned)
    assert report.components == {"generation": pytest.approx(0.2), "identity": 0.0, "context": 1.0}


def test_the_gate_is_open_for_any_identity() -> None:
    component = GenerationComponent(always(0.2, {"identity": 0.2, "context": 1.0}))
    assert score(CombinedReward([component], {"generation": 1.0}, Draws()), TASK, submission()).value == pytest.approx(0.36)


@pytest.mark.parametrize(
    ("value", "parts"), [(None, {}), (1.0, {"identity": 1.0}), (1.0, {"identity": 1.0, "context": None}), (1.0, {"context": 1.0})]
)
def test_half_a_verdict_is_unscored(value: float | None, parts: dict[str, float | None]) -> None:
    assert _one(GenerationComponent(always(value, parts))).value is None


def test_a_task_without_conditions_is_scored_by_identity_alone() -> None:
    one = _one(GenerationComponent(always(0.2, {"identity": 0.2, "context": None}, context_na=True)))
    assert (one.value, one.parts["context"]) == (0.2, None)


def test_w_out_of_range() -> None:
    with pytest.raises(ConfigError, match=r"reward\.w=1\.2"):
        GenerationComponent(always(1.0), w=1.2)
