"""The oracle search judge: decides from where pictures come from, not from what they look like.

It applies the search judge's rules (Savanna, appendix D.1) to pictures whose provenance is known. It sees no pixels, needs no
service and makes no mistake about identity; it cannot judge a picture of unknown provenance, which it leaves unscored. Its scores
are not comparable with those of a vision model on the real web.
"""

from __future__ import annotations

from wildenv.errors import ConfigError, DataError, ToolError
from wildenv.judges.base import Submission, Verdict
from wildenv.judges.examine import Provenance, examine
from wildenv.task import Task


class OracleJudge:
    """Implements `Judge` over known provenance.

    Passes if at least one reference shows the target, from any angle and in any scene, large and whole enough, and the references
    as a set do not mislead: of those that show the target or something that can be taken for it, at least half show the target.

    Args:
        provenance: Who knows where pictures come from.
    """

    id = "oracle-1"

    def __init__(self, provenance: Provenance) -> None:
        self._provenance = provenance

    async def judge(self, task: Task, submission: Submission) -> Verdict:
        """Returns 1 for pass, 0 for fail, or an unscored verdict if the task or a reference is not of this world."""
        if not submission.references:
            return Verdict(self.id, 0.0, "there are no references", {"references": []})
        try:
            found = examine(self._provenance, task, submission)
        except (ConfigError, ToolError, DataError) as error:
            return Verdict(self.id, None, f"unscored: {error}")
        if not found.legible:
            return Verdict(self.id, 0.0, found.reasons, found.evidence)
        if found.misleads:
            reason = f"the set misleads: only {found.right} of {found.related} references with look-alikes show the target"
            return Verdict(self.id, 0.0, reason, found.evidence)
        return Verdict(self.id, 1.0, "a reference gives a usable view of the target", found.evidence)
