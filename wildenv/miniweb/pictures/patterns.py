"""The patterns laid on a body and the outlines of the emblems.

Every pattern leaves more than half of its panel in the main colour, so the main colour stays the largest one.
"""

from __future__ import annotations

from functools import lru_cache
from math import cos, pi, sin

from PIL import ImageDraw

Box = tuple[float, float, float, float]
Colour = tuple[int, int, int]


def paint_pattern(draw: ImageDraw.ImageDraw, pattern: str, box: Box, trim: Colour) -> None:
    """Paints `pattern` in the trim colour inside `box` (pixels); "plain" paints nothing.

    Raises:
        ValueError: `pattern` is not one of `look.PATTERNS`.
    """
    x0, y0, x1, y1 = box
    w, h = x1 - x0, y1 - y0
    match pattern:
        case "plain":
            return
        case "stripes":
            count = max(3, min(7, round(3 * w / h)))
            for i in range(count):
                x = x0 + w * (i + 0.5) / count
                draw.rectangle((x - 0.14 * w / count, y0, x + 0.14 * w / count, y1), fill=trim)
        case "hoops":
            count = max(3, min(6, round(3 * h / w)))
            for i in range(count):
                y = y0 + h * (i + 0.5) / count
                draw.rectangle((x0, y - 0.14 * h / count, x1, y + 0.14 * h / count), fill=trim)
        case "checks":
            columns, rows = _cells(w, h)
            for i in range(columns):
                for j in range(rows):
                    if (i + j) % 2:
                        x, y = x0 + w * (i + 0.1) / columns, y0 + h * (j + 0.1) / rows
                        draw.rectangle((x, y, x + 0.8 * w / columns, y + 0.8 * h / rows), fill=trim)
        case "dots":
            columns, rows = _cells(w, h)
            radius = 0.3 * min(w / columns, h / rows)
            for i in range(columns):
                for j in range(rows):
                    x, y = x0 + w * (i + 0.5) / columns, y0 + h * (j + 0.5) / rows
                    draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=trim)
        case "halves":
            draw.rectangle((x0 + 0.66 * w, y0, x1, y1), fill=trim)
        case "sash":
            draw.polygon(
                [
                    (x0, y0),
                    (x0 + 0.17 * w, y0),
                    (x1, y1 - 0.17 * h),
                    (x1, y1),
                    (x1 - 0.17 * w, y1),
                    (x0, y0 + 0.17 * h),
                ],
                fill=trim,
            )
        case "chevron":
            mid = x0 + w / 2
            for top in (0.05, 0.5):
                y = y0 + top * h
                draw.polygon(
                    [
                        (x0, y),
                        (mid, y + 0.34 * h),
                        (x1, y),
                        (x1, y + 0.15 * h),
                        (mid, y + 0.49 * h),
                        (x0, y + 0.15 * h),
                    ],
                    fill=trim,
                )
        case _:
            raise ValueError(f"unknown pattern {pattern!r}")


def _cells(width: float, height: float) -> tuple[int, int]:
    if width >= height:
        return max(3, min(8, round(4 * width / height))), 4 if width < 1.6 * height else 3
    return 4 if height < 1.6 * width else 3, max(3, min(8, round(4 * height / width)))


@lru_cache(maxsize=16)
def emblem_points(emblem: str) -> tuple[tuple[float, float], ...]:
    """Outline of an emblem in the unit circle; the ring is drawn by the pen itself.

    Raises:
        ValueError: `emblem` has no outline.
    """
    match emblem:
        case "star":
            return tuple(
                ((1.0 if i % 2 == 0 else 0.45) * sin(pi * i / 5), -(1.0 if i % 2 == 0 else 0.45) * cos(pi * i / 5))
                for i in range(10)
            )
        case "triangle":
            return ((0.0, -0.95), (0.88, 0.62), (-0.88, 0.62))
        case "diamond":
            return ((0.0, -1.0), (0.72, 0.0), (0.0, 1.0), (-0.72, 0.0))
        case "cross":
            a, b = 0.32, 0.9
            return (
                (-a, -b),
                (a, -b),
                (a, -a),
                (b, -a),
                (b, a),
                (a, a),
                (a, b),
                (-a, b),
                (-a, a),
                (-b, a),
                (-b, -a),
                (-a, -a),
            )
        case "crescent":
            outer = tuple((0.95 * cos(pi * t / 20), 0.95 * sin(pi * t / 20)) for t in range(5, 36))
            inner = tuple((0.34 + 0.66 * cos(pi * t / 20), 0.66 * sin(pi * t / 20)) for t in range(34, 5, -1))
            return outer + inner
        case "bolt":
            return ((0.25, -1.0), (-0.7, 0.18), (-0.08, 0.18), (-0.3, 1.0), (0.7, -0.24), (0.08, -0.24), (0.62, -1.0))
        case "hexagon":
            return tuple((0.9 * sin(pi * i / 3), -0.9 * cos(pi * i / 3)) for i in range(6))
        case _:
            raise ValueError(f"no outline for emblem {emblem!r}")
