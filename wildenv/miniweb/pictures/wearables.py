"""Drawings of things that are worn: costume, jersey, gown, sneaker, helmet, headset, watch. Front or side views."""

from __future__ import annotations

from wildenv.miniweb.pictures.pen import GLASS, INK, SILVER, SKIN, SLATE, STEEL, WHITE, Pen, Points, oval, shade, smooth


def costume(pen: Pen) -> None:
    """A stage costume on a faceless wearer; 76 x 100."""
    shape = pen.look.silhouette
    if shape == "cape":
        pen.poly(
            smooth(((24, 20), (52, 20), (66, 60), (74, 92), (38, 86), (2, 92), (10, 60))),
            shade(pen.main, 0.7),
            shade(pen.main, 0.4),
        )
        pen.line(((3, 91), (22, 87), (38, 86), (54, 87), (73, 91)), pen.trim, 4)
    if shape == "robe":
        pen.body(
            smooth(((38, 18), (54, 22), (64, 46), (60, 56), (66, 96), (38, 98), (10, 96), (16, 56), (12, 46), (22, 22))),
            panel=(14, 20, 62, 97),
        )
        pen.rect(15, 56, 61, 61, pen.trim, 2)
        pen.line(((11, 95), (24, 97), (38, 97.5), (52, 97), (65, 95)), pen.trim, 4)
        pen.oval(38, 14, 13, 14, shade(pen.main, 0.8), shade(pen.main, 0.5))
        pen.oval(38, 16, 8, 9, SKIN)
        pen.emblem(38, 40, 12)
        pen.wordmark(38, 76, 8, 34)
        return
    for x in (30, 46):
        pen.rect(x - 7, 62, x + 7, 90, shade(pen.main, 0.86), 3)
        pen.rect(x - 8, 91, x + 8, 98, pen.trim, 3)
    for x0, x1 in ((22, 10), (54, 66)):
        pen.line(((x0, 28), (x1, 52)), shade(pen.main, 0.9), 9)
        pen.oval(x1, 56, 5, 5, SKIN)
    pen.body(((20, 22), (56, 22), (58, 40), (54, 66), (22, 66), (18, 40)), panel=(18, 22, 58, 66))
    pen.rect(21, 63, 55, 67, pen.trim, 1)
    pen.oval(38, 11, 9.5, 11, SKIN)
    if shape == "armor":
        pen.poly(oval(38, 12, 12, 12, 1, 2), pen.main, INK)
        pen.rect(26, 10, 50, 14, INK)
        pen.poly(((35, 2), (38, -4), (41, 2), (41, 12), (35, 12)), pen.trim)
        for x in (17, 59):
            pen.oval(x, 26, 10, 7, pen.trim, shade(pen.trim, 0.55))
    else:
        pen.rect(28, 8, 48, 13, INK, 2)
        pen.poly(oval(38, 8, 10, 9, 1, 2), shade(pen.main, 0.8))
    pen.emblem(38, 42, 13)
    pen.wordmark(38, 73, 7, 30)


def jersey(pen: Pen) -> None:
    """A team shirt laid flat; 112 x 100 (vest 84)."""
    shape = pen.look.silhouette
    dx = 42 if shape == "vest" else 56
    if shape != "vest":
        for side in (-1, 1):
            if shape == "long":
                arm = (
                    (dx + side * 26, 8),
                    (dx + side * 40, 16),
                    (dx + side * 54, 84),
                    (dx + side * 40, 88),
                    (dx + side * 26, 44),
                )
                cuff = ((dx + side * 53, 78), (dx + side * 55, 90), (dx + side * 40, 94), (dx + side * 38, 83))
            else:
                arm = (
                    (dx + side * 26, 8),
                    (dx + side * 36, 12),
                    (dx + side * 54, 40),
                    (dx + side * 38, 52),
                    (dx + side * 26, 40),
                )
                cuff = ((dx + side * 50, 34), (dx + side * 55, 42), (dx + side * 38, 54), (dx + side * 34, 46))
            pen.poly(arm, shade(pen.main, 0.92), shade(pen.main, 0.55))
            pen.poly(cuff, pen.trim)
    w = 30
    outline: Points
    if shape == "vest":
        outline = (
            (dx - 24, 4),
            (dx - 12, 4),
            (dx, 20),
            (dx + 12, 4),
            (dx + 24, 4),
            (dx + 26, 28),
            (dx + 36, 40),
            (dx + 36, 98),
            (dx - 36, 98),
            (dx - 36, 40),
            (dx - 26, 28),
        )
        w = 36
    else:
        outline = ((dx - 28, 8), (dx - 12, 4), (dx + 12, 4), (dx + 28, 8), (dx + 30, 98), (dx - 30, 98))
    pen.body(outline, panel=(dx - w, 14, dx + w, 92))
    if shape == "vest":
        pen.line(((dx - 12, 4), (dx, 20), (dx + 12, 4)), pen.trim, 4)
        pen.line(((dx - 24, 4), (dx - 26, 28), (dx - 36, 40)), pen.trim, 4)
        pen.line(((dx + 24, 4), (dx + 26, 28), (dx + 36, 40)), pen.trim, 4)
    else:
        pen.poly(oval(dx, 4, 14, 13, 0, 1), pen.trim)
        pen.poly(oval(dx, 4, 9, 8, 0, 1), shade(pen.main, 0.4))
    pen.rect(dx - w, 92, dx + w, 98, pen.trim)
    pen.emblem(dx, 42, 17)
    pen.wordmark(dx, 74, 11, 48)


def gown(pen: Pen) -> None:
    """A long dress on a stand; 84 x 100 (column 52)."""
    shape = pen.look.silhouette
    cx = {"ball": 42, "column": 26, "mermaid": 36}[shape]
    pen.oval(cx, 11, 4, 4.5, SLATE)
    pen.rect(cx - 2, 14, cx + 2, 22, SLATE)
    if shape == "ball":
        skirt = smooth(((cx - 9, 42), (cx + 9, 42), (cx + 26, 62), (cx + 40, 92), (cx, 98), (cx - 40, 92), (cx - 26, 62)))
        panel = (cx - 36.0, 42.0, cx + 36.0, 98.0)
    elif shape == "column":
        skirt = ((cx - 10, 40), (cx + 10, 40), (cx + 18, 62), (cx + 21, 98), (cx - 21, 98), (cx - 18, 62))
        panel = (cx - 21.0, 40.0, cx + 21.0, 98.0)
    else:
        skirt = smooth(
            (
                (cx - 10, 40),
                (cx + 10, 40),
                (cx + 19, 56),
                (cx + 16, 74),
                (cx + 34, 96),
                (cx, 98),
                (cx - 34, 96),
                (cx - 16, 74),
                (cx - 19, 56),
            )
        )
        panel = (cx - 24.0, 42.0, cx + 24.0, 98.0)
    pen.body(skirt, panel=panel)
    top = (
        (cx - 15, 16),
        (cx - 8, 21),
        (cx, 24),
        (cx + 8, 21),
        (cx + 15, 16),
        (cx + 14, 30),
        (cx + 9, 42),
        (cx - 9, 42),
        (cx - 14, 30),
    )
    pen.body(top, pattern=False, dark=40)
    if shape == "column":
        pen.line(((cx - 14, 17), (cx + 12, 38)), pen.trim, 4)
    elif shape == "ball":
        for side in (-1, 1):
            pen.oval(cx + side * 18, 21, 6, 7, pen.trim, shade(pen.trim, 0.6))
    pen.rect(cx - 10, 39, cx + 10, 45, pen.trim, 1)
    if shape == "mermaid":
        pen.line(((cx - 33, 95), (cx, 97), (cx + 33, 95)), pen.trim, 6)
    pen.emblem(cx, 64, 13)
    pen.wordmark(cx, 86, 8, 40)


def sneaker(pen: Pen) -> None:
    """A sports shoe, toe left; 170 x 100 (high 150)."""
    if pen.look.silhouette == "low":
        upper = smooth(((6, 74), (14, 56), (44, 48), (78, 20), (96, 14), (118, 28), (150, 22), (162, 30), (164, 76), (84, 80)))
        pen.poly(((84, 18), (118, 28), (150, 20), (158, 32), (118, 36), (84, 28)), shade(pen.main, 0.45))
        pen.body(upper, panel=(20, 24, 164, 78))
        pen.poly(smooth(((6, 76), (12, 58), (36, 50), (44, 64), (40, 78))), shade(pen.main, 0.82))
        pen.poly(smooth(((142, 26), (160, 26), (166, 50), (164, 76), (144, 76))), pen.trim)
        right, eyelets, centre = 168, ((56, 40), (66, 32), (76, 25), (86, 19)), (106, 54)
    else:
        upper = smooth(
            (
                (6, 76),
                (14, 60),
                (44, 52),
                (62, 36),
                (68, 8),
                (80, 3),
                (126, 4),
                (138, 8),
                (142, 40),
                (146, 78),
                (76, 82),
            )
        )
        pen.body(upper, panel=(16, 6, 146, 80))
        pen.poly(smooth(((6, 78), (12, 62), (38, 54), (46, 66), (42, 80))), shade(pen.main, 0.82))
        pen.rect(66, 4, 140, 14, pen.trim, 4)
        right, eyelets, centre = 150, ((54, 46), (62, 37), (67, 28), (69, 19)), (106, 48)
    pen.rect(3, 76, right, 92, WHITE, 8)
    pen.rect(3, 86, right, 95, INK, 5)
    for x, y in eyelets:
        pen.line(((x - 3, y - 2), (x + 14, y + 9)), WHITE, 4)
    pen.emblem(*centre, 17)
    pen.wordmark(centre[0] - 10, 83, 10, 80)


def helmet(pen: Pen) -> None:
    """Head protection facing left; 110 x 100."""
    if pen.look.silhouette == "visor":
        pen.body(
            smooth(((8, 52), (16, 22), (48, 4), (84, 10), (104, 40), (102, 76), (88, 94), (40, 96), (12, 88))),
            panel=(12, 6, 104, 94),
        )
        pen.poly(((10, 40), (52, 34), (58, 60), (46, 66), (10, 64)), INK)
        pen.poly(((12, 44), (50, 38), (52, 46), (12, 52)), GLASS)
        pen.poly(smooth(((8, 72), (44, 72), (52, 92), (36, 97), (12, 92))), shade(pen.main, 0.82), shade(pen.main, 0.5))
        pen.line(((46, 6), (84, 13), (101, 40)), pen.trim, 8)
        pen.line(((13, 76), (44, 76)), pen.trim, 5)
        pen.emblem(78, 54, 18)
        pen.wordmark(74, 84, 9, 44)
        return
    pen.poly(
        smooth(((24, 20), (36, 6), (62, 2), (94, 14), (108, 50), (107, 70), (99, 58), (84, 28), (56, 15), (36, 22))),
        pen.trim,
        shade(pen.trim, 0.55),
    )
    pen.body(
        smooth(((18, 52), (26, 26), (56, 15), (86, 28), (98, 58), (102, 92), (70, 96), (64, 80), (56, 74), (22, 72))),
        panel=(18, 16, 102, 94),
    )
    pen.poly(((18, 50), (42, 46), (47, 56), (40, 62), (18, 63)), INK)
    pen.poly(((22, 53), (38, 51), (40, 56), (22, 58)), GLASS)
    pen.poly(((18, 64), (46, 66), (58, 76), (54, 97), (28, 92), (19, 78)), SILVER, INK)
    for y in (74, 81, 88):
        pen.line(((27, y), (48, y)), INK, 2)
    pen.emblem(70, 50, 17)
    pen.wordmark(82, 84, 8, 34)


def headset(pen: Pen) -> None:
    """Worn electronics; goggles 130 x 100 or headphones 104 x 100."""
    if pen.look.silhouette == "goggles":
        pen.line(((10, 50), (16, 16), (65, 4), (114, 16), (120, 50)), shade(pen.main, 0.6), 11)
        pen.line(((17, 17), (65, 5), (113, 17)), pen.trim, 7)
        pen.rect(59, 4, 71, 40, shade(pen.main, 0.6), 4)
        pen.body(
            smooth(
                (
                    (4, 42),
                    (20, 28),
                    (65, 26),
                    (110, 28),
                    (126, 42),
                    (124, 80),
                    (100, 94),
                    (78, 88),
                    (65, 80),
                    (52, 88),
                    (30, 94),
                    (6, 80),
                )
            ),
            panel=(6, 28, 124, 92),
        )
        for x in (24, 106):
            pen.oval(x, 52, 10, 10, INK)
            pen.oval(x - 2, 50, 4, 4, STEEL)
        pen.emblem(65, 54, 19)
        pen.wordmark(65, 82, 10, 60)
        return
    pen.line(tuple(oval(52, 48, 40, 42, 1, 2)), shade(pen.main, 0.6), 11)
    pen.line(tuple(oval(52, 48, 40, 42, 1.12, 1.88)), pen.trim, 5)
    pen.rect(31, 44, 42, 96, INK, 6)
    pen.rect(88, 46, 103, 96, shade(pen.main, 0.8), 7)
    pen.rect(81, 46, 89, 95, INK, 4)
    pen.body(oval(28, 70, 27, 29), panel=(2, 42, 54, 98))
    pen.emblem(28, 70, 16)
    pen.wordmark(52, 14, 8, 40)


def watch(pen: Pen) -> None:
    """A wristwatch from the front; 64 x 100."""
    cx = 32
    square = pen.look.silhouette == "square"
    pen.body(((18, 1), (46, 1), (50, 34), (50, 66), (46, 99), (18, 99), (14, 66), (14, 34)), panel=(14, 1, 51, 99), dark=50)
    pen.rect(57, 46, 64, 54, STEEL, 2)
    if square:
        pen.rect(4, 22, 60, 78, INK, 12)
        pen.rect(6, 24, 58, 76, SILVER, 10)
        pen.rect(8, 26, 56, 74, pen.trim, 9)
        pen.rect(12, 30, 52, 70, WHITE, 6)
    else:
        pen.oval(cx, 50, 29, 29, INK)
        pen.oval(cx, 50, 27, 27, SILVER)
        pen.oval(cx, 50, 25.4, 25.4, pen.trim)
        pen.oval(cx, 50, 21.5, 21.5, WHITE)
    for x, y in ((cx, 32), (cx, 68), (14, 50), (50, 50)):
        pen.rect(x - 1.4, y - 1.4, x + 1.4, y + 1.4, INK)
    pen.emblem(cx, 50, 14)
    pen.line(((cx, 50), (cx + 11, 36)), INK, 2)
    pen.line(((cx, 50), (cx - 12, 45)), INK, 2)
    pen.wordmark(cx, 84, 6, 32)


THINGS = {
    ("costume", "cape"): (76, costume),
    ("costume", "armor"): (76, costume),
    ("costume", "robe"): (76, costume),
    ("jersey", "short"): (112, jersey),
    ("jersey", "long"): (112, jersey),
    ("jersey", "vest"): (84, jersey),
    ("gown", "ball"): (84, gown),
    ("gown", "column"): (52, gown),
    ("gown", "mermaid"): (72, gown),
    ("sneaker", "low"): (170, sneaker),
    ("sneaker", "high"): (152, sneaker),
    ("helmet", "visor"): (110, helmet),
    ("helmet", "crested"): (110, helmet),
    ("headset", "goggles"): (130, headset),
    ("headset", "headphones"): (104, headset),
    ("watch", "round"): (64, watch),
    ("watch", "square"): (64, watch),
}
