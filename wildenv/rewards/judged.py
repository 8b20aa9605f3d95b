"""A component whose value is a judge's verdict: search, K-Score, sufficiency."""

from __future__ import annotations

from wildenv.judges.base import Judge, Submission
from wildenv.rewards.component import ComponentScore
from wildenv.task import Task


class Judged:
    """Implements `Component` by asking a judge once.

    Args:
        name: Of the component.
        judge: The judge.
        needs_picture: Whether it judges a drawn picture.
    """

    bonus = False
    parts: tuple[str, ...] = ()

    def __init__(self, name: str, judge: Judge, needs_picture: bool = False) -> None:
        self.name = name
        self.judge = judge
        self.needs_picture = needs_picture

    async def score(self, task: Task, submission: Submission) -> ComponentScore:
        """Returns the verdict's value."""
        verdict = await self.judge.judge(task, submission)
        return ComponentScore(verdict.value, (verdict,))
