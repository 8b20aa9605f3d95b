"""The sufficiency judge: do prompt and references hold what drawing the target needs? (R_text of Gen-Searcher)

Unlike Gen-Searcher's it sees the pixels of the references, not only what the agent says of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wildenv.judges.base import Submission
from wildenv.judges.model import STRING, ModelJudge, Reading, closed, truth_shown
from wildenv.judges.wording import Material, Shown
from wildenv.task import Task

GRADES = (0, 0.25, 0.5, 0.75, 1)


class SufficiencyJudge(ModelJudge):
    """The value is one of `GRADES`; an answer without references is 0 unasked. See `ModelJudge`."""

    name = "sufficiency"
    rules = 1
    needs_references = True

    def material(self, task: Task, submission: Submission, truth: list[str]) -> Mapping[str, Material]:
        """The request, the ground truth, the refined prompt and the references."""
        references = [Shown(f"Reference {number}", reference.digest) for number, reference in enumerate(submission.references, 1)]
        return {
            "request": task.prompt,
            "truth": truth_shown(truth),
            "refined": submission.prompt,
            "references": references,
        }

    def schema(self, task: Task) -> Mapping[str, Any]:
        """Gen-Searcher's keys."""
        return closed(rationale=STRING, score={"enum": list(GRADES)})

    def read(self, task: Task, data: Mapping[str, Any]) -> Reading:
        """The grade."""
        return Reading(float(data["score"]), data["rationale"])
