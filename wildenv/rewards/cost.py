"""The cost component: how much of its budget of tool calls the agent did not need."""

from __future__ import annotations

from wildenv.errors import ConfigError
from wildenv.judges.base import Submission
from wildenv.rewards.component import ComponentScore
from wildenv.task import Task

COMPONENT = "cost"


class CostComponent:
    """Implements `Component`: the unused share of the tool calls. A bonus.

    Args:
        tool_calls: How many an episode may make, `wildenv.budget.Limits.tool_calls`.

    Raises:
        ConfigError: If there are none.
    """

    name = COMPONENT
    needs_picture = False
    bonus = True
    parts: tuple[str, ...] = ()

    def __init__(self, tool_calls: int) -> None:
        if tool_calls < 1:
            raise ConfigError(f"reward.components has 'cost', which needs env.limits.tool_calls={tool_calls} to be at least 1")
        self.tool_calls = tool_calls

    async def score(self, task: Task, submission: Submission) -> ComponentScore:
        """Returns the share; unscored if the submission does not say how many calls there were."""
        used = submission.usage.get("tool_calls")
        return ComponentScore(None if used is None else max(0.0, 1 - used / self.tool_calls))
