"""How a trim colour lies on a main colour: stripes, hoops, checks, dots, halves, sash, chevron, or plain.

Measures a two-coloured map around the emblem's badge, where the pattern is: bands along a direction explain most of the
variance when the map is averaged along it, and a sash or a half weighs on two quadrants. A small linear table turns the
measures into a word; `tests/agents/fit_weave.py` fits it to drawn pictures. It knows nothing of cloth that folds, and
returns None when the words are close or too few pixels are left.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agents.lci.blobs import Mask

Floats = NDArray[np.float64]

PATTERN_WORDS: tuple[str, ...] = ("plain", "stripes", "hoops", "checks", "dots", "halves", "sash", "chevron")
TABLE = Path(__file__).with_name("weave.json")
_SLOPES = (0.25, 0.45, 0.7, 1.0, 1.4)
_BAND = 1.5
_LEAST_PIXELS = 40
_LEAST_SURE = 0.5
# (half width, half height) of the windows around the badge, in badge radii.
_WINDOWS = ((2.6, 2.2), (4.0, 3.0))


def measure(main: Mask, trim: Mask, centre: tuple[float, float], radius: float) -> Floats | None:
    """Measures a pattern.

    Args:
        main: Pixels of the main colour (H, W).
        trim: Pixels of the trim colour (H, W).
        centre: Column and row of the badge's centre.
        radius: Radius of the badge in pixels.

    Returns:
        A vector of measures, the same length for every picture, or None when too few pixels are left around the badge.
    """
    height, width = main.shape
    ys, xs = np.ogrid[0:height, 0:width]
    x, y = xs + 0.5 - centre[0], ys + 0.5 - centre[1]
    clear = (main | trim) & (np.hypot(x, y) > 1.3 * radius)
    values: list[float] = []
    for half_width, half_height in _WINDOWS:
        window = clear & (np.abs(x) < half_width * radius) & (np.abs(y) < half_height * radius)
        rows, columns = (index.astype(np.float64) for index in np.nonzero(window))
        if len(rows) < _LEAST_PIXELS:
            return None
        values += _measure_window(columns + 0.5 - centre[0], rows + 0.5 - centre[1], trim[window].astype(np.float64))
        two = window.astype(np.int8) + (window & trim)
        values += [_changes(two[:, 1:], two[:, :-1]) * radius, _changes(two[1:], two[:-1]) * radius]
    return np.array(values)


def _measure_window(x: Floats, y: Floats, trim: Floats) -> list[float]:
    upright, columns = _bands(x, trim)
    level, rows = _bands(y, trim)
    mean = float(trim.mean())
    quarter = []
    for right in (False, True):
        for low in (False, True):
            part = trim[((x > 0) == right) & ((y > 0) == low)]
            quarter.append(float(part.mean()) if len(part) else mean)
    return [
        mean,
        upright,
        level,
        max(_bands(y - slope * x, trim)[0] for slope in _SLOPES),
        max(_bands(y + slope * x, trim)[0] for slope in _SLOPES),
        max(_bands(y + slope * np.abs(x), trim)[0] for slope in _SLOPES),
        max(_bands(y - slope * np.abs(x), trim)[0] for slope in _SLOPES),
        float(np.count_nonzero(np.diff(columns > 0.5))),
        float(np.count_nonzero(np.diff(rows > 0.5))),
        quarter[2] + quarter[3] - quarter[0] - quarter[1],
        quarter[1] + quarter[3] - quarter[0] - quarter[2],
        quarter[0] + quarter[3] - quarter[1] - quarter[2],
    ]


def _bands(position: Floats, trim: Floats) -> tuple[float, Floats]:
    """Share of the variance of `trim` explained by bands across `position`, and the mean of each filled band."""
    bins = ((position - position.min()) / _BAND).astype(np.int64)
    count = np.bincount(bins)
    filled = count > 0
    means = np.bincount(bins, weights=trim)[filled] / count[filled]
    variance = float(trim.var())
    if variance < 1e-6:
        return 0.0, means
    return float((count[filled] * (means - trim.mean()) ** 2).sum()) / len(trim) / variance, means


def _changes(ahead: NDArray[np.int8], behind: NDArray[np.int8]) -> float:
    """Share of neighbouring pairs inside the window whose colours differ."""
    inside = (ahead > 0) & (behind > 0)
    return float((inside & (ahead != behind)).sum()) / max(1, int(inside.sum()))


@lru_cache(maxsize=1)
def _table() -> tuple[Floats, Floats, Floats, Floats]:
    data = json.loads(TABLE.read_text(encoding="utf-8"))
    return tuple(np.array(data[key]) for key in ("centre", "scale", "weights", "bias"))  # type: ignore[return-value]


def pattern_word(measures: Floats) -> tuple[str | None, float]:
    """Names a pattern from its measures.

    Returns:
        A word of `PATTERN_WORDS`, or None when no word reaches even odds; and its probability.
    """
    centre, scale, weights, bias = _table()
    score = np.clip((measures - centre) / scale, -4, 4) @ weights + bias
    odds = np.exp(score - score.max())
    odds /= odds.sum()
    best = int(np.argmax(odds))
    sure = float(odds[best])
    return (PATTERN_WORDS[best] if sure >= _LEAST_SURE else None), sure
