"""What a reward returns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol, runtime_checkable

from wildenv.episode_form import check_rows
from wildenv.errors import DataError
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
        earned: What each component counts in `value`, where that is known by component; None is unscored.
    """

    value: float
    valid: bool
    components: Mapping[str, float | None]
    verdicts: tuple[Verdict, ...] = ()
    drawn: Drawn | None = None
    earned: Mapping[str, float | None] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        numbers = [self.value, *(value for value in self.components.values() if value is not None)]
        if not all(math.isfinite(number) for number in numbers):
            raise ValueError(f"a reward is made of finite numbers, not {numbers}; None in components is unscored")
        if not self.valid and self.value:
            raise ValueError(f"a reward that is not valid has the value 0, not {self.value}")


def checked_report(report: RewardReport) -> RewardReport:
    """Returns the report of somebody's reward, if an episode can hold it.

    Raises:
        DataError: If it is no report, a value is not a plain number from 0 to 1 where one is due, or anything in it is not JSON.
    """
    if not isinstance(report, RewardReport) or not all(isinstance(verdict, Verdict) for verdict in report.verdicts):
        raise DataError(f"a reward returns a RewardReport of Verdicts, not {type(report).__name__}")
    for verdict in report.verdicts:
        if verdict.value is not None and not (type(verdict.value) in (int, float) and 0 <= verdict.value <= 1):
            raise DataError(f"{verdict.judge}: the value of a verdict is a number from 0 to 1 or None, not {verdict.value!r}")
    if not all(type(value) in (int, float) for value in (report.value, *filter(None, report.components.values()))):
        raise DataError(f"a reward is made of plain numbers, not {report.value!r} and {dict(report.components)!r}")
    check_rows("verdicts", [verdict.to_dict() for verdict in report.verdicts])
    return report


@runtime_checkable
class Reward(Protocol):
    """Scores an answer. One instance serves many episodes at once."""

    async def score(self, task: Task, submission: Submission | None) -> RewardReport:
        """Scores a submission; None means that the episode ended without an answer."""
        ...
