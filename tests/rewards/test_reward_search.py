from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.fakes import FakeJudge, tasks
from wildenv.images import ImageStore
from wildenv.judges.base import Reference, Submission, Verdict
from wildenv.rewards.base import Reward, RewardReport
from wildenv.rewards.search import SearchReward

TASK = tasks()[0]


class Fixed:
    """A judge that always says the same and counts how often it was asked."""

    id = "fixed"

    def __init__(self, value: float | None) -> None:
        self.value = value
        self.asked = 0

    async def judge(self, task: Any, submission: Submission) -> Verdict:
        self.asked += 1
        return Verdict(self.id, self.value, "because")


def _submission(*roots: str) -> Submission:
    return Submission("p", tuple(Reference(f"IMG_00{i}", root, root, "u") for i, root in enumerate(roots, 1)), ImageStore())


def _score(reward: Reward, submission: Submission | None) -> RewardReport:
    return asyncio.run(reward.score(TASK, submission))


@pytest.mark.parametrize(("submission", "reason"), [(None, "no answer"), (_submission(), "there are no references")])
def test_no_references_fail_without_asking(submission: Submission | None, reason: str) -> None:
    judge = Fixed(1.0)
    report = _score(SearchReward(judge), submission)
    assert (report.value, report.valid, report.components) == (0.0, True, {"search": 0.0})
    assert [(verdict.value, verdict.reason) for verdict in report.verdicts] == [(0.0, reason)]
    assert judge.asked == 0


def test_the_verdict_is_the_reward() -> None:
    right = _score(SearchReward(FakeJudge()), _submission("0" * 64, TASK.ground_truth[0]))
    wrong = _score(SearchReward(FakeJudge()), _submission("0" * 64))
    assert (right.value, right.valid, right.components) == (1.0, True, {"search": 1.0})
    assert (wrong.value, wrong.valid, wrong.components) == (0.0, True, {"search": 0.0})
    assert [verdict.judge for verdict in right.verdicts] == ["fake-judge"]


def test_unscored_is_not_zero() -> None:
    report = _score(SearchReward(Fixed(None)), _submission("0" * 64))
    assert (report.value, report.valid, report.components) == (0.0, False, {"search": None})
    assert report.verdicts[0].unscored


@pytest.mark.parametrize(
    ("value", "valid", "components"),
    [(float("nan"), True, {}), (float("inf"), True, {}), (0.0, True, {"a": float("nan")}), (1.0, False, {})],
)
def test_a_reward_that_no_trainer_could_use_is_refused(value: float, valid: bool, components: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="a reward"):
        RewardReport(value, valid, components)
