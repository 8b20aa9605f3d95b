"""Drawings of things that move: car, racecar, airliner, rocket, hovercraft. Flat side views, not engineering."""

from __future__ import annotations

from wildenv.miniweb.pictures.pen import GLASS, INK, SILVER, SLATE, STEEL, WHITE, Pen, oval, shade, smooth


def car(pen: Pen) -> None:
    """A road car seen from the side; 200 x 100."""
    kind = pen.look.silhouette
    if kind == "sedan":
        roof = ((46, 44), (66, 14), (84, 8), (118, 8), (138, 14), (160, 42))
        panes = [((60, 42), (74, 19), (98, 16), (98, 42)), ((104, 42), (104, 16), (126, 18), (144, 42))]
        hull = ((6, 52), (40, 42), (160, 42), (194, 48), (196, 80), (4, 80))
    elif kind == "hatch":
        roof = ((34, 46), (62, 14), (84, 7), (146, 8), (168, 14), (182, 46))
        panes = [((54, 43), (72, 19), (98, 15), (98, 43)), ((104, 43), (104, 15), (150, 16), (164, 43))]
        hull = ((8, 56), (36, 44), (184, 42), (192, 52), (192, 80), (6, 80))
    else:
        roof = ((16, 50), (34, 10), (44, 2), (180, 2), (190, 8), (192, 50))
        panes = [
            ((28, 40), (42, 12), (66, 12), (66, 40)),
            ((74, 40), (74, 12), (118, 12), (118, 40)),
            ((126, 40), (126, 12), (180, 12), (180, 40)),
        ]
        hull = ((6, 56), (22, 44), (192, 40), (195, 50), (195, 80), (4, 80))
    pen.poly(smooth(roof) if kind != "van" else roof, pen.main, shade(pen.main, 0.55))
    for pane in panes:
        pen.poly(pane, GLASS)
        (x0, y0), (x1, y1) = pane[1], pane[2]
        pen.poly(((x0, y0), ((x0 + x1) / 2, (y0 + y1) / 2), (pane[0][0] + 6, pane[0][1]), pane[0]), shade(GLASS, 1.35))
    pen.body(hull, panel=(4, 42, 196, 80))
    pen.rect(4, 77, 196, 86, INK, 2)
    pen.rect(6, 78, 194, 82, pen.trim)
    pen.rect(5, 55, 16, 63, WHITE, 3)
    pen.rect(187, 53, 195, 62, (120, 60, 60), 2)
    pen.line(((101, 46), (101, 76)), shade(pen.main, 0.6), 1)
    for cx in (46, 154):
        pen.poly(oval(cx, 79, 23, 23, 1, 2), INK)
        pen.wheel(cx, 80, 19)
    pen.emblem(100, 60, 15)
    pen.wordmark(100, 88 if kind == "van" else 90, 12, 70)


def racecar(pen: Pen) -> None:
    """A racing car seen from the side; 220 x 100."""
    if pen.look.silhouette == "formula":
        pen.rect(184, 16, 218, 24, pen.trim, 2)
        pen.rect(184, 24, 190, 62, INK)
        pen.rect(204, 22, 218, 50, INK, 2)
        pen.rect(2, 80, 36, 86, pen.trim, 2)
        pen.body(
            smooth(
                (
                    (8, 78),
                    (40, 60),
                    (86, 48),
                    (116, 44),
                    (124, 22),
                    (140, 18),
                    (170, 40),
                    (204, 52),
                    (206, 80),
                    (150, 86),
                    (40, 86),
                )
            ),
            panel=(8, 44, 206, 86),
        )
        pen.poly(((84, 50), (96, 36), (112, 44), (112, 50)), INK)
        pen.oval(104, 38, 10, 10, WHITE)
        pen.rect(94, 34, 105, 41, GLASS, 3)
        for cx in (52, 182):
            pen.wheel(cx, 74, 25)
        pen.emblem(126, 64, 16)
        pen.wordmark(150, 88, 12, 60)
        return
    for x in (36, 182):
        pen.line(((x, 74), (x + (34 if x < 100 else -34), 46)), STEEL, 5)
    pen.rect(150, 10, 208, 17, pen.trim, 2)
    pen.line(((168, 19), (150, 46)), INK, 4)
    pen.body(((10, 58), (70, 40), (150, 36), (210, 44), (204, 82), (24, 82)), panel=(10, 36, 210, 82))
    pen.line(((70, 46), (92, 9), (146, 9), (162, 46)), shade(pen.main, 0.72), 6)
    pen.line(((118, 9), (118, 46)), shade(pen.main, 0.72), 4)
    pen.oval(104, 32, 11, 11, WHITE)
    pen.rect(93, 28, 104, 35, GLASS, 3)
    pen.rect(8, 54, 26, 62, INK, 2)
    for cx in (38, 178):
        pen.oval(cx, 72, 27, 27, INK)
        pen.oval(cx, 72, 12, 12, SILVER)
        pen.oval(cx, 72, 6, 6, pen.trim)
        for a in range(8):
            arc = oval(cx, 72, 27, 27, a / 4, a / 4 + 0.1)
            pen.line((arc[0], arc[-1]), STEEL, 3)
    pen.emblem(110, 60, 16)
    pen.wordmark(108, 84, 12, 70)


def airliner(pen: Pen) -> None:
    """A passenger aircraft in the air, nose left; 200 x 100."""
    jumbo = pen.look.silhouette == "jumbo"
    pen.poly(((150, 44), (176, 2), (196, 2), (188, 50)), pen.trim, shade(pen.trim, 0.6))
    pen.poly(((150, 56), (186, 44), (198, 44), (176, 64)), shade(pen.main, 0.8))
    if jumbo:
        hull = smooth(((4, 56), (14, 40), (34, 24), (60, 22), (84, 30), (180, 40), (196, 48), (160, 70), (60, 78), (18, 72)))
    else:
        hull = smooth(((4, 58), (20, 44), (50, 38), (140, 38), (184, 40), (198, 46), (160, 66), (60, 74), (18, 70)))
    pen.body(hull, panel=(4, 30 if jumbo else 38, 196, 78 if jumbo else 74))
    pen.poly(((10, 52), (20, 43), (30, 43), (28, 51)), GLASS)
    for i in range(9):
        if not 4 <= i <= 6:
            pen.rect(40 + i * 14, 45, 46 + i * 14, 52, GLASS, 2)
    if jumbo:
        for i in range(4):
            pen.rect(36 + i * 10, 31, 41 + i * 10, 37, GLASS, 2)
    pen.poly(((92, 62), (120, 62), (172, 94), (150, 96)), shade(pen.main, 0.86), shade(pen.main, 0.5))
    for x, y in ((104, 82), (128, 92)) if jumbo else ((112, 84),):
        pen.rect(x - 12, y - 6, x + 10, y + 6, SILVER, 5)
        pen.rect(x - 12, y - 6, x - 7, y + 6, INK, 2)
    pen.emblem(108, 54, 15)
    pen.wordmark(60, 63, 11, 50)


def rocket(pen: Pen) -> None:
    """A rocket standing upright; 60 x 100 (boosters 74, shuttle 90)."""
    shape = pen.look.silhouette
    if shape == "slim":
        pen.poly(((14, 66), (2, 92), (14, 88)), pen.trim)
        pen.poly(((46, 66), (58, 92), (46, 88)), pen.trim)
        pen.poly(((20, 88), (40, 88), (46, 99), (14, 99)), SLATE)
        pen.body(
            smooth(((30, 1), (44, 22), (48, 50), (44, 90), (16, 90), (12, 50), (16, 22))),
            panel=(12, 8, 48, 90),
            across=True,
        )
        pen.poly(smooth(((30, 1), (38, 12), (41, 20), (30, 22), (19, 20), (22, 12))), pen.trim)
        pen.emblem(30, 46, 13)
        pen.wordmark(30, 74, 9, 30)
    elif shape == "boosters":
        for x in (13, 61):
            pen.poly(((x - 7, 92), (x + 7, 92), (x + 10, 99), (x - 10, 99)), SLATE)
            pen.poly(
                smooth(((x, 34), (x + 9, 50), (x + 9, 92), (x - 9, 92), (x - 9, 50))),
                shade(pen.main, 0.88),
                shade(pen.main, 0.55),
            )
            pen.poly(smooth(((x, 34), (x + 8, 48), (x + 9, 54), (x - 9, 54), (x - 8, 48))), pen.trim)
        pen.poly(((27, 90), (47, 90), (52, 99), (22, 99)), SLATE)
        pen.body(((37, 1), (48, 14), (54, 30), (54, 92), (20, 92), (20, 30), (26, 14)), panel=(20, 12, 54, 92), across=True)
        pen.rect(20, 28, 54, 31, INK)
        pen.emblem(37, 48, 13)
        pen.wordmark(37, 76, 9, 30)
    else:
        pen.poly(((28, 90), (62, 90), (66, 99), (24, 99)), SLATE)
        pen.poly(((30, 44), (4, 86), (4, 92), (86, 92), (86, 86), (60, 44)), pen.trim, shade(pen.trim, 0.6))
        pen.body(
            smooth(((45, 1), (58, 16), (64, 40), (64, 92), (26, 92), (26, 40), (32, 16))),
            panel=(26, 12, 64, 92),
            across=True,
        )
        pen.poly(smooth(((45, 12), (54, 18), (55, 25), (45, 23), (35, 25), (36, 18))), GLASS)
        pen.emblem(45, 48, 14)
        pen.wordmark(45, 78, 9, 34)


def hovercraft(pen: Pen) -> None:
    """A craft floating on a skirt; 190 x 100."""
    if pen.look.silhouette == "pod":
        pen.oval(95, 88, 84, 9, SLATE)
        pen.body(
            smooth(((8, 64), (34, 40), (90, 30), (150, 36), (184, 60), (170, 80), (96, 86), (22, 82))),
            panel=(8, 34, 190, 84),
        )
        pen.poly(oval(92, 38, 44, 32, 1, 2), GLASS, INK)
        pen.poly(oval(80, 36, 26, 22, 1.1, 1.6), shade(GLASS, 1.4))
        pen.rect(22, 80, 170, 86, pen.trim, 3)
        pen.poly(((150, 42), (172, 10), (186, 10), (178, 52)), shade(pen.main, 0.85), shade(pen.main, 0.5))
        pen.poly(((166, 20), (173, 10), (186, 10), (183, 20)), pen.trim)
        pen.emblem(94, 60, 17)
        pen.wordmark(45, 64, 12, 48)
        return
    pen.rect(10, 78, 180, 97, INK, 9)
    for x in range(24, 176, 19):
        pen.line(((x, 80), (x - 4, 95)), STEEL, 2)
    pen.body(((4, 74), (40, 48), (84, 40), (182, 34), (186, 80), (10, 80)), panel=(4, 38, 186, 80))
    pen.poly(((62, 44), (82, 16), (128, 14), (132, 38)), shade(pen.main, 0.9), shade(pen.main, 0.55))
    pen.poly(((72, 42), (86, 21), (104, 20), (104, 40)), GLASS)
    pen.poly(((110, 39), (110, 20), (122, 19), (125, 38)), GLASS)
    pen.oval(164, 26, 20, 24, pen.trim, shade(pen.trim, 0.55))
    pen.oval(164, 26, 15, 19, SILVER)
    for a in range(4):
        arm = oval(164, 26, 15, 19, a / 2 + 0.2, a / 2 + 0.5)
        pen.poly(((164, 26), arm[0], arm[-1]), STEEL)
    pen.emblem(104, 60, 15)
    pen.wordmark(56, 66, 12, 50)


THINGS = {
    ("car", "sedan"): (200, car),
    ("car", "hatch"): (198, car),
    ("car", "van"): (200, car),
    ("racecar", "formula"): (220, racecar),
    ("racecar", "buggy"): (214, racecar),
    ("airliner", "narrow"): (200, airliner),
    ("airliner", "jumbo"): (200, airliner),
    ("rocket", "slim"): (60, rocket),
    ("rocket", "boosters"): (74, rocket),
    ("rocket", "shuttle"): (90, rocket),
    ("hovercraft", "pod"): (190, hovercraft),
    ("hovercraft", "wedge"): (190, hovercraft),
}
