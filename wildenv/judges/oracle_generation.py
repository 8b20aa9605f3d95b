"""The oracle generation judge: what the embedded generator's picture must show, from the prompt and the references' provenance.

The compositor sets every reference up in its scene as it is and draws the scene the prompt names. So the oracle examines the
references for the identity, and reads the prompt with the compositor's own reader for the context, in the tiers and by the rules
of Savanna's appendix D.2. It does not look at the drawn picture: that it was drawn from this prompt and these references is
believed. Pictures of other generators it leaves unscored.

Identity. 1.0 if a reference shows the target legibly and alone, and no reference shows anything that can be taken for it; 0.2 if
the target is there, but with others beside it, in part, or small; 0.0 if it is absent, a thumbnail or a sliver, or if most of
what could be the target is something else. Of several references the clearest view of the target counts, as D.2 says of a picture
that shows it more than once; unrelated ones do no harm; a look-alike in any of them does, because a drawing mixes what it is
given.

Context. A condition holds if the scene of the prompt has what the condition names. Without anything in the picture that could be
the target there is nothing that could be in that scene, and no condition holds. Where other things crowd the target in every
picture of it, it cannot be told what stands next to it: the first condition that names a neighbour is then broken, and no other.
"""

from __future__ import annotations

from wildenv.errors import ConfigError, DataError, ToolError
from wildenv.generators.compositor import Compositor
from wildenv.generators.scene import Scene, scene_of
from wildenv.judges.base import Submission, Verdict
from wildenv.judges.examine import Findings, Provenance, examine
from wildenv.judges.generation import reading_of
from wildenv.task import Task


class OracleGenerationJudge:
    """Implements `Judge` over known provenance; parts ``identity`` and ``context``, the value is identity.

    Args:
        provenance: Who knows where pictures come from.
    """

    id = "oracle-generation-1"

    def __init__(self, provenance: Provenance) -> None:
        self._provenance = provenance

    async def judge(self, task: Task, submission: Submission) -> Verdict:
        """Returns a verdict; unscored if task, references, conditions or the drawn picture are not of this world."""
        try:
            if submission.drawn is None or submission.drawn.generator != Compositor.id:
                made = "nothing was drawn" if submission.drawn is None else f"the picture is {submission.drawn.generator}'s"
                raise DataError(f"{made}; the oracle judges what reward.generator=compositor draws, others need judge=model")
            found = examine(self._provenance, task, submission)
            wanted = [condition_of(criterion) for criterion in task.rubric]
        except (ConfigError, ToolError, DataError) as error:
            return Verdict(self.id, None, f"unscored: {error}")
        tier, why = tier_of(found)
        kept, reasons = _context(found, scene_of(submission.prompt), wanted)
        reading = reading_of(task, {found.target: tier}, kept, why)
        evidence = {
            **found.evidence,
            "entities": [{"name": task.target, "tier": tier, "reason": why}],
            "context_results": kept,
            "context_reasons": reasons,
            **reading.evidence,
        }
        return Verdict(self.id, reading.value, reading.reason, evidence, parts=reading.parts)


def tier_of(found: Findings) -> tuple[float, str]:
    """Returns the identity tier of a picture drawn from these references, and why; see the module."""
    if not any(one.partial for one in found.seen):
        return 0.0, found.reasons or "the target is not in the picture"
    if found.misleads:
        return 0.0, f"the picture follows a look-alike: only {found.right} of {found.related} references show the target"
    if found.clean:
        return 1.0, "drawn from a clear view of the target alone"
    if not found.legible:
        return 0.2, "drawn from a view of the target that is small or cut off"
    return 0.2, "the target is drawn together with what came along in its reference, or with a look-alike"


def condition_of(criterion: str) -> Scene:
    """Returns what a criterion wants to see.

    Raises:
        DataError: If it names nothing that the compositor draws.
    """
    wanted = scene_of(criterion)
    if wanted == Scene():
        raise DataError(f"the condition {criterion!r} names nothing that the compositor draws; it needs judge=model")
    return wanted


def keeps(prompt: str, wanted: list[Scene]) -> bool:
    """Whether a prompt keeps every condition."""
    scene = scene_of(prompt)
    return all(scene.shows(one) for one in wanted)


def _context(found: Findings, scene: Scene, wanted: list[Scene]) -> tuple[list[bool], list[str]]:
    if not found.related:
        return [False] * len(wanted), ["nothing that could be the target is in the picture"] * len(wanted)
    kept = [scene.shows(one) for one in wanted]
    reasons = ["the prompt asks for it" if held else "the prompt does not ask for it" for held in kept]
    views = [one for one in found.seen if one.target]
    beside = next((number for number, one in enumerate(wanted) if one.neighbours), None)
    if views and all(one.crowded for one in views) and beside is not None and kept[beside]:
        kept[beside] = False
        reasons[beside] = "other things of its kind stand next to the target"
    return kept, reasons
