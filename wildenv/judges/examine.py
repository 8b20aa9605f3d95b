"""What references show, from where they come from: the common ground of the oracle judges.

No pixel is looked at. A reference is examined by the recorded boxes of what its picture shows and by the part of it that was
cropped; light, blur and obstruction are not known. A picture of unknown provenance cannot be examined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from wildenv.errors import DataError
from wildenv.images import Box
from wildenv.judges.base import Reference, Submission
from wildenv.legibility import ILLEGIBLE_SHOTS, MIN_SHARE, MIN_SIDE, View
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


class ForeignPixelsError(DataError):
    """A reference claims an address whose pixels it does not have."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What one reference shows.

    Attributes:
        id: Of the reference.
        shot: What kind of picture it is from.
        shown: What is inside it, one JSON row each.
        target: Whether the target is in it at all.
        legible: Whether its details can be made out.
        partial: Whether at least half as much of it is to be seen as would make it legible.
        only_target: Whether there is nothing else in it.
        lookalike: Whether something that can be taken for the target is in it.
        crowded: Whether other things take up more of it than the target does.
        reason: In words.
    """

    id: str
    shot: str
    shown: list[dict[str, Any]]
    target: bool
    legible: bool
    partial: bool
    only_target: bool
    lookalike: bool
    crowded: bool
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON values."""
        names = ("id", "shot", "shown", "target", "legible", "only_target", "lookalike", "reason")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class Findings:
    """What a set of references shows of a target.

    Attributes:
        target: Id of the target.
        seen: One a reference, in order.
    """

    target: str
    seen: tuple[Seen, ...]

    @property
    def right(self) -> int:
        """How many show the target."""
        return sum(one.target for one in self.seen)

    @property
    def related(self) -> int:
        """How many show the target or something that can be taken for it."""
        return sum(one.target or one.lookalike for one in self.seen)

    @property
    def legible(self) -> bool:
        """Whether one shows the target so that its details can be made out."""
        return any(one.legible for one in self.seen)

    @property
    def misleads(self) -> bool:
        """Whether most of what could be the target is something else, so that a drawing would follow that."""
        return self.right < MIN_RIGHT * self.related

    @property
    def clean(self) -> bool:
        """Whether one shows the target legibly and alone, and nothing in the others can be taken for it."""
        return any(one.legible and one.only_target for one in self.seen) and not any(one.lookalike for one in self.seen)

    @property
    def reasons(self) -> str:
        """What the references show, in words, each kind once."""
        return "; ".join(dict.fromkeys(one.reason for one in self.seen))

    @property
    def evidence(self) -> dict[str, Any]:
        """JSON values."""
        rows = [one.to_dict() for one in self.seen]
        return {"target": self.target, "references": rows, "right": self.right, "related": self.related}


def examine(provenance: Provenance, task: Task, submission: Submission) -> Findings:
    """Examines the references of a submission.

    Raises:
        ConfigError: If the task is not known.
        ToolError: If a reference comes from an address that is not known.
        ForeignPixelsError: If it has other pixels than the picture of that address.
    """
    target = provenance.target(task.id)
    return Findings(target.id, tuple(_see(provenance, reference, target) for reference in submission.references))


def _see(provenance: Provenance, reference: Reference, target: Subject) -> Seen:
    origin = provenance.provenance(reference.url)
    if origin.digest != reference.root:
        raise ForeignPixelsError(
            f"reference {reference.id} is said to come from {reference.url}, but its pixels ({reference.root[:12]}) are not "
            f"those of that picture ({origin.digest[:12]}); replay a pack recorded with this version of the miniweb"
        )
    views = [(placement, View.of(placement.box, origin.size, reference.box)) for placement in origin.depicted]
    shown = [(placement, view) for placement, view in views if view.share > TRACE]
    ours = [view for placement, view in shown if placement.entity == target.id]
    others = [(placement, view) for placement, view in shown if placement.entity != target.id]
    legible = any(view.legible(origin.shot) for view in ours)
    if not ours:
        roles = sorted({placement.role for placement, _ in others})
        reason = f"shows the wrong thing: {', '.join(roles)}" if roles else "shows nothing related to the target"
    elif origin.shot in ILLEGIBLE_SHOTS:
        reason = "shows the target only as a thumbnail in a screenshot"
    elif not legible:
        reason = "shows the target too small or cut off"
    else:
        reason = "shows the target"
    return Seen(
        id=reference.id,
        shot=origin.shot,
        shown=[
            {"entity": placement.entity, "role": placement.role, "share": view.share, "pixels": [view.width, view.height]}
            for placement, view in views
            if view.share > 0
        ],
        target=bool(ours),
        legible=legible,
        partial=origin.shot not in ILLEGIBLE_SHOTS and any(_half_legible(view) for view in ours),
        only_target=bool(ours) and not others,
        lookalike=any(placement.event == target.event for placement, _ in others),
        crowded=sum(_area(view) for _, view in others) > sum(map(_area, ours)),
        reason=reason,
    )


def _half_legible(view: View) -> bool:
    return view.share >= MIN_SHARE / 2 and min(view.width, view.height) >= MIN_SIDE / 2


def _area(view: View) -> int:
    return view.width * view.height
