"""Names for colours: the ordinary word nearest to an RGB value, tolerant of shade and exposure.

The table holds ten ordinary colour words at the shades the miniweb draws them in; pictures of another world need a table of
their own. Greys, near-blacks and
near-whites have no name here: they are the background of the things a policy looks for.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

COLOUR_WORDS: dict[str, tuple[int, int, int]] = {
    "red": (212, 34, 44),
    "orange": (246, 134, 24),
    "yellow": (250, 214, 36),
    "lime": (158, 214, 48),
    "green": (22, 132, 66),
    "teal": (24, 184, 190),
    "blue": (36, 84, 206),
    "purple": (122, 48, 168),
    "pink": (242, 112, 184),
    "brown": (122, 74, 38),
}
WORDS: tuple[str, ...] = tuple(COLOUR_WORDS)
_LIGHTS = (0.58, 0.68, 0.78, 0.88, 1.0, 1.1)
_FADES = (0.0, 0.15, 0.3)
_LIGHT_COST = 9.0
_FADE_COST = 16.0
_LEAST_CHROMA = 38
_LEAST_SATURATION = 0.26


def _lab(rgb: NDArray[np.float64]) -> NDArray[np.float64]:
    """sRGB (..., 3) in 0..255 to CIE Lab (D65)."""
    linear = np.where(rgb <= 10.31475, rgb / 255 / 12.92, ((rgb / 255 + 0.055) / 1.055) ** 2.4)
    matrix = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = linear @ matrix.T / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    lab: NDArray[np.float64] = np.stack([116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], -1)
    return lab


@lru_cache(maxsize=1)
def _table() -> NDArray[np.uint8]:
    """Colour number (1 + index into WORDS, 0 for none) of each cell of a 32 x 32 x 32 RGB grid."""
    axis = np.arange(32) * 8 + 4.0
    rgb = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), -1).reshape(-1, 3)
    lab = _lab(rgb)
    best = np.full(len(rgb), np.inf)
    names = np.zeros(len(rgb), dtype=np.uint8)
    for number, colour in enumerate(COLOUR_WORDS.values(), start=1):
        for light in _LIGHTS:
            for fade in _FADES:
                shown = np.clip(np.array(colour) * light, 0, 255) * (1 - fade) + 255 * min(1.0, light) * fade
                cost = abs(np.log(light)) * _LIGHT_COST + fade * _FADE_COST
                distance = np.linalg.norm((lab - _lab(shown)) * np.array([0.7, 1.0, 1.0]), axis=1) + cost
                better = distance < best
                best[better] = distance[better]
                names[better] = number
    high, low = rgb.max(1), rgb.min(1)
    names[(high - low < _LEAST_CHROMA) | (high - low < _LEAST_SATURATION * high)] = 0
    return names.reshape(32, 32, 32)


def name_pixels(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Names every pixel.

    Args:
        image: RGB picture (H, W, 3).

    Returns:
        Map (H, W): 0 where a pixel has no colour name, else 1 + its index in `WORDS`.
    """
    cell = image >> 3
    named: NDArray[np.uint8] = _table()[cell[..., 0], cell[..., 1], cell[..., 2]]
    return named
