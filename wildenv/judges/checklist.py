"""The checklist judge: yes or no to each item of a list about one drawn picture (Mind-Bench, BizGenEval, IGenBench).

The items are the task's rubric. How a benchmark turns answers into its score is the benchmark's business.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from wildenv.errors import ConfigError, DataError, InfrastructureError
from wildenv.judges.base import Submission, Truth, Verdict
from wildenv.judges.model import STRING, ModelJudge, Reading, asked, closed, drawn_shown, spent, truth_shown
from wildenv.judges.wording import Material
from wildenv.models.base import Chat
from wildenv.models.usage import Usage
from wildenv.task import Task

STRICT = "strict"
CALLS = ("one", "each")


class ChecklistJudge(ModelJudge):
    """The value is the share of items that hold; the part ``strict`` is 1 if all do.

    The evidence has under ``results`` one row an item: ``item``, ``result`` (None if it could not be read) and ``reason``. One
    item without a result leaves the picture unscored. See `ModelJudge`.

    Args:
        chat: The model.
        truth: Who holds the ground truth; asked only for tasks that have some.
        calls: ``one`` asks for all items at once (Mind-Bench, BizGenEval), ``each`` for every item alone (IGenBench).

    Raises:
        ConfigError: If `calls` is neither.
    """

    name = "checklist"
    rules = 1
    needs_picture = True
    needs_truth = False

    def __init__(self, chat: Chat, truth: Truth, calls: str = "one") -> None:
        if calls not in CALLS:
            raise ConfigError(f"judge.checklist_calls={calls!r} is not one of {', '.join(CALLS)}")
        super().__init__(chat, truth)
        self.calls = calls
        # Asked alone, an item can get another answer.
        self.id = f"{self.name}-{self.rules}{'' if calls == 'one' else '-each'}:{chat.model}"

    async def judge(self, task: Task, submission: Submission) -> Verdict:
        """See `ModelJudge.judge`."""
        if self.calls == "one" or not task.rubric:
            return await super().judge(task, submission)
        evidence: dict[str, Any] = {}
        try:
            truth = evidence["ground_truth"] = self.pictures(task, submission)
        except DataError as error:
            return self.unscored(error, evidence, Usage())
        answers = await asyncio.gather(*(self._one(task, item, submission, truth) for item in task.rubric))
        usage = sum((took for _, took in answers), Usage())
        rows = [row for row, _ in answers]
        evidence["results"] = rows
        lost = [row["reason"] for row in rows if row["result"] is None]
        if lost:
            return Verdict(self.id, None, f"unscored: {len(lost)} of {len(rows)} items: {lost[0]}", evidence, usage.to_dict())
        reading = _reading(rows)
        return Verdict(self.id, reading.value, reading.reason, evidence, usage.to_dict(), reading.parts)

    def material(self, task: Task, submission: Submission, truth: list[str]) -> Mapping[str, Material]:
        """The request, the list, the drawn picture and, where there is one, the ground truth."""
        return self._material(task, task.rubric, submission, truth)

    def schema(self, task: Task) -> Mapping[str, Any]:
        """One answer under the number of each item."""
        if not task.rubric:
            raise DataError(f"task {task.id} has no list; a checklist judge needs its field 'rubric'")
        return _schema(len(task.rubric))

    def read(self, task: Task, data: Mapping[str, Any]) -> Reading:
        """The share that holds."""
        rows = [{"item": item, **data[str(number)]} for number, item in enumerate(task.rubric, 1)]
        reading = _reading(rows)
        return Reading(reading.value, reading.reason, reading.parts, {"results": rows})

    def _material(self, task: Task, items: Sequence[str], submission: Submission, truth: list[str]) -> Mapping[str, Material]:
        pictures = [drawn_shown(submission), *truth_shown(truth)]
        return {"request": task.prompt, "count_items": len(items), "items": items, "pictures": pictures}

    async def _one(self, task: Task, item: str, submission: Submission, truth: list[str]) -> tuple[dict[str, Any], Usage]:
        try:
            reply = await self.ask(task, self._material(task, [item], submission, truth), _schema(1), submission)
        except (DataError, InfrastructureError) as error:
            return {"item": item, "result": None, "reason": str(error)}, spent(error)
        return {"item": item, **reply.data["1"], "asked": asked(reply)}, reply.usage


def _schema(count: int) -> dict[str, Any]:
    answer = closed(result={"type": "boolean"}, reason=STRING)
    return closed(**{str(number): answer for number in range(1, count + 1)})


def _reading(rows: Sequence[Mapping[str, Any]]) -> Reading:
    held = sum(row["result"] for row in rows)
    failed = next((row for row in rows if not row["result"]), None)
    reason = f"{held} of {len(rows)} items hold" + ("" if failed is None else f"; {failed['item']} {failed['reason']}")
    return Reading(held / len(rows), reason, {STRICT: float(failed is None)})
