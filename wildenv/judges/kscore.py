"""The K-Score judge: four grades of a drawn picture (Gen-Searcher; KnowGen)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wildenv.judges.base import Submission
from wildenv.judges.model import STRING, ModelJudge, Reading, closed, drawn_shown, truth_shown
from wildenv.judges.wording import Material
from wildenv.task import Task

WEIGHTS: Mapping[str, float] = {"faithfulness": 0.1, "visual_correctness": 0.4, "text_accuracy": 0.4, "aesthetics": 0.1}
"""Of the grades in a K-Score."""

TEXT = "text_accuracy"
TEXT_NA = 0.5
"""Counts for the text of a picture that needs none, in the K-Score of one picture."""

NOT_APPLICABLE = "N/A"


class KScoreJudge(ModelJudge):
    """Parts are the four grades, each 0, 0.5 or 1; the value is their weighted sum.

    Where no text belongs into the picture, ``text_accuracy`` is None and the evidence says ``text_na``: not applicable, which is
    not the same as unscored. As in Gen-Searcher it then counts 0.5 in this picture's K-Score, while means over pictures have to
    leave it out. See `ModelJudge`.
    """

    name = "kscore"
    rules = 1
    needs_picture = True

    def material(self, task: Task, submission: Submission, truth: list[str]) -> Mapping[str, Material]:
        """The request, the drawn picture and the ground truth."""
        return {"request": task.prompt, "pictures": [drawn_shown(submission), *truth_shown(truth)]}

    def schema(self, task: Task) -> Mapping[str, Any]:
        """Four grades on the grid, and a reason."""
        grade: dict[str, Any] = {"enum": [0, 0.5, 1]}
        grades = {name: {"enum": [*grade["enum"], NOT_APPLICABLE]} if name == TEXT else grade for name in WEIGHTS}
        return closed(**grades, reason=STRING)

    def read(self, task: Task, data: Mapping[str, Any]) -> Reading:
        """The weighted sum, rounded to 0.01 as Gen-Searcher does."""
        without_text = data[TEXT] == NOT_APPLICABLE
        grades = {name: float(data[name]) for name in WEIGHTS if not (without_text and name == TEXT)}
        value = sum(weight * grades.get(name, TEXT_NA) for name, weight in WEIGHTS.items())
        parts = {name: grades.get(name) for name in WEIGHTS}
        return Reading(round(value, 2), data["reason"], parts, {"text_na": without_text})
