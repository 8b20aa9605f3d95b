"""The generation judge: is the target drawn right, and are the conditions of the request kept? (Savanna, appendix D.2)"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wildenv.disarm import disarm
from wildenv.errors import DataError
from wildenv.judges.base import Submission
from wildenv.judges.model import STRING, ModelJudge, Reading, closed, drawn_shown, listed, truth_shown
from wildenv.judges.wording import Material
from wildenv.task import Task

TIERS = (1.0, 0.2, 0.0)
"""Consistent, partially consistent, inconsistent."""

IDENTITY, CONTEXT = "identity", "context"


class GenerationJudge(ModelJudge):
    """Parts ``identity``, the mean tier of the targets, and ``context``, the share of conditions kept; the value is identity.

    How the two are weighed is the reward's to say. A task without conditions has the context None, and ``context_na`` in the
    evidence: not applicable, which is not the same as unscored. See `ModelJudge`.
    """

    name = "generation"
    rules = 1
    needs_picture = True

    def material(self, task: Task, submission: Submission, truth: list[str]) -> Mapping[str, Material]:
        """Targets, request, conditions, the drawn picture and the ground truth."""
        targets = targets_of(task)
        return {
            "count_targets": len(targets),
            "targets": targets,
            "request": task.prompt,
            "count_conditions": len(task.rubric),
            "conditions": task.rubric,
            "pictures": [drawn_shown(submission), *truth_shown(truth)],
        }

    def schema(self, task: Task) -> Mapping[str, Any]:
        """The keys of appendix D.2; as many entries as there are targets, as many answers as there are conditions."""
        targets, conditions = targets_of(task), len(task.rubric)
        features = listed({"type": "string"})
        entity = closed(
            name={"enum": targets},
            gt_features=features,
            matched=features,
            mismatched=features,
            tier={"enum": list(TIERS)},
            reason=STRING,
        )
        return closed(
            entities=listed(entity, len(targets)),
            context_results=listed({"type": "boolean"}, conditions),
            context_reasons=listed({"type": "string"}, conditions),
        )

    def read(self, task: Task, data: Mapping[str, Any]) -> Reading:
        """Means; raises `DataError` if one target has two entries and another none."""
        tiers = {entity["name"]: float(entity["tier"]) for entity in data["entities"]}
        missing = [target for target in targets_of(task) if target not in tiers]
        if missing:
            raise DataError(f"the judge gave another target two entries and none to {missing[0]!r}")
        return reading_of(task, tiers, data["context_results"], "; ".join(entity["reason"] for entity in data["entities"]))


def reading_of(task: Task, tiers: Mapping[str, float], kept: list[bool], reason: str) -> Reading:
    """Returns what tiers by target and answers by condition amount to; the conditions stand beside them in the evidence."""
    identity = sum(tiers.values()) / len(tiers)
    context = sum(kept) / len(kept) if kept else None
    evidence = {"conditions": list(task.rubric)} if kept else {"context_na": True}
    return Reading(identity, reason, {IDENTITY: identity, CONTEXT: context}, evidence)


def targets_of(task: Task) -> list[str]:
    """Returns the names of a task's targets.

    Raises:
        DataError: If it has none.
    """
    # As the list of the prompt shows them: on one line each, without control tokens.
    targets = [" ".join(disarm(name).split()) for name in task.target.split(" + ")]
    if not all(targets):
        raise DataError(f"task {task.id} names no target; a generation judge needs its field 'target'")
    return list(dict.fromkeys(targets))
