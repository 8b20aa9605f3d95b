"""Drawings of goods and prints: handbag, phone, bottle, trophy, poster, album. Front views."""

from __future__ import annotations

from wildenv.miniweb.pictures.pen import GLASS, INK, SILVER, STEEL, WHITE, Pen, oval, shade, smooth


def handbag(pen: Pen) -> None:
    """A bag; tote 104 x 100, clutch 150, bucket 84."""
    shape = pen.look.silhouette
    if shape == "tote":
        pen.line(tuple(oval(52, 36, 26, 32, 1, 2)), shade(pen.main, 0.7), 6)
        pen.body(((12, 34), (92, 34), (102, 98), (2, 98)), panel=(4, 34, 100, 98))
        pen.rect(9, 32, 95, 42, pen.trim, 2)
        pen.emblem(52, 66, 17)
        pen.wordmark(52, 91, 9, 48)
    elif shape == "clutch":
        pen.line(((20, 26), (40, 8), (110, 8), (130, 26)), shade(pen.trim, 0.8), 4)
        pen.body(((6, 24), (144, 24), (148, 98), (2, 98)), panel=(2, 24, 148, 98))
        pen.poly(((6, 22), (144, 22), (104, 54), (46, 54)), shade(pen.main, 0.84), shade(pen.main, 0.5))
        pen.line(((6, 24), (46, 53), (104, 53), (144, 24)), pen.trim, 7)
        pen.emblem(75, 56, 18)
        pen.wordmark(75, 88, 10, 70)
    else:
        pen.line(tuple(oval(42, 42, 30, 40, 1, 2)), pen.trim, 5)
        pen.body(
            smooth(((8, 42), (42, 36), (76, 42), (82, 78), (68, 97), (42, 99), (16, 97), (2, 78))),
            panel=(4, 38, 80, 98),
        )
        pen.oval(42, 42, 35, 8, shade(pen.main, 0.45))
        pen.line(tuple(oval(42, 43, 35, 8, 0, 1)), pen.trim, 5)
        for x in (28, 56):
            pen.line(((x, 48), (x - 3, 60)), SILVER, 3)
        pen.emblem(42, 70, 17)
        pen.wordmark(42, 93, 8, 40)


def phone(pen: Pen) -> None:
    """The back of a telephone; bar 52 x 100, fold 92 x 100."""
    if pen.look.silhouette == "bar":
        x1 = 51
        pen.rect(0.5, 1, 52, 99, INK, 9)
        pen.rect(1.5, 2, 51, 98, pen.trim, 8)
        pen.body(_slab(4.5, 5, 48, 95, 6), panel=(4, 7, 50, 92), dark=45)
    else:
        x1 = 91
        pen.rect(0.5, 3, 45, 99, shade(pen.trim, 0.9), 7)
        pen.rect(47, 1, 92, 97, shade(pen.trim, 0.9), 7)
        pen.body(_slab(4, 7, 43, 95, 5), panel=(4, 4, 88, 96), dark=45)
        pen.body(_slab(49, 5, 88, 93, 5), panel=(4, 4, 88, 96), dark=30)
        pen.rect(43, 10, 49, 90, STEEL)
    pen.rect(6, 8, 25, 33, SILVER, 6)
    for x, y in ((12, 15), (19, 21), (12, 28)):
        pen.oval(x, y, 4, 4, GLASS, STEEL)
    pen.oval(20, 12, 1.6, 1.6, WHITE)
    pen.rect(x1 - 0.5, 30, x1 + 1, 42, INK)
    pen.emblem(26 if x1 < 60 else 68, 56 if x1 < 60 else 50, 13 if x1 < 60 else 15)
    pen.wordmark(26 if x1 < 60 else 68, 84, 8, 36)


def _slab(x0: float, y0: float, x1: float, y1: float, r: float) -> tuple[tuple[float, float], ...]:
    corners = ((x1 - r, y0 + r, 1.5), (x1 - r, y1 - r, 0.0), (x0 + r, y1 - r, 0.5), (x0 + r, y0 + r, 1.0))
    return tuple(p for cx, cy, start in corners for p in oval(cx, cy, r, r, start, start + 0.5)[::5])


def bottle(pen: Pen) -> None:
    """A bottle with a cap and a label; slender 40 x 100, flask 62, jug 74."""
    shape = pen.look.silhouette
    if shape == "slender":
        pen.body(
            smooth(
                (
                    (14, 12),
                    (26, 12),
                    (27, 30),
                    (37, 44),
                    (38, 70),
                    (36, 98),
                    (20, 99),
                    (4, 98),
                    (2, 70),
                    (3, 44),
                    (13, 30),
                )
            ),
            panel=(2, 32, 38, 98),
            across=True,
        )
        pen.rect(12, 1, 28, 16, pen.trim, 2)
        pen.rect(13, 22, 27, 27, pen.trim)
        pen.emblem(20, 64, 14)
        pen.wordmark(20, 88, 7, 30)
        pen.glow(((6, 46), (9, 42), (9, 92), (6, 92)), WHITE, 110)
    elif shape == "flask":
        pen.body(
            smooth(
                (
                    (24, 14),
                    (38, 14),
                    (40, 30),
                    (56, 46),
                    (60, 74),
                    (48, 97),
                    (31, 99),
                    (14, 97),
                    (2, 74),
                    (6, 46),
                    (22, 30),
                )
            ),
            panel=(4, 30, 58, 98),
            across=True,
        )
        pen.rect(20, 1, 42, 16, pen.trim, 3)
        pen.rect(20, 22, 42, 28, pen.trim, 1)
        pen.emblem(31, 65, 16)
        pen.wordmark(31, 90, 7, 34)
        pen.glow(((9, 52), (13, 46), (13, 82), (9, 78)), WHITE, 110)
    else:
        pen.line(((52, 30), (70, 32), (70, 62), (54, 66)), shade(pen.trim, 0.9), 7)
        pen.body(
            ((18, 14), (42, 14), (44, 24), (57, 34), (58, 98), (2, 98), (3, 34), (16, 24)),
            panel=(2, 30, 58, 98),
            across=True,
        )
        pen.rect(15, 1, 45, 14, pen.trim, 3)
        pen.emblem(30, 60, 16)
        pen.wordmark(30, 86, 8, 40)
        pen.glow(((6, 40), (11, 38), (11, 92), (6, 92)), WHITE, 110)


def trophy(pen: Pen) -> None:
    """A prize on a plinth; 88 x 100 (shield 76, column 60)."""
    shape = pen.look.silhouette
    cx = {"cup": 44, "shield": 38, "column": 30}[shape]
    if shape == "cup":
        for side in (-1, 1):
            pen.line(tuple(oval(cx + side * 28, 24, 12, 16)), shade(pen.main, 0.8), 5)
        pen.rect(cx - 5, 56, cx + 5, 80, shade(pen.main, 0.8), 2)
        pen.oval(cx, 66, 8, 4, pen.trim)
        pen.body(
            ((cx - 30, 6), (cx + 30, 6), (cx + 27, 36), (cx + 14, 58), (cx - 14, 58), (cx - 27, 36)),
            panel=(cx - 30, 8, cx + 30, 60),
            across=True,
        )
        pen.rect(cx - 32, 3, cx + 32, 11, pen.trim, 3)
        pen.emblem(cx, 32, 16)
    elif shape == "shield":
        pen.poly(((cx - 36, 4), (cx, -1), (cx + 36, 4), (cx + 34, 46), (cx, 82), (cx - 34, 46)), SILVER, INK)
        pen.body(
            ((cx - 32, 8), (cx, 3), (cx + 32, 8), (cx + 30, 44), (cx, 77), (cx - 30, 44)),
            panel=(cx - 32, 8, cx + 32, 74),
        )
        pen.emblem(cx, 34, 16)
    else:
        pen.body(((cx - 15, 36), (cx + 15, 36), (cx + 18, 82), (cx - 18, 82)), panel=(cx - 18, 36, cx + 18, 82), across=True)
        pen.rect(cx - 20, 32, cx + 20, 39, pen.trim, 2)
        pen.emblem(cx, 18, 14.5)
    pen.rect(cx - 22, 79, cx + 22, 86, pen.trim, 2)
    pen.rect(cx - 26, 85, cx + 26, 99, INK, 2)
    pen.rect(cx - 26, 96, cx + 26, 99, shade(pen.trim, 0.8), 1)
    pen.wordmark(cx, 92, 9, 46)


def poster(pen: Pen) -> None:
    """A framed printed sheet with an emblem over a skyline; tall 72 x 100, wide 140 x 100."""
    w = pen.width
    pen.rect(0.5, 0.5, w - 0.5, 99.5, pen.trim, 1)
    pen.rect(2.5, 2.5, w - 2.5, 97.5, WHITE)
    pen.body(((7, 7), (w - 7, 7), (w - 7, 78), (7, 78)), panel=(7, 7, w - 3, 72), dark=40)
    pen.poly(
        ((7, 78), (7, 70), (w * 0.25, 63), (w * 0.4, 71), (w * 0.62, 61), (w * 0.8, 71), (w - 7, 66), (w - 7, 78)),
        shade(pen.trim, 0.85),
    )
    pen.rect(7, 76, w - 7, 80, INK)
    pen.emblem(w / 2, 36, 19)
    pen.rect(12, 91, w - 12, 93, STEEL)
    if pen.look.wordmark:
        pen.wordmark(w / 2, 85, 8, w - 20)
    else:
        pen.rect(12, 84, w - 12, 87, INK)


def album(pen: Pen) -> None:
    """A record sleeve; sleeve 100 x 100, or with its disc peeking out 138 x 100."""
    if pen.look.silhouette == "disc":
        pen.oval(91, 50, 45, 45, INK)
        for r in (38, 31):
            pen.oval(91, 50, r, r, INK, GLASS)
        pen.oval(91, 50, 19, 19, shade(pen.main, 0.9))
        pen.oval(91, 50, 3, 3, WHITE)
    pen.body(((1, 1), (99, 1), (99, 99), (1, 99)), panel=(1, 14, 99, 99), dark=40)
    pen.rect(1, 1, 99, 12, pen.trim)
    pen.rect(1, 1, 6, 99, shade(pen.main, 0.7))
    pen.emblem(52, 54, 23)
    pen.wordmark(52, 90, 10, 70)


THINGS = {
    ("handbag", "tote"): (104, handbag),
    ("handbag", "clutch"): (150, handbag),
    ("handbag", "bucket"): (84, handbag),
    ("phone", "bar"): (52.5, phone),
    ("phone", "fold"): (92.5, phone),
    ("bottle", "slender"): (40, bottle),
    ("bottle", "flask"): (62, bottle),
    ("bottle", "jug"): (75, bottle),
    ("trophy", "cup"): (88, trophy),
    ("trophy", "shield"): (76, trophy),
    ("trophy", "column"): (60, trophy),
    ("poster", "tall"): (72, poster),
    ("poster", "wide"): (140, poster),
    ("album", "sleeve"): (100, album),
    ("album", "disc"): (138, album),
}
