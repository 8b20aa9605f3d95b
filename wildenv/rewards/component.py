"""One named part of a reward."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

from wildenv.judges.base import Submission, Verdict
from wildenv.task import Task


@dataclass(frozen=True, slots=True)
class ComponentScore:
    """What a component says of an answer.

    Attributes:
        value: 0..1; None is unscored. What reports show.
        verdicts: What it rests on.
        earned: What counts in the reward, where that is not the value itself.
        parts: What the value is made of, under the component's `parts`; a name that is left out is unscored.
    """

    value: float | None
    verdicts: tuple[Verdict, ...] = ()
    earned: float | None = None
    parts: Mapping[str, float | None] = field(default_factory=lambda: MappingProxyType({}))


class Component(Protocol):
    """Scores one aspect of an answer. It is not asked about an episode without one.

    Attributes:
        name: Of the component, in reports and weights.
        needs_picture: Whether a generator must have drawn before; it is not asked about an answer that cannot be drawn.
        bonus: Whether it says how the agent worked and not what came of it. Its weight is earned in proportion to what the other
            components earn, so that nothing is to be had for working nicely towards nothing.
        parts: Names of the values its own is made of; reported beside it, never weighed.
    """

    name: str
    needs_picture: bool
    bonus: bool
    parts: tuple[str, ...]

    async def score(self, task: Task, submission: Submission) -> ComponentScore:
        """Scores an answer, which may be without references; `submission.drawn` is set if `needs_picture`."""
        ...
