"""Judges, generators and submissions for tests of rewards."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from PIL import Image

from wildenv.errors import GeneratorError
from wildenv.images import ImageStore
from wildenv.judges.base import Reference, Submission, Verdict
from wildenv.rewards.base import Reward, RewardReport
from wildenv.task import Task


class Says:
    """A judge that says what a function of the task id says; None is unscored."""

    def __init__(
        self,
        say: Callable[[str], float | None],
        parts: Mapping[str, float | None] | None = None,
        id: str = "says",
        **evidence: Any,
    ) -> None:
        self.id = id
        self.say = say
        self.parts = parts or {}
        self.evidence = evidence
        self.seen: list[Submission] = []

    async def judge(self, task: Task, submission: Submission) -> Verdict:
        self.seen.append(submission)
        return Verdict(self.id, self.say(task.id), "because", self.evidence, parts=self.parts)


def always(value: float | None, parts: Mapping[str, float | None] | None = None, **evidence: Any) -> Says:
    return Says(lambda task_id: value, parts, **evidence)


class Draws:
    """A generator that draws one colour, or fails."""

    id = "draws-1"

    def __init__(self, failing: bool = False, needs_references: bool = False) -> None:
        self.failing = failing
        self.needs_references = needs_references
        self.asked: list[tuple[str, list[tuple[int, int]], int]] = []

    async def generate(self, prompt: str, references: Sequence[Image.Image], seed: int) -> Image.Image:
        self.asked.append((prompt, [reference.size for reference in references], seed))
        if self.failing:
            raise GeneratorError("draws-1 is out of paint")
        return Image.new("RGB", (32, 24), "teal")


def submission(prompt: str = "a prompt", count: int = 1, **usage: int) -> Submission:
    store = ImageStore()
    references = []
    for number in range(1, count + 1):
        digest = store.put(Image.new("RGB", (40 + number, 50), "red"))
        references.append(Reference(f"IMG_{number:03d}", digest, digest, "https://a.example/1.png"))
    return Submission(prompt, tuple(references), store, usage)


def score(reward: Reward, task: Task, given: Submission | None) -> RewardReport:
    return asyncio.run(reward.score(task, given))
