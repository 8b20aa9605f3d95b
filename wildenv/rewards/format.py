"""The format component: how much of what the agent wrote could be read."""

from __future__ import annotations

from wildenv.judges.base import Submission
from wildenv.rewards.component import ComponentScore
from wildenv.task import Task

COMPONENT = "format"


class FormatComponent:
    """Implements `Component`: the share of turns that could be read as a tool call or an answer. A bonus."""

    name = COMPONENT
    needs_picture = False
    bonus = True
    parts: tuple[str, ...] = ()

    async def score(self, task: Task, submission: Submission) -> ComponentScore:
        """Returns the share; unscored if the submission does not say how many turns there were."""
        turns = submission.usage.get("turns", 0)
        return ComponentScore(1 - submission.usage.get("unreadable", 0) / turns if turns else None)
