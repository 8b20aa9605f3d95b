"""A world of two habits: after a search an agent crops the first picture, or does not, as a coin falls."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import date
from typing import Any

from tests.trainers.rl.settings import WORLD
from wildenv.judges.base import Submission, Verdict
from wildenv.miniweb.provider import MiniwebProvider
from wildenv.policy import Observation
from wildenv.registration import miniworld, world_config
from wildenv.rewards.base import RewardReport
from wildenv.rewards.combined import CombinedReward, dual
from wildenv.rewards.component import ComponentScore
from wildenv.task import Task
from wildenv.web.results import ImageHit

PROMPT = "the new thing"


class Coin:
    """Searches, crops one time in two, and answers with the last picture or the first."""

    system_prompt = "Find it."

    def reset(self, task_prompt: str, tools: Sequence[dict[str, Any]], seed: int = 0) -> None:
        self.turn, self.crops = 0, random.Random(seed).random() < 0.5
        self.shown = 0

    async def act(self, observation: Observation) -> dict[str, Any]:
        self.turn += 1
        self.shown += len(observation["images"])
        if self.turn == 1:
            return call("image_search", query="press picture")
        if self.turn == 2 and self.crops:
            return call("crop_image", image_id="IMG_001", box=[0, 0, 600, 600])
        return call("answer", prompt=PROMPT, references=[f"IMG_{self.shown if self.crops else 1:03d}"])


class CropReward:
    """1 for an answer whose reference was cropped."""

    async def score(self, task: Task, submission: Submission | None) -> RewardReport:
        cropped = submission is not None and any(one.box != (0, 0, 1000, 1000) for one in submission.references)
        return RewardReport(float(cropped), True, {"cropped": float(cropped)})


class SeenReward:
    """As `CropReward`, but unscored for tasks that have no pictures."""

    async def score(self, task: Task, submission: Submission | None) -> RewardReport:
        if Sparse.lacks(task.cutoff):
            return RewardReport(0.0, False, {"cropped": None}, (Verdict("cropped", None, "there was nothing to crop"),))
        return await CropReward().score(task, submission)


class Fixed:
    """A component of a dual reward that gives one value for a crop and another otherwise."""

    needs_picture = False
    bonus = False
    parts: tuple[str, ...] = ()

    def __init__(self, name: str, cropped: float, whole: float) -> None:
        self.name, self.cropped, self.whole = name, cropped, whole

    async def score(self, task: Task, submission: Submission) -> ComponentScore:
        crops = any(one.box != (0, 0, 1000, 1000) for one in submission.references)
        return ComponentScore(self.cropped if crops else self.whole)


def dual_reward(alpha: float) -> CombinedReward:
    """A dual reward whose sides differ, and are never 0 for an answer."""
    return CombinedReward([Fixed("generation", 0.9, 0.3), Fixed("sufficiency", 0.4, 0.6)], dual(alpha, "generation"))


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"function": {"name": name, "arguments": arguments}}]}


class Sparse(MiniwebProvider):
    """The small miniweb, without pictures for the tasks of every third day."""

    id = "sparse"

    def __init__(self) -> None:
        super().__init__(miniworld(world_config(WORLD)))

    def image_search(self, query: str, limit: int, cutoff: date | None) -> list[ImageHit]:
        return [] if self.lacks(cutoff) else super().image_search(query, limit, cutoff)

    @staticmethod
    def lacks(cutoff: date | None) -> bool:
        return cutoff is not None and cutoff.toordinal() % 3 == 0
