"""The oracle judge: decides from where pictures come from, not from what they look like.

It applies the search judge's rules (Savanna, appendix D.1) to pictures whose provenance is known. It sees no pixels, needs no
service and makes no mistake about identity; it cannot judge a picture of unknown provenance, which it leaves unscored. Its scores
are not comparable with those of a vision model on the real web.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from wildenv.errors import ConfigError, ToolError
from wildenv.images import Box
from wildenv.judges.base import Reference, Submission, Verdict
from wildenv.legibility import ILLEGIBLE_SHOTS, View
from wildenv.task import Task

TRACE = 0.1
"""An entity of which more than this share is inside the reference counts as shown."""
MIN_RIGHT = 0.5
"""Least share of the references with any look-alike or the target that must show the target."""


class Subject(Protocol):
    """Something that can be asked for."""

    @property
    def id(self) -> str:
        """Unique among all subjects."""
        ...

    @property
    def event(self) -> int:
        """The event it belongs to; subjects of one event can be taken for each other."""
        ...


class Placement(Protocol):
    """One subject in a picture."""

    @property
    def entity(self) -> str:
        """Id of the subject."""
        ...

    @property
    def role(self) -> str:
        """What it is to the event's task, in one word."""
        ...

    @property
    def event(self) -> int:
        """The event it belongs to."""
        ...

    @property
    def box(self) -> Box:
        """Where it is, in 0..1000 of the picture."""
        ...


class Origin(Protocol):
    """Where a picture comes from."""

    @property
    def digest(self) -> str:
        """Of its pixels."""
        ...

    @property
    def size(self) -> tuple[int, int]:
        """``(width, height)`` in pixels."""
        ...

    @property
    def shot(self) -> str:
        """What kind of picture it is."""
        ...

    @property
    def depicted(self) -> Sequence[Placement]:
        """What it shows."""
        ...


class Provenance(Protocol):
    """Whoever knows where pictures come from; `wildenv.miniweb.world.MiniWorld` does."""

    def provenance(self, url: str) -> Origin:
        """Returns the origin of a picture; raises `ToolError` if it does not know it."""
        ...

    def target(self, task_id: str) -> Subject:
        """Returns what a task asks for; raises `ConfigError` if it does not know the task."""
        ...


class OracleJudge:
    """Implements `SearchJudge` over known provenance.

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
            target = self._provenance.target(task.id)
            rows = [self._examine(reference, target) for reference in submission.references]
        except (ConfigError, ToolError, _ForeignPixelsError) as error:
            return Verdict(self.id, None, f"unscored: {error}")
        right = sum(row["target"] for row in rows)
        related = sum(row["target"] or row["lookalike"] for row in rows)
        evidence = {"target": target.id, "references": rows, "right": right, "related": related}
        if not any(row["legible"] for row in rows):
            reasons = list(dict.fromkeys(row["reason"] for row in rows))
            return Verdict(self.id, 0.0, "; ".join(reasons), evidence)
        if right < MIN_RIGHT * related:
            reason = f"the set misleads: only {right} of {related} references with look-alikes show the target"
            return Verdict(self.id, 0.0, reason, evidence)
        return Verdict(self.id, 1.0, "a reference gives a usable view of the target", evidence)

    def _examine(self, reference: Reference, target: Subject) -> dict[str, Any]:
        origin = self._provenance.provenance(reference.url)
        if origin.digest != reference.root:
            raise _ForeignPixelsError(
                f"reference {reference.id} is said to come from {reference.url}, but its pixels ({reference.root[:12]}) are not "
                f"those of that picture ({origin.digest[:12]}); replay a pack recorded with this version of the miniweb"
            )
        views = [(placement, View.of(placement.box, origin.size, reference.box)) for placement in origin.depicted]
        shown = [(placement, view) for placement, view in views if view.share > TRACE]
        ours = [view for placement, view in shown if placement.entity == target.id]
        others = [placement for placement, _ in shown if placement.entity != target.id]
        legible = any(view.legible(origin.shot) for view in ours)
        if not ours:
            roles = sorted({placement.role for placement in others})
            reason = f"shows the wrong thing: {', '.join(roles)}" if roles else "shows nothing related to the target"
        elif origin.shot in ILLEGIBLE_SHOTS:
            reason = "shows the target only as a thumbnail in a screenshot"
        elif not legible:
            reason = "shows the target too small or cut off"
        else:
            reason = "shows the target"
        return {
            "id": reference.id,
            "shot": origin.shot,
            "shown": [
                {"entity": placement.entity, "role": placement.role, "share": view.share, "pixels": [view.width, view.height]}
                for placement, view in views
                if view.share > 0
            ],
            "target": bool(ours),
            "legible": legible,
            "only_target": bool(ours) and not others,
            "lookalike": any(placement.event == target.event for placement in others),
            "reason": reason,
        }


class _ForeignPixelsError(Exception):
    """A reference claims an address whose pixels it does not have."""
