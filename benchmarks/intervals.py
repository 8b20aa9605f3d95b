"""Bootstrap intervals of means, and of paired differences of means.

Percentile bootstrap over episodes, seeded. It knows nothing of why episodes differ: tasks of one event are drawn as if they
were independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 2_000


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its 95 % interval.

    Attributes:
        mean: The mean.
        low: 2.5th percentile of the resampled means.
        high: 97.5th percentile.
        n: How many values it is of.
    """

    mean: float
    low: float
    high: float
    n: int

    def percent(self) -> str:
        """Returns for example ``"67.2 [62.9, 71.4]"``."""
        return f"{100 * self.mean:.1f} [{100 * self.low:.1f}, {100 * self.high:.1f}]"


def bootstrap(values: Sequence[float], seed: int = 0) -> Interval | None:
    """Returns the interval of a mean; None without values.

    Args:
        values: One number an episode.
        seed: Of the resampling.
    """
    if not values:
        return None
    data = np.asarray(values, dtype=np.float64)
    draws = np.random.default_rng(seed).integers(0, len(data), (RESAMPLES, len(data)))
    means = data[draws].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return Interval(float(data.mean()), float(low), float(high), len(data))


def paired(first: dict[str, float], second: dict[str, float], seed: int = 0) -> Interval | None:
    """Returns the interval of the mean of ``first - second`` over the keys that both have; None without common keys."""
    return bootstrap([first[key] - second[key] for key in sorted(first) if key in second], seed)
