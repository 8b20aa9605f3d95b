"""A component whose value is a judge's verdict: search, K-Score, sufficiency, checklist."""

from __future__ import annotations

from collections.abc import Mapping

from wildenv.judges.base import Judge, Submission, Verdict
from wildenv.rewards.component import ComponentScore
from wildenv.task import Task


class Judged:
    """Implements `Component` by asking a judge once.

    Args:
        name: Of the component.
        judge: The judge.
        needs_picture: Whether it judges a drawn picture.
        needs_references: Whether an answer without references is 0, which its judge is then not asked about.
        parts: Names of parts in reports, and what the verdict calls them.
    """

    bonus = False

    def __init__(
        self,
        name: str,
        judge: Judge,
        needs_picture: bool = False,
        needs_references: bool = False,
        parts: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.judge = judge
        self.needs_picture = needs_picture
        self.needs_references = needs_references
        self._said = dict(parts or {})
        self.parts: tuple[str, ...] = tuple(self._said)

    async def score(self, task: Task, submission: Submission) -> ComponentScore:
        """Returns the verdict's value."""
        if self.needs_references and not submission.references:
            unasked = Verdict(self.judge.id, 0.0, "there are no references", {"references": []})
            return ComponentScore(0.0, (unasked,), parts=dict.fromkeys(self.parts, 0.0))
        verdict = await self.judge.judge(task, submission)
        return ComponentScore(
            verdict.value, (verdict,), parts={name: verdict.parts.get(said) for name, said in self._said.items()}
        )
