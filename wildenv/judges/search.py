"""The search judge: do the references let the target be drawn? (Savanna, appendix D.1)"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wildenv.judges.base import Submission
from wildenv.judges.model import STRING, ModelJudge, Reading, closed
from wildenv.judges.wording import Material, Shown
from wildenv.task import Task


class SearchJudge(ModelJudge):
    """Value 1 for pass and 0 for fail; an answer without references fails unasked. See `ModelJudge`."""

    name = "search"
    rules = 1
    needs_references = True

    def material(self, task: Task, submission: Submission, truth: list[str]) -> Mapping[str, Material]:
        """Image 0 is the ground truth, then the references in their order."""
        labels = ["truth" if len(truth) == 1 else f"truth, picture {number}" for number in range(1, len(truth) + 1)]
        labels += [f"the agent's, number {number}" for number in range(1, len(submission.references) + 1)]
        digests = [*truth, *(reference.digest for reference in submission.references)]
        shown = [
            Shown(f"Image {number} ({label})", digest) for number, (label, digest) in enumerate(zip(labels, digests, strict=True))
        ]
        return {"request": task.prompt, "pictures": shown}

    def schema(self, task: Task) -> Mapping[str, Any]:
        """The keys of appendix D.1."""
        return closed(target=STRING, gt_shows=STRING, agent_shows=STRING, **{"pass": {"type": "boolean"}}, why=STRING)

    def read(self, task: Task, data: Mapping[str, Any]) -> Reading:
        """1 if it passed."""
        return Reading(float(data["pass"]), data["why"])
