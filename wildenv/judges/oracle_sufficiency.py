"""The oracle sufficiency judge: do prompt and references hold what drawing the target needs? It knows where references come from.

It gives the grades of R_text (Gen-Searcher) by rule and reads the prompt as the compositor does; what a prompt says of the
target's looks counts for nothing, nor does anything else it adds.
"""

from __future__ import annotations

from wildenv.errors import ConfigError, DataError, ToolError
from wildenv.judges.base import Submission, Verdict
from wildenv.judges.examine import Provenance, examine
from wildenv.judges.oracle_generation import condition_of, keeps
from wildenv.task import Task

BASE, CLEAN, KEPT = 0.5, 0.25, 0.25
"""For a usable view of the target; more if it is alone; more if the prompt keeps every condition."""


class OracleSufficiencyJudge:
    """Implements `Judge` over known provenance.

    0 unless a reference gives a legible view of the target and the set does not mislead; otherwise `BASE`, plus `CLEAN` if the
    target is alone and nothing can be taken for it, plus `KEPT` if the prompt keeps every condition.

    Args:
        provenance: Who knows where pictures come from.
    """

    id = "oracle-sufficiency-1"

    def __init__(self, provenance: Provenance) -> None:
        self._provenance = provenance

    async def judge(self, task: Task, submission: Submission) -> Verdict:
        """Returns a verdict; unscored if task, references or conditions are not of this world."""
        if not submission.references:
            return Verdict(self.id, 0.0, "there are no references", {"references": []})
        try:
            found = examine(self._provenance, task, submission)
            kept = keeps(submission.prompt, [condition_of(criterion) for criterion in task.rubric])
        except (ConfigError, ToolError, DataError) as error:
            return Verdict(self.id, None, f"unscored: {error}")
        evidence = {**found.evidence, "clean": found.clean, "kept": kept}
        if not found.legible or found.misleads:
            reason = found.reasons if not found.legible else "most of the set shows something else than the target"
            return Verdict(self.id, 0.0, reason, evidence)
        value = BASE + CLEAN * found.clean + KEPT * kept
        reason = "a usable view of the target, {}; {}".format(
            "alone" if found.clean else "with others",
            "the prompt keeps every condition" if kept else "the prompt loses a condition",
        )
        return Verdict(self.id, value, reason, evidence)
