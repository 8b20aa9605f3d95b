"""The K-Score of a set of pictures: weights on the means of its four axes, as Gen-Searcher has it.

A picture that needs no text is left out of the mean of the text axis, so that the score of a set is not the mean of the scores of
its pictures, each of which counts 0.5 for text then. An episode that failed before there was a picture is 0 on all axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.intervals import RESAMPLES, Interval
from benchmarks.metrics.kscore_rows import AXES, NO_TEXT, WEIGHTS
from wildenv.episode import Episode

COMPONENT = "kscore"

Axes = tuple[float | None, ...]
"""Grades in the order of `AXES`; None for the text of a picture that needs none."""

NOTHING: Axes = (0.0,) * len(AXES)


@dataclass(frozen=True, slots=True)
class KScore:
    """The score of a set.

    Attributes:
        axes: Mean of each axis by name; the text is None if no picture needs any, and counts 0.5 then.
        value: The weighted sum.
    """

    axes: dict[str, Interval | None]
    value: Interval


def axes_of(episode: Episode) -> Axes | None:
    """Returns the grades of an episode's picture; None if it is unscored or its grades are not in the record."""
    value = episode.rewards.get(COMPONENT)
    if value is None:
        return None
    for verdict in episode.verdicts:
        if verdict["judge"].startswith(f"{COMPONENT}-") and all(axis in verdict["parts"] for axis in AXES):
            return tuple(verdict["parts"][axis] for axis in AXES)
    return NOTHING if value == 0 else None


def kscore(tasks: Sequence[Sequence[Axes]], seed: int = 0) -> KScore | None:
    """Returns the K-Score over tasks with bootstrap intervals; None without tasks.

    Args:
        tasks: The pictures of each task; those of one task count as one, by their means.
        seed: Of the resampling.
    """
    if not tasks:
        return None
    data = np.array([[_mean([picture[axis] for picture in task]) for axis in range(len(AXES))] for task in tasks])
    draws = np.random.default_rng(seed).integers(0, len(data), (RESAMPLES, len(data)))
    found: dict[str, Interval | None] = {}
    mean, resampled = 0.0, np.zeros(RESAMPLES)
    for column, axis, weight in zip(data.T, AXES, WEIGHTS, strict=True):
        there = ~np.isnan(column)
        filled, count = np.where(there, column, 0.0), there[draws].sum(axis=1)
        means = np.where(count > 0, filled[draws].sum(axis=1) / np.maximum(count, 1), NO_TEXT)
        whole = float(filled.sum() / there.sum()) if there.any() else NO_TEXT
        # Resamples without any picture that needs text say nothing about text, but have a K-Score.
        found[axis] = _interval(whole, means[count > 0], int(there.sum())) if there.any() else None
        mean, resampled = mean + weight * whole, resampled + weight * means
    return KScore(found, _interval(mean, resampled, len(data)))


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else float("nan")


def _interval(mean: float, resampled: Any, n: int) -> Interval:
    low, high = np.percentile(resampled, [2.5, 97.5])
    return Interval(mean, float(low), float(high), n)
