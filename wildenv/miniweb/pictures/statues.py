"""Drawings of characters and built things: character, figure, sculpture, stadium. Front views."""

from __future__ import annotations

from wildenv.miniweb.pictures.pen import GLASS, INK, SILVER, SLATE, STEEL, WHITE, Pen, oval, shade, smooth


def character(pen: Pen) -> None:
    """A mascot creature; 84 x 100."""
    shape = pen.look.silhouette
    if shape == "horned":
        for side in (-1, 1):
            pen.poly(((42 + side * 14, 18), (42 + side * 34, 1), (42 + side * 28, 26)), pen.trim, shade(pen.trim, 0.55))
    elif shape == "eared":
        for side in (-1, 1):
            pen.poly(oval(42 + side * 16, 14, 8, 18), pen.main, shade(pen.main, 0.55))
            pen.poly(oval(42 + side * 16, 15, 4, 12), pen.trim)
    else:
        pen.line(((42, 14), (44, 6)), INK, 2)
        pen.oval(45, 6, 6, 6, pen.trim)
    for side in (-1, 1):
        pen.oval(42 + side * 36, 58, 7, 13, shade(pen.main, 0.9), shade(pen.main, 0.55))
        pen.oval(42 + side * 17, 92.5, 14, 7, pen.trim, shade(pen.trim, 0.55))
    pen.body(
        smooth(((42, 10), (62, 18), (68, 40), (76, 66), (66, 90), (42, 94), (18, 90), (8, 66), (16, 40), (22, 18))),
        panel=(10, 42, 74, 94),
    )
    for side in (-1, 1):
        pen.oval(42 + side * 11, 27, 7.5, 8.5, WHITE, INK)
        pen.oval(42 + side * 10, 28, 3.6, 4.4, INK)
    pen.line(tuple(oval(42, 38, 9, 6, 0.1, 0.9)), INK, 2.4)
    pen.emblem(42, 66, 15)
    pen.wordmark(42, 87, 7, 34)


def figure(pen: Pen) -> None:
    """A collectable figure on a base; 78 x 100."""
    robot = pen.look.silhouette == "robot"
    pen.oval(39, 94, 31, 6, INK)
    pen.oval(39, 92.5, 29, 5, STEEL)
    for side in (-1, 1):
        x = 39 + side * 11
        pen.rect(x - 7, 64, x + 7, 90, shade(pen.main, 0.85), 2)
        pen.rect(x - 9, 86, x + 9, 92, pen.trim, 3)
        a = 39 + side * 29
        pen.rect(a - 6, 30, a + 6, 62, shade(pen.main, 0.9), 4)
        pen.rect(a - 7, 58, a + 7, 68, STEEL, 4)
    if robot:
        pen.line(((39, 8), (39, 3)), INK, 2)
        pen.oval(39, 3, 3, 3, pen.trim)
        pen.rect(24, 6, 54, 28, shade(pen.main, 0.9), 4)
        pen.rect(28, 10, 50, 20, INK, 4)
        pen.rect(33, 23, 45, 25, INK)
        for x in (34, 44):
            pen.oval(x, 15.5, 3, 3, WHITE)
        pen.body(((16, 29), (62, 29), (62, 64), (56, 68), (22, 68), (16, 64)), panel=(16, 29, 62, 68))
    else:
        pen.line(((70, 66), (70, 12)), STEEL, 4)
        pen.line(((63, 56), (77, 56)), INK, 4)
        pen.poly(smooth(((39, 0), (50, 2), (58, 14), (46, 12), (39, 14))), pen.trim)
        pen.poly(oval(39, 18, 13, 13, 0.8, 2.2), SILVER, INK)
        pen.rect(28, 15, 50, 19, INK)
        pen.rect(37.5, 14, 40.5, 28, INK)
        pen.body(
            smooth(((39, 28), (60, 30), (60, 48), (54, 70), (39, 74), (24, 70), (18, 48), (18, 30))),
            panel=(17, 29, 61, 72),
        )
    for side in (-1, 1):
        pen.oval(39 + side * 27, 33, 8, 6, pen.trim, shade(pen.trim, 0.55))
    pen.emblem(39, 48, 13.5)
    pen.wordmark(39, 92, 7, 44)


def sculpture(pen: Pen) -> None:
    """A public artwork on a plinth; totem 60 x 100, arch 110, wave 100."""
    shape = pen.look.silhouette
    cx = pen.width / 2
    pen.rect(cx - pen.width * 0.42, 88, cx + pen.width * 0.42, 99, SLATE, 1)
    pen.rect(cx - pen.width * 0.36, 82, cx + pen.width * 0.36, 89, shade(SLATE, 1.25), 1)
    if shape == "totem":
        pen.poly(((10, 2), (50, 2), (42, 20), (18, 20)), shade(pen.main, 0.85), shade(pen.main, 0.5))
        pen.rect(16, 16, 44, 21, pen.trim)
        pen.body(
            ((16, 20), (44, 20), (52, 40), (44, 60), (52, 84), (8, 84), (16, 60), (8, 40)),
            panel=(8, 20, 52, 84),
            across=True,
        )
        pen.oval(30, 65, 20, 4, pen.trim)
        pen.emblem(30, 42, 15)
    elif shape == "arch":
        outer, inner = oval(55, 56, 51, 53, 1, 2), oval(55, 56, 22, 24, 2, 1)
        pen.body((*outer, (106, 84), (77, 84), *inner, (33, 84), (4, 84)), panel=(4, 3, 122, 78))
        pen.line(tuple(oval(55, 56, 23, 25, 1, 2)), pen.trim, 5)
        for x in (18, 92):
            pen.rect(x - 15, 76, x + 15, 84, pen.trim, 1)
        pen.emblem(55, 19, 15)
    else:
        pen.body(
            smooth(
                (
                    (8, 84),
                    (10, 44),
                    (34, 10),
                    (70, 4),
                    (94, 22),
                    (92, 44),
                    (78, 50),
                    (74, 34),
                    (60, 32),
                    (54, 52),
                    (66, 70),
                    (92, 84),
                )
            ),
            panel=(8, 4, 94, 84),
        )
        pen.oval(83, 62, 10, 10, pen.trim, shade(pen.trim, 0.55))
        pen.poly(((8, 84), (10, 68), (52, 76), (60, 84)), pen.trim)
        pen.emblem(37, 40, 16)
    pen.wordmark(cx, 91, 8, pen.width * 0.7)


def stadium(pen: Pen) -> None:
    """A sports ground from the street; 200 x 100."""
    bowl = pen.look.silhouette == "bowl"
    if bowl:
        for x in (22, 178):
            pen.line(((x, 40), (x, 8)), SLATE, 3)
            pen.rect(x - 12, 3, x + 12, 12, SLATE, 1)
        pen.poly(oval(100, 34, 92, 16), pen.trim, shade(pen.trim, 0.55))
        pen.poly(oval(100, 34, 84, 12.5), (112, 122, 112))
        pen.body(((8, 36), *oval(100, 36, 92, 14, 1, 0)[1:-1], (192, 36), (180, 92), (20, 92)), panel=(12, 42, 204, 80))
    else:
        pen.poly(oval(100, 46, 86, 44, 1, 2), shade(pen.main, 0.85), shade(pen.main, 0.5))
        for a in (1.2, 1.35, 1.5, 1.65, 1.8):
            pen.line(((100, 46), oval(100, 46, 86, 44, a, a + 0.01)[0]), pen.trim, 4.6)
        pen.body(((6, 46), (194, 46), (186, 92), (14, 92)), panel=(6, 46, 194, 90))
        pen.rect(4, 42, 196, 49, SILVER, 3)
    for i in (0, 1, 2, 6, 7, 8):
        gate = 22 + i * 19.5
        pen.rect(gate - 6, 74, gate + 6, 92, GLASS, 4)
    pen.rect(8, 90, 192, 97, SLATE, 2)
    pen.emblem(100, 68, 17)
    pen.wordmark(100, 92, 11, 110)


THINGS = {
    ("character", "round"): (84, character),
    ("character", "horned"): (84, character),
    ("character", "eared"): (84, character),
    ("figure", "robot"): (78, figure),
    ("figure", "knight"): (78, figure),
    ("sculpture", "totem"): (60, sculpture),
    ("sculpture", "arch"): (110, sculpture),
    ("sculpture", "wave"): (100, sculpture),
    ("stadium", "bowl"): (200, stadium),
    ("stadium", "dome"): (200, stadium),
}
