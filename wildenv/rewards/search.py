"""The search reward: 1 if the references let a generator draw the target, else 0 (Savanna, section 2.3 and appendix D)."""

from __future__ import annotations

from wildenv.judges.base import Judge
from wildenv.rewards.combined import CombinedReward
from wildenv.rewards.judged import Judged

COMPONENT = "search"


class SearchReward(CombinedReward):
    """The one component ``search``. An episode without references fails without asking; an unscored verdict makes it invalid.

    Args:
        judge: The judge.
    """

    def __init__(self, judge: Judge) -> None:
        super().__init__([Judged(COMPONENT, judge, needs_references=True)], {COMPONENT: 1.0})
