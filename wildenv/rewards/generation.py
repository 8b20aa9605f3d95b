"""The generation component: identity and context of a drawn picture, from one verdict (Savanna, section 2.3, appendix D.2)."""

from __future__ import annotations

from wildenv.errors import ConfigError
from wildenv.judges.base import Judge, Submission
from wildenv.rewards.component import ComponentScore
from wildenv.task import Task

COMPONENT = "generation"
IDENTITY = "identity"
CONTEXT = "context"


class GenerationComponent:
    """Implements `Component`: ``w * identity + (1 - w) * context``, with both as parts.

    A verdict without an identity, or without a context where there are conditions to keep, is unscored. Of a task without
    conditions (evidence ``context_na``) the value is the identity alone.

    Args:
        judge: The generation judge.
        w: Weight of the identity, 0..1. The paper's is not in its text.
        gate: Whether the context earns nothing where the identity is 0: a scene without the target is easily had. Only the
            reward is gated; the component and its parts are reported as they are.

    Raises:
        ConfigError: If `w` is out of range.
    """

    name = COMPONENT
    needs_picture = True
    bonus = False
    parts: tuple[str, ...] = (IDENTITY, CONTEXT)

    def __init__(self, judge: Judge, w: float = 0.8, gate: bool = True) -> None:
        if not 0 <= w <= 1:
            raise ConfigError(f"reward.w={w} must be from 0 to 1: the weight of the identity in the generation score")
        self.judge = judge
        self.w = w
        self.gate = gate

    async def score(self, task: Task, submission: Submission) -> ComponentScore:
        """Returns the weighted sum."""
        verdict = await self.judge.judge(task, submission)
        if verdict.unscored:
            return ComponentScore(None, (verdict,))
        identity, context = verdict.parts.get(IDENTITY), verdict.parts.get(CONTEXT)
        parts = {IDENTITY: identity, CONTEXT: context}
        if verdict.evidence.get("context_na") and identity is not None:
            return ComponentScore(identity, (verdict,), parts=parts)
        if identity is None or context is None:
            return ComponentScore(None, (verdict,), parts=parts)
        value = generation_score(identity, context, self.w)
        return ComponentScore(value, (verdict,), 0.0 if self.gate and identity == 0 else value, parts)


def generation_score(identity: float, context: float, w: float) -> float:
    """Returns the generation score of an identity and a context, each 0..1."""
    return w * identity + (1 - w) * context
