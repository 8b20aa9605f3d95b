"""The search reward: 1 if the references let a generator draw the target, else 0 (Savanna, section 2.3 and appendix D)."""

from __future__ import annotations

from wildenv.judges.base import SearchJudge, Submission
from wildenv.rewards.base import RewardReport
from wildenv.task import Task

COMPONENT = "search"


class SearchReward:
    """Asks a search judge. An episode without references fails without asking; an unscored verdict makes the reward invalid.

    Args:
        judge: The judge.
    """

    def __init__(self, judge: SearchJudge) -> None:
        self.judge = judge

    async def score(self, task: Task, submission: Submission | None) -> RewardReport:
        """Returns the report with the one component ``search``."""
        if submission is None or not submission.references:
            return RewardReport(0.0, True, {COMPONENT: 0.0})
        verdict = await self.judge.judge(task, submission)
        if verdict.value is None:
            return RewardReport(0.0, False, {COMPONENT: None}, (verdict,))
        return RewardReport(verdict.value, True, {COMPONENT: verdict.value}, (verdict,))
