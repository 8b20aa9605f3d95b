"""The rooms. Each has a window, upper right, through which the sky is seen; the target stands left of the middle."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from wildenv.generators.drawings.canvas import HEIGHT, WIDTH, Canvas, Colour
from wildenv.miniweb.pictures.backdrops import tone

FLOOR = 236
"""Where the wall ends."""
_WINDOW = (318, 22, 428, 112)


def _shell(c: Canvas, wall: Colour, floor: Colour) -> None:
    c.shaded(0, 0, WIDTH, FLOOR, tone(wall, 1.04), tone(wall, 0.94))
    c.shaded(0, FLOOR, WIDTH, HEIGHT, tone(floor, 0.86), tone(floor, 1.05))
    c.rect(0, FLOOR - 5, WIDTH, FLOOR, tone(wall, 0.7))


def _window(c: Canvas, frame: Colour) -> None:
    x0, y0, x1, y1 = _WINDOW
    c.rect(x0 - 6, y0 - 6, x1 + 6, y1 + 6, frame, 2)
    middle, cross = (x0 + x1) / 2, (y0 + y1) / 2
    for left, right in ((x0, middle - 2), (middle + 2, x1)):
        c.clear(left, y0, right, cross - 2)
        c.clear(left, cross + 2, right, y1)
    c.rect(x0 - 10, y1 + 6, x1 + 10, y1 + 12, tone(frame, 0.85))


def _boards(c: Canvas, colour: Colour) -> None:
    for row, y in enumerate((FLOOR, 258, 286, 318)):
        c.line([(0, y), (WIDTH, y)], tone(colour, 0.78), 1.2)
        for x in range(-40 + 37 * row % 90, WIDTH, 90):
            c.line([(x, y), (x - 14, y + 34)], tone(colour, 0.78), 1)


def library(c: Canvas, rng: Random) -> None:
    """Shelves full of books, and a rug."""
    _shell(c, (96, 66, 44), (138, 98, 64))
    _boards(c, (138, 98, 64))
    spines: tuple[Colour, ...] = ((150, 48, 44), (52, 84, 132), (60, 112, 76), (184, 146, 66), (108, 70, 120), (214, 204, 180))
    for x0, x1 in ((8, 102), (108, 202), (208, 302), (308, 440)):
        c.rect(x0 - 4, 6, x1 + 4, FLOOR, (74, 48, 30))
        for row in range(5):
            top = 12 + row * 44
            c.rect(x0, top, x1, top + 38, (52, 33, 21))
            x = x0 + 1.0
            while x < x1 - 5:
                width, height = rng.uniform(4, 8), rng.uniform(24, 35)
                c.rect(x, top + 38 - height, x + width, top + 38, rng.choice(spines))
                c.rect(x, top + 42 - height, x + width, top + 43.5 - height, (224, 206, 150))
                x += width + 0.7
    _window(c, (112, 76, 48))
    c.oval(180, 316, 190, 30, (128, 44, 46))
    c.oval(180, 316, 172, 24, (146, 62, 58))


def train_station(c: Canvas, rng: Random) -> None:
    """A hall with an iron roof, a train, and the edge of a platform."""
    _shell(c, (198, 196, 188), (150, 148, 146))
    c.shaded(0, 0, WIDTH, 66, (108, 114, 122), (142, 148, 154))
    for x in range(-30, WIDTH + 60, 60):
        c.line([(x, 66), (x + 30, 10), (x + 60, 66)], (62, 66, 74), 3)
    c.rect(0, 62, WIDTH, 68, (62, 66, 74))
    _window(c, (62, 66, 74))
    colour = rng.choice(((176, 42, 44), (38, 86, 146), (36, 116, 84)))
    c.rect(-20, 130, WIDTH + 20, FLOOR + 4, colour, 8)
    c.rect(-20, 134, WIDTH + 20, 140, tone(colour, 0.6))
    for x in range(6, WIDTH, 62):
        c.rect(x, 148, x + 42, 184, (206, 224, 232), 4)
        c.rect(x + 46, 146, x + 58, 226, tone(colour, 0.72), 2)
    c.rect(0, 196, WIDTH, 204, (240, 236, 220))
    c.rect(0, FLOOR - 2, WIDTH, FLOOR + 12, (44, 44, 48))
    c.rect(0, FLOOR + 12, WIDTH, FLOOR + 20, (242, 206, 46))
    c.rect(24, 74, 136, 118, (28, 30, 36), 4)
    for y in (82, 94, 106):
        c.rect(32, y, 84, y + 6, (246, 196, 60))
        c.rect(96, y, 128, y + 6, (246, 196, 60))
    for x in range(-60, WIDTH + 200, 74):
        c.line([(x, FLOOR + 20), (x - 80, HEIGHT)], (132, 130, 128), 1)


def bakery(c: Canvas, rng: Random) -> None:
    """Bread on shelves, a counter, a striped awning."""
    _shell(c, (240, 222, 192), (196, 160, 120))
    for number, x in enumerate(range(0, WIDTH, 32)):
        fill: Colour = (206, 74, 62) if number % 2 else (250, 246, 238)
        c.rect(x, 0, x + 32, 14, fill)
        c.pie(x + 16, 14, 16, 11, 0, 180, fill)
    crusts: tuple[Colour, ...] = ((190, 122, 56), (212, 150, 78), (164, 98, 44))
    for y in (72, 122, 172):
        c.rect(8, y, 300, y + 6, (132, 88, 52))
        x = 18
        while x < 280:
            crust = rng.choice(crusts)
            if rng.random() < 0.6:
                c.pie(x + 15, y, 15, 17, 180, 360, crust)
                for cut in (-5, 1, 7):
                    c.line([(x + 13 + cut, y - 11), (x + 17 + cut, y - 4)], tone(crust, 1.3), 1.6)
                x += 36
            else:
                c.rect(x, y - 10, x + 46, y, crust, 5)
                for cut in range(6, 44, 9):
                    c.line([(x + cut, y - 8), (x + cut + 4, y - 2)], tone(crust, 1.3), 1.4)
                x += 54
    _window(c, (150, 102, 62))
    c.rect(0, 204, WIDTH, FLOOR + 14, (158, 106, 62))
    c.rect(0, 198, WIDTH, 208, (112, 72, 42))
    for x in range(14, WIDTH, 72):
        c.rect(x, 214, x + 56, FLOOR + 8, (178, 126, 78), 2)


def school_gym(c: Canvas, rng: Random) -> None:
    """Wall bars, a basket, and coloured lines on a wooden floor."""
    _shell(c, (206, 214, 212), (214, 164, 98))
    c.rect(0, 150, WIDTH, FLOOR, (96, 140, 170))
    _boards(c, (214, 164, 98))
    for x in (12, 70):
        for post in (x, x + 50):
            c.rect(post, 22, post + 5, FLOOR, (150, 98, 52))
        for y in range(28, FLOOR, 15):
            c.rect(x, y, x + 55, y + 4, (194, 138, 78), 2)
    c.rect(156, 18, 254, 84, (250, 250, 248), 3)
    c.rect(184, 40, 226, 74, (206, 62, 44))
    c.rect(188, 44, 222, 70, (250, 250, 248))
    c.oval(205, 84, 23, 6, (232, 96, 34))
    c.oval(205, 84, 19, 4, (206, 214, 212))
    for x in range(184, 228, 7):
        c.line([(x, 86), (205 + (x - 205) * 0.6, 112)], (250, 250, 250), 1.4)
    _window(c, (120, 128, 134))
    c.arc(224, 330, 210, 66, 180, 360, (34, 82, 158), 5)
    c.line([(0, 262), (WIDTH, 262)], (196, 44, 44), 4)
    c.line([(70, FLOOR), (6, HEIGHT)], (250, 250, 250), 4)


def old_theater(c: Canvas, rng: Random) -> None:
    """A stage between red curtains under a golden arch."""
    _shell(c, (70, 40, 44), (126, 84, 52))
    _boards(c, (126, 84, 52))
    c.shaded(40, 30, 410, FLOOR, (58, 40, 52), (92, 62, 62))
    _window(c, (168, 126, 52))
    red: Colour = (158, 26, 36)
    for side in (0, 1):
        for fold in range(7):
            x = fold * 13 if side == 0 else WIDTH - 13 - fold * 13
            if side == 1 and fold > 1:
                break
            c.rect(x, 0, x + 13, FLOOR + 30 - fold * 3, tone(red, 0.72 if fold % 2 else 1.1), 3)
    for number, x in enumerate(range(0, WIDTH, 56)):
        c.pie(x + 28, 6, 30, 26, 0, 180, tone(red, 1.05 if number % 2 else 0.8))
    c.rect(0, 0, WIDTH, 9, (206, 164, 72))
    for x in range(6, WIDTH, 18):
        c.oval(x, 5, 3, 3, (250, 226, 150))
    for x in range(30, WIDTH, 62):
        c.pie(x, HEIGHT + 8, 24, 22, 180, 360, (104, 20, 30))


def kitchen(c: Canvas, rng: Random) -> None:
    """Tiles, cupboards, a stove with a pot, a fridge."""
    _shell(c, (236, 238, 232), (220, 220, 214))
    for y in range(0, FLOOR, 20):
        c.line([(0, y), (WIDTH, y)], (212, 218, 214), 1)
    for x in range(0, WIDTH, 20):
        c.line([(x, 0), (x, FLOOR)], (212, 218, 214), 1)
    colour = rng.choice(((104, 148, 134), (92, 128, 164), (190, 150, 96)))
    for x in range(86, 300, 54):
        c.rect(x, 8, x + 50, 76, colour, 3)
        c.rect(x + 5, 13, x + 45, 71, tone(colour, 1.12), 2)
        c.oval(x + 42, 60, 2, 2, (70, 70, 70))
    c.rect(6, 24, 78, FLOOR + 6, (224, 228, 232), 6)
    c.line([(6, 98), (78, 98)], (168, 174, 180), 2)
    c.rect(68, 50, 72, 86, (140, 146, 152), 2)
    c.rect(68, 110, 72, 150, (140, 146, 152), 2)
    _window(c, (250, 250, 248))
    c.rect(82, 164, WIDTH, 172, (92, 74, 62))
    for x in range(84, WIDTH, 62):
        c.rect(x, 172, x + 60, FLOOR + 4, colour)
        c.rect(x + 5, 178, x + 55, FLOOR - 4, tone(colour, 1.12), 2)
    c.rect(146, 166, 246, FLOOR + 4, (72, 76, 82), 3)
    c.rect(158, 186, 234, 226, (40, 42, 48), 3)
    for x in (160, 182, 204, 226):
        c.oval(x, 178, 3.5, 3.5, (214, 216, 218))
    c.rect(92, 136, 132, 164, (176, 62, 52), 4)
    c.rect(88, 132, 136, 138, (146, 46, 40), 2)
    c.oval(112, 130, 4, 3, (60, 60, 60))
    for row, (y, size) in enumerate(((FLOOR + 4, 24), (FLOOR + 28, 36), (FLOOR + 64, 50))):
        for number, x in enumerate(range(-20, WIDTH, size)):
            if (number + row) % 2:
                c.rect(x, y, x + size, y + size, (150, 168, 164))


def workshop(c: Canvas, rng: Random) -> None:
    """Tools on a board, a bench with a vice, shavings on concrete."""
    _shell(c, (186, 166, 138), (160, 158, 154))
    c.rect(14, 14, 302, 128, (150, 110, 70), 3)
    for y in range(24, 124, 14):
        for x in range(24, 300, 14):
            c.oval(x, y, 1.1, 1.1, (112, 78, 46))
    steel: Colour = (188, 194, 200)
    c.rect(38, 40, 44, 112, (176, 118, 58), 2)
    c.rect(24, 28, 62, 44, (90, 94, 100), 3)
    c.poly([(84, 46), (178, 64), (178, 76), (84, 92)], steel)
    for x in range(86, 176, 7):
        c.poly([(x, 90 - (x - 84) * 0.17), (x + 7, 89 - (x - 84) * 0.17), (x + 3, 97 - (x - 84) * 0.17)], steel)
    c.rect(70, 42, 92, 96, (170, 82, 40), 6)
    c.rect(198, 44, 206, 116, steel, 3)
    c.ring(202, 36, 10, steel, 6)
    for x, colour in ((230, (206, 52, 44)), (250, (240, 186, 44)), (270, (52, 106, 176))):
        c.rect(x - 4, 34, x + 4, 66, colour, 3)
        c.rect(x - 1.5, 66, x + 1.5, 112, steel)
    _window(c, (128, 94, 62))
    c.rect(0, 166, WIDTH, 180, (166, 116, 66))
    c.rect(0, 178, WIDTH, 184, (120, 80, 44))
    for x in (8, 290, 424):
        c.rect(x, 184, x + 16, FLOOR + 18, (138, 92, 52))
    c.rect(24, 148, 64, 166, (70, 96, 116), 3)
    c.rect(40, 140, 48, 168, (96, 104, 112))
    for _ in range(26):
        c.arc(rng.uniform(0, WIDTH), rng.uniform(FLOOR + 20, HEIGHT), 5, 3, 0, 250, (222, 184, 128), 1.6)


ROOMS: dict[str, Callable[[Canvas, Random], None]] = {
    "in a library": library,
    "in a train station": train_station,
    "in a small bakery": bakery,
    "in a school gym": school_gym,
    "in an old theater": old_theater,
    "in a kitchen": kitchen,
    "in a workshop": workshop,
}
"""By the words of the requests."""
