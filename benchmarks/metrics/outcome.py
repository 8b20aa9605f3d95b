"""What a benchmark's metric gives: every figure as the official code computes it, and as we do, side by side."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from wildenv.errors import DataError

HEADINGS = ("figure", "official", "strict", "tasks", "missing", "unscored")


class StoppedError(DataError):
    """The official program ends with an error on these rows.

    Args:
        kind: The Python error it ends with.
        message: What in the rows makes it end.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"the official program stops here with {kind}: {message}")
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Figure:
    """One number.

    Attributes:
        name: What it is of.
        official: As the official code has it; None if that prints none.
        strict: Missing counted as zero, unscored left out; None if nothing was scored.
        tasks: Tasks it is of, missing and unscored ones included.
        missing: Tasks without a picture or a row.
        unscored: Tasks whose judge failed or said something that cannot be used.
    """

    name: str
    official: float | None
    strict: float | None
    tasks: int
    missing: int
    unscored: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """The figures of a benchmark.

    Attributes:
        benchmark: Its name, with the edition where there are several.
        figures: The figures, the headline first; shares in 0..1.
        notes: What a reader must know before comparing.
    """

    benchmark: str
    figures: tuple[Figure, ...]
    notes: tuple[str, ...] = ()

    def rows(self) -> list[tuple[str, str, str, int, int, int]]:
        """Returns the figures as lines under `HEADINGS`, numbers in percent."""
        return [
            (one.name, _percent(one.official), _percent(one.strict), one.tasks, one.missing, one.unscored) for one in self.figures
        ]


@dataclass(frozen=True, slots=True)
class Tally:
    """Strict values of some tasks, and the tasks without one.

    Attributes:
        values: Of the scored and the missing tasks.
        missing: How many of them are missing.
        unscored: Tasks that are in no mean.
    """

    values: tuple[float, ...]
    missing: int
    unscored: int

    @classmethod
    def of(cls, values: Iterable[float | None], missing: int) -> Tally:
        """Counts values, None for unscored; `missing` says how many of the zeros are missing tasks."""
        listed = list(values)
        scored = tuple(value for value in listed if value is not None)
        return cls(scored, missing, len(listed) - len(scored))

    @property
    def mean(self) -> float | None:
        """The mean; None without values."""
        return sum(self.values) / len(self.values) if self.values else None

    def figure(self, name: str, official: float | None) -> Figure:
        """Returns the mean beside an official number."""
        return Figure(name, official, self.mean, len(self.values) + self.unscored, self.missing, self.unscored)


def check_unique(ids: Sequence[Hashable], what: str) -> None:
    """Raises `DataError` if an id is missing or there twice: rows could then be of any task."""
    seen: set[Hashable] = set()
    for number, one in enumerate(ids, 1):
        if one is None or one == "":
            raise DataError(f"{what} {number} has no id; strict figures need one for each")
        if one in seen:
            raise DataError(f"{what} {number}: id {one!r} is there twice; strict figures take each task once")
        seen.add(one)


def weighted(means: Sequence[float | None], weights: Sequence[float]) -> float | None:
    """Returns the weighted sum; None if a part of it is."""
    if any(mean is None for mean in means):
        return None
    return sum(weight * mean for weight, mean in zip(weights, means, strict=True) if mean is not None)


def _percent(value: float | None) -> str:
    return "—" if value is None else f"{100 * value:.2f}"
