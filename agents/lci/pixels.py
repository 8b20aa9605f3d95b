"""Reads a picture without a model: where coloured things stand, and their main, trim and emblem colours and pattern.

It sees pixels only. It assumes that things are more colourful than their surroundings, and that an emblem sits on a light
badge. It does not name the kind of a thing, and it says None rather than guess where a detail is too small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agents.lci.blobs import Mask, components, grow
from agents.lci.colours import WORDS, name_pixels
from agents.lci.weave import measure, pattern_word

Box = tuple[int, int, int, int]

_LEAST_SHARE = 0.004
_LEAST_SIDE = 5
_SEAM = 0.07
_BRIGHT = 140
_TAIL = 4
_MARGIN = 0.22
_LEGIBLE_PIXELS = 120


@dataclass(frozen=True, slots=True)
class Sighting:
    """One coloured thing in a picture.

    Attributes:
        box: (x0, y0, x1, y1) in 0..1000 of the picture's width and height.
        main: Word for the largest colour, or None.
        trim: Word for the second colour, or None.
        accent: Word for the colour of the emblem on its badge, or None where it cannot be read.
        pattern: Word for how the trim lies on the main colour, or None where it cannot be read.
        confidence: 0..1, how well the readings are supported by pixels.
        legible: Whether the thing is large enough for its details: a badge was found, and enough coloured pixels.
    """

    box: Box
    main: str | None
    trim: str | None
    accent: str | None
    pattern: str | None
    confidence: float
    legible: bool


def read(image: NDArray[np.uint8]) -> list[Sighting]:
    """Finds and describes the coloured things in a picture.

    Args:
        image: RGB picture, uint8 (H, W, 3).

    Returns:
        Sightings by rows of things: top to bottom, then left to right; empty when nothing stands out.

    Raises:
        ValueError: The array is not uint8 (H, W, 3).
    """
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
        raise ValueError(f"image must be uint8 of shape (H, W, 3), got {image.dtype} {image.shape}")
    names = name_pixels(image)
    sightings = [_describe(image, names, box, own) for box, own in _things(image, names)]
    return _reading_order(sightings)


def _things(image: NDArray[np.uint8], names: NDArray[np.uint8]) -> list[tuple[Box, Mask]]:
    """Pixel boxes of the things, each with the map (box-sized) of its coloured pixels."""
    coloured = _solid(names) & (names > 0)
    stands, plain = _against_backdrop(image, coloured)
    shape = coloured | stands if plain else coloured
    labels, blobs = components(grow(shape, 2 if max(image.shape[:2]) >= 200 else 1))
    least = _LEAST_SHARE * names.size
    parts: list[tuple[Box, int]] = []
    for blob in blobs:
        x0, y0, x1, y1 = blob.box
        own = (labels[y0:y1, x0:x1] == blob.number) & shape[y0:y1, x0:x1]
        area = int((own & coloured[y0:y1, x0:x1]).sum())
        if area >= 0.1 * least:
            rows, columns = np.nonzero(own.any(1))[0], np.nonzero(own.any(0))[0]
            box = (x0 + int(columns[0]), y0 + int(rows[0]), x0 + int(columns[-1]) + 1, y0 + int(rows[-1]) + 1)
            parts.append((box, area))
    things = []
    for box, area in _join(parts):
        if area >= least and min(box[2] - box[0], box[3] - box[1]) >= _LEAST_SIDE:
            x0, y0, x1, y1 = box if plain else _widen(box, coloured, stands)
            things.append(((x0, y0, x1, y1), coloured[y0:y1, x0:x1]))
    return things


def _against_backdrop(image: NDArray[np.uint8], coloured: Mask) -> tuple[Mask, bool]:
    """Pixels much darker or lighter than the backdrop (tyres, soles, frames), and whether the backdrop is plain.

    A plain backdrop (each row alike at both edges) is known row by row, and shadows are left out; of any other only the
    range of its brightness is known.
    """
    rows = image.astype(np.float32)
    value = rows.mean(2)
    left, right = rows[:, :2].mean(1), rows[:, -2:].mean(1)
    backdrop = ((left + right) / 2).mean(1, keepdims=True)
    if float((np.abs(left - right).max(1) < 10).mean()) >= 0.95 and float(np.median(backdrop)) >= _BRIGHT:
        return (value < 0.58 * backdrop) | (value > backdrop * 1.08 + 4), True
    around = value[~grow(coloured, 2)]
    if not len(around):
        return np.zeros(value.shape, dtype=bool), False
    low, high = np.percentile(around, (_TAIL, 100 - _TAIL))
    return (value < low - 6) | (value > high + 12), False


def _widen(box: Box, coloured: Mask, stands: Mask) -> Box:
    """Grows a box to the uncoloured parts joined to it; a side where they run on too far is backdrop and stays put."""
    height, width = coloured.shape
    x0, y0, x1, y1 = box
    dx, dy = round(_MARGIN * (x1 - x0)) + 1, round(_MARGIN * (y1 - y0)) + 1
    left, top, right, bottom = max(0, x0 - dx), max(0, y0 - dy), min(width, x1 + dx), min(height, y1 + dy)
    inside = np.zeros((bottom - top, right - left), dtype=bool)
    inside[y0 - top : y1 - top, x0 - left : x1 - left] = coloured[y0:y1, x0:x1]
    labels, _ = components(inside | stands[top:bottom, left:right])
    joined = np.isin(labels, np.unique(labels[inside]))
    rows, columns = np.nonzero(joined.any(1))[0], np.nonzero(joined.any(0))[0]
    grown = (left + int(columns[0]), top + int(rows[0]), left + int(columns[-1]) + 1, top + int(rows[-1]) + 1)
    edges = (left, top, right, bottom)
    new = [old if now == edge else now for old, now, edge in zip(box, grown, edges, strict=True)]
    return (min(x0, new[0]), min(y0, new[1]), max(x1, new[2]), max(y1, new[3]))


def _join(parts: list[tuple[Box, int]]) -> list[tuple[Box, int]]:
    """Joins parts that a narrow dark or white seam separates: the gap is small for the size of the whole."""
    parts = sorted(parts, key=lambda part: -part[1])
    merged = True
    while merged:
        merged = False
        for i in range(len(parts)):
            for j in range(i + 1, len(parts)):
                a, b = parts[i][0], parts[j][0]
                whole = (min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3]))
                across, down = max(a[0], b[0]) - min(a[2], b[2]), max(a[1], b[1]) - min(a[3], b[3])
                reach = _SEAM if parts[j][1] > 0.3 * parts[i][1] else 1.6 * _SEAM
                if across <= reach * (whole[2] - whole[0]) and down <= reach * (whole[3] - whole[1]):
                    parts[i] = (whole, parts[i][1] + parts[j][1])
                    del parts[j]
                    merged = True
                    break
            if merged:
                break
    return parts


def _solid(names: NDArray[np.uint8]) -> Mask:
    """Pixels that share their name with at least two of their four neighbours."""
    padded = np.pad(names, 1, constant_values=255)
    agree = sum(
        (padded[1 + dy : padded.shape[0] - 1 + dy, 1 + dx : padded.shape[1] - 1 + dx] == names).astype(np.int8)
        for dy, dx in ((0, 1), (0, -1), (1, 0), (-1, 0))
    )
    solid: Mask = np.asarray(agree) >= 2
    return solid


def _describe(image: NDArray[np.uint8], names: NDArray[np.uint8], box: Box, own: Mask) -> Sighting:
    x0, y0, x1, y1 = box
    part = names[y0:y1, x0:x1]
    badge = find_badge(image[y0:y1, x0:x1], part)
    outside = own.copy()
    accent: int | None = None
    around = np.zeros(len(WORDS) + 1)
    if badge is not None:
        bx0, by0, bx1, by1 = badge
        accent = _emblem_colour(part, badge)
        around = _around(part, badge)
        outside[by0:by1, bx0:bx1] = False
    solid = _solid(part)
    counts = np.bincount(part[outside & solid], minlength=len(WORDS) + 1)
    counts[0] = 0
    order = np.argsort(-counts, kind="stable")
    main, trim = int(order[0]), int(order[1])
    total = int(counts.sum())
    if counts[trim] > 0.6 * counts[main] and around[trim] > 1.5 * around[main]:
        main, trim = trim, main  # near a tie in area, the ring around the badge tells which is the body
    height, width = names.shape
    if counts[trim] < 0.02 * total:
        trim = 0
    if accent in (main, trim):
        accent = None
    legible = badge is not None and total >= _LEGIBLE_PIXELS
    pattern, sure = None, 0.5
    measures = measures_of(part, main, trim, badge) if badge is not None and main and trim else None
    if measures is not None:
        pattern, sure = pattern_word(measures)
    return Sighting(
        box=(1000 * x0 // width, 1000 * y0 // height, -(-1000 * x1 // width), -(-1000 * y1 // height)),
        main=WORDS[main - 1] if main else None,
        trim=WORDS[trim - 1] if trim else None,
        accent=WORDS[accent - 1] if accent else None,
        pattern=pattern,
        confidence=round(min(1.0, total / 600) * float(counts[main] + counts[trim]) / max(1, total) * (0.5 + sure / 2), 3),
        legible=legible,
    )


def find_badge(image: NDArray[np.uint8], names: NDArray[np.uint8]) -> Box | None:
    """Box of the roundest light patch well inside a thing, or None."""
    high, low = image.max(2).astype(np.int16), image.min(2).astype(np.int16)
    light = (low > 150) & (high - low < 60)
    height, width = light.shape
    best, best_score = None, 0.0
    for blob in components(light)[1]:
        x0, y0, x1, y1 = blob.box
        w, h = x1 - x0, y1 - y0
        if x0 == 0 or y0 == 0 or x1 == width or y1 == height or min(w, h) < 5 or not 0.62 <= w / h <= 1.6:
            continue
        if max(w, h) > 0.62 * max(width, height):
            continue
        inner = names[y0:y1, x0:x1]
        share = float((inner > 0).mean())
        score = min(w, h) * (0.2 + min(share, 0.6))
        if share > 0.08 and score > best_score:
            best, best_score = blob.box, score
    return best


def _emblem_colour(names: NDArray[np.uint8], badge: Box) -> int | None:
    x0, y0, x1, y1 = badge
    inner = names[y0:y1, x0:x1]
    ys, xs = np.ogrid[0 : y1 - y0, 0 : x1 - x0]
    radius = ((xs + 0.5) / (x1 - x0) - 0.5) ** 2 + ((ys + 0.5) / (y1 - y0) - 0.5) ** 2
    counts = np.bincount(inner[radius < 0.19], minlength=len(WORDS) + 1)
    counts[0] = 0
    top = int(np.argmax(counts))
    if counts[top] < 6 or counts[top] < 0.55 * counts.sum():
        return None
    return top


def measures_of(names: NDArray[np.uint8], main: int, trim: int, badge: Box) -> NDArray[np.float64] | None:
    """The pattern measures of `weave` around a badge, for colours given by their numbers in the colour map."""
    x0, y0, x1, y1 = badge
    centre, radius = ((x0 + x1) / 2, (y0 + y1) / 2), (x1 - x0 + y1 - y0) / 4
    return measure(names == main, names == trim, centre, radius)


def _around(names: NDArray[np.uint8], badge: Box) -> NDArray[np.float64]:
    """Counts of each colour in a thin ring around the badge."""
    x0, y0, x1, y1 = badge
    cx, cy, rx, ry = (x0 + x1) / 2, (y0 + y1) / 2, (x1 - x0) / 2, (y1 - y0) / 2
    ys, xs = np.ogrid[0 : names.shape[0], 0 : names.shape[1]]
    far = np.hypot((xs + 0.5 - cx) / rx, (ys + 0.5 - cy) / ry)
    counts = np.bincount(names[(far > 1.02) & (far < 1.27)], minlength=len(WORDS) + 1).astype(np.float64)
    counts[0] = 0
    return counts


def _reading_order(sightings: list[Sighting]) -> list[Sighting]:
    """Rows of things from top to bottom, each from left to right; things whose heights overlap by half share a row."""
    rows: list[list[Sighting]] = []
    for item in sorted(sightings, key=lambda s: (s.box[1] + s.box[3], s.box[0])):
        top, bottom = item.box[1], item.box[3]
        for row in rows:
            a, b = row[0].box[1], row[0].box[3]
            if min(bottom, b) - max(top, a) >= 0.5 * min(bottom - top, b - a):
                row.append(item)
                break
        else:
            rows.append([item])
    return [item for row in rows for item in sorted(row, key=lambda s: s.box[0])]
