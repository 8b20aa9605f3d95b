"""What an agent can do without looking for anything must not pay."""

from __future__ import annotations

from random import Random
from statistics import fmean

import pytest

from tests.rewards.fakes_reward import score
from wildenv.budget import Limits
from wildenv.images import ImageStore, decode, digest_of
from wildenv.judges.base import Reference, Submission
from wildenv.miniweb.look import PALETTE
from wildenv.miniweb.prompts import INDOORS, MOMENTS, NEIGHBOURS, OUTDOORS
from wildenv.miniweb.truth import WorldTruth
from wildenv.miniweb.world import MiniWorld
from wildenv.rewards.base import RewardReport
from wildenv.rewards.combined import CombinedReward
from wildenv.rewards.settings import RewardSettings, make_reward
from wildenv.task import Task

USAGE = {"turns": 1, "unreadable": 0, "tool_calls": 0}
STUFFED = " ".join([*INDOORS, *OUTDOORS, *NEIGHBOURS, *MOMENTS, *PALETTE, "official press photo, exact emblem, best quality"])
ALL = {
    "components": ["search", "generation", "sufficiency", "format", "cost"],
    "weights": {"search": 0.3, "generation": 0.4, "sufficiency": 0.2, "format": 0.05, "cost": 0.05},
    "generator": "compositor",
}
DUAL = {"components": ["generation", "sufficiency"], "alpha": 0.5, "generator": "compositor"}


@pytest.fixture(params=[ALL, DUAL], ids=["all", "dual"])
def reward(request: pytest.FixtureRequest, small_world: MiniWorld) -> CombinedReward:
    return make_reward(RewardSettings.of(request.param), WorldTruth(small_world), small_world, Limits())


@pytest.fixture(scope="module")
def thirty(small_world: MiniWorld) -> list[Task]:
    return list(small_world.tasks("train"))[:30]


def _answer(world: MiniWorld, prompt: str, *urls: str) -> Submission:
    store = ImageStore()
    references = []
    for number, url in enumerate(urls, 1):
        png = world.png(url)
        assert digest_of(png) == store.put(decode(png))
        references.append(Reference(f"IMG_{number:03d}", digest_of(png), digest_of(png), url))
    return Submission(prompt, tuple(references), store, USAGE)


def _random(world: MiniWorld, task: Task) -> str:
    """Returns any picture of the web, such as one that a search for nothing in particular brings."""
    return Random(task.id).choice(world.pictures).url


def _right(world: MiniWorld, task: Task) -> str:
    target = world.event_of(task.id)[1].target
    return next(picture.url for picture in world.pictures if picture.shot == "press" and picture.entities == (target,))


def _has_press(world: MiniWorld, task: Task) -> bool:
    target = world.event_of(task.id)[1].target
    return any(picture.shot == "press" and picture.entities == (target,) for picture in world.pictures)


def _mean(reports: list[RewardReport]) -> float:
    assert len(reports) == 30
    assert all(report.valid for report in reports)
    return fmean(report.value for report in reports)


def test_doing_nothing(reward: CombinedReward, thirty: list[Task]) -> None:
    assert _mean([score(reward, task, None) for task in thirty]) == 0.0


def test_copying_the_question_without_references(reward: CombinedReward, small_world: MiniWorld, thirty: list[Task]) -> None:
    assert _mean([score(reward, task, _answer(small_world, task.prompt)) for task in thirty]) == 0.0


def test_copying_the_question_with_a_random_reference(reward: CombinedReward, small_world: MiniWorld, thirty: list[Task]) -> None:
    answers = [_answer(small_world, task.prompt, _random(small_world, task)) for task in thirty]
    assert _mean([score(reward, task, answer) for task, answer in zip(thirty, answers, strict=True)]) < 0.02


def test_copying_the_question_with_a_look_alike(reward: CombinedReward, small_world: MiniWorld, thirty: list[Task]) -> None:
    answers = []
    for task in thirty:
        number, event = small_world.event_of(task.id)
        others = [n for n, entity in enumerate(small_world.entities) if entity.event == number and n != event.target]
        url = next(p.url for p in small_world.pictures if p.entities and set(p.entities) <= set(others))
        answers.append(_answer(small_world, task.prompt, url))
    assert _mean([score(reward, task, answer) for task, answer in zip(thirty, answers, strict=True)]) < 0.02


@pytest.mark.parametrize("pictures", [0, 1])
def test_stuffing_keywords(reward: CombinedReward, small_world: MiniWorld, thirty: list[Task], pictures: int) -> None:
    answers = [
        _answer(small_world, f"{task.prompt} {STUFFED}", *[_random(small_world, task)] * pictures)  # whatever a rubric may want
        for task in thirty
    ]
    assert _mean([score(reward, task, answer) for task, answer in zip(thirty, answers, strict=True)]) < 0.02


def test_stuffing_instead_of_asking_costs_even_with_the_right_reference(
    reward: CombinedReward, small_world: MiniWorld, thirty: list[Task]
) -> None:
    shown = [task for task in thirty if _has_press(small_world, task)][:10]
    kept = fmean(score(reward, task, _answer(small_world, task.prompt, _right(small_world, task))).value for task in shown)
    stuffed = fmean(score(reward, task, _answer(small_world, STUFFED, _right(small_world, task))).value for task in shown)
    assert kept > 0.99
    assert stuffed < kept - 0.1
