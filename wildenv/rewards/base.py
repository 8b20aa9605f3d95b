"""What a reward returns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from wildenv.judges.base import Drawn, Submission, Verdict
from wildenv.task import Task


@dataclass(frozen=True, slots=True)
class RewardReport:
    """The reward of an episode.

    Attributes:
        value: Finite; 0 when it is not valid.
        valid: False when a judge could not decide: the number must not be trained on or averaged.
        components: By name; None is unscored.
        verdicts: What it rests on.
        drawn: The picture that was made to score it, if one was.
    """

    value: float
    valid: bool
    components: Mapping[str, float | None]
    verdicts: tuple[Verdict, ...] = ()
    drawn: Drawn | None = None

    def __post_init__(self) -> None:
        numbers = [self.value, *(value for value in self.components.values() if value is not None)]
        if not all(math.isfinite(number) for number in numbers):
            raise ValueError(f"a reward is made of finite numbers, not {numbers}; None in components is unscored")
        if not self.valid and self.value:
            raise ValueError(f"a reward that is not valid has the value 0, not {self.value}")


@runtime_checkable
class Reward(Protocol):
    """Scores an answer. One instance serves many episodes at once."""

    async def score(self, task: Task, submission: Submission | None) -> RewardReport:
        """Scores a submission; None means that the episode ended without an answer."""
        ...
