"""Agreement between two who sorted the same items into classes: percent, Cohen's κ, by class, with intervals.

Intervals are bootstrapped over tasks, because the items of one task are not independent. Nothing is known of how far the people
agree among themselves, which bounds what a judge can reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.intervals import RESAMPLES, Interval

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far judge and people agree on one judgment.

    Attributes:
        classes: Labels.
        confusion: Items by the people's label (row) and the judge's (column), in the order of `classes`.
        percent: Share of items with the same label.
        kappa: Cohen's κ; None where both always say the same one thing, so that chance explains everything.
        by_class: For each label the share of agreement among the items that either gave it, 2·both / (people + judge); None if
            nobody gave it.
        tasks: How many tasks the items are of.
    """

    classes: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]
    percent: Interval
    kappa: Interval | None
    by_class: dict[str, Interval | None]
    tasks: int


def agreement(pairs: Sequence[tuple[str, str, str]], classes: tuple[str, ...], seed: int = 0) -> Agreement | None:
    """Compares labels; None without any.

    Args:
        pairs: Task id, the people's label and the judge's, one an item.
        classes: All labels there are.
        seed: Of the resampling.
    """
    if not pairs:
        return None
    tasks = sorted({task for task, _, _ in pairs})
    counts: Counts = np.zeros((len(tasks), len(classes), len(classes)), np.int64)
    for task, people, judge in pairs:
        counts[tasks.index(task), classes.index(people), classes.index(judge)] += 1
    whole = counts.sum(axis=0)
    rng = np.random.default_rng(seed)
    resampled = np.stack([counts[rng.integers(0, len(tasks), len(tasks))].sum(axis=0) for _ in range(RESAMPLES)])
    items = len(pairs)
    percent = _interval(_percent(whole[None]), _percent(resampled), items)
    assert percent is not None
    shares, drawn = _by_class(whole[None]), _by_class(resampled)
    return Agreement(
        classes=classes,
        confusion=tuple(tuple(int(count) for count in row) for row in whole),
        percent=percent,
        kappa=_interval(_kappa(whole[None]), _kappa(resampled), items),
        by_class={
            name: _interval(shares[:, number], drawn[:, number], int(whole[number].sum() + whole[:, number].sum()))
            for number, name in enumerate(classes)
        },
        tasks=len(tasks),
    )


def _percent(counts: Counts) -> NDArray[Any]:
    diagonal: NDArray[Any] = np.trace(counts, axis1=1, axis2=2) / counts.sum(axis=(1, 2))
    return diagonal


def _kappa(counts: Counts) -> NDArray[Any]:
    totals = counts.sum(axis=(1, 2))
    chance = (counts.sum(axis=1) * counts.sum(axis=2)).sum(axis=1) / totals**2
    return _ratio(_percent(counts) - chance, 1 - chance)


def _by_class(counts: Counts) -> NDArray[Any]:
    return _ratio(2.0 * np.diagonal(counts, axis1=1, axis2=2), (counts.sum(axis=1) + counts.sum(axis=2)).astype(float))


def _ratio(above: NDArray[Any], below: NDArray[Any]) -> NDArray[Any]:
    """Returns the quotient, not a number where it is not defined."""
    return np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 1e-12)


def _interval(value: NDArray[Any], resampled: NDArray[Any], count: int) -> Interval | None:
    """Returns the value with the percentiles of the resamples in which it is defined."""
    if np.isnan(value[0]):
        return None
    low, high = np.percentile(resampled[~np.isnan(resampled)], [2.5, 97.5])
    return Interval(float(value[0]), float(low), float(high), count)
