"""The things that stand beside the target: each in a column 104 wide around `x`, with its foot at `y`."""

from __future__ import annotations

from collections.abc import Callable
from math import cos, pi, sin
from random import Random

from wildenv.generators.drawings.canvas import Canvas, Colour
from wildenv.miniweb.pictures.backdrops import tone

INK: Colour = (40, 40, 46)
WOOD: Colour = (158, 104, 58)


def bicycle(c: Canvas, x: float, y: float, rng: Random) -> None:
    """Two wheels, a frame, a saddle, handlebars."""
    colour = rng.choice(((196, 42, 46), (38, 100, 168), (40, 128, 84)))
    rear, front, hub = (x - 29, y - 24), (x + 29, y - 24), (x - 4, y - 25)
    seat, head = (x - 13, y - 60), (x + 20, y - 62)
    for wheel in (rear, front):
        c.ring(*wheel, 23, INK, 4)
        for k in range(6):
            dx, dy = 20 * cos(k * pi / 6), 20 * sin(k * pi / 6)
            c.line([(wheel[0] - dx, wheel[1] - dy), (wheel[0] + dx, wheel[1] + dy)], (170, 174, 180), 0.8)
    c.line([rear, hub, head, seat, hub], colour, 4)
    c.line([rear, seat], colour, 4)
    c.line([front, head, (x + 18, y - 72), (x + 32, y - 76)], (84, 88, 94), 4)
    c.line([seat, (x - 15, y - 68)], (84, 88, 94), 4)
    c.rect(x - 27, y - 73, x - 5, y - 67, INK, 3)
    c.oval(*hub, 6, 6, (84, 88, 94))


def sleeping_cat(c: Canvas, x: float, y: float, rng: Random) -> None:
    """Curled up, eyes closed."""
    fur = rng.choice(((220, 140, 62), (120, 120, 126), (66, 62, 66)))
    c.oval(x + 4, y - 19, 42, 20, fur)
    for k in range(4):
        c.arc(x + 14 + k * 9, y - 22, 6, 14, 200, 300, tone(fur, 0.68), 3)
    c.arc(x + 2, y - 12, 42, 11, 0, 150, tone(fur, 0.74), 8)
    c.oval(x - 27, y - 25, 19, 16, tone(fur, 1.1))
    for side in (-1, 1):
        c.poly([(x - 27 + side * 6, y - 38), (x - 27 + side * 17, y - 34), (x - 27 + side * 15, y - 53)], tone(fur, 1.1))
        c.arc(x - 27 + side * 8, y - 27, 5, 4, 20, 160, INK, 1.8)
    c.poly([(x - 30, y - 21), (x - 24, y - 21), (x - 27, y - 18)], (226, 130, 136))
    for k, size in enumerate((5, 7, 9)):
        left, top = x - 8 + k * 13, y - 56 - k * 13
        c.line([(left, top), (left + size, top), (left, top + size), (left + size, top + size)], (250, 250, 250), 2)


def books(c: Canvas, x: float, y: float, rng: Random) -> None:
    """A pile of thick ones."""
    top = y
    for k, colour in enumerate(((152, 46, 46), (46, 84, 140), (214, 168, 62), (52, 116, 80), (112, 70, 128), (190, 96, 50))):
        thick, shift = 15 + k % 3 * 3, rng.uniform(-7, 7)
        left, right = x - 38 + shift, x + 38 + shift
        c.rect(left, top - thick, right, top, colour, 3)
        c.rect(left + 6, top - thick + 3, right + 1, top - 3, (244, 238, 220))
        c.rect(left, top - thick, left + 8, top, tone(colour, 0.8), 2)
        c.line([(left + 10, top - thick / 2), (right - 1, top - thick / 2)], (206, 198, 176), 1)
        top -= thick


def street_lamp(c: Canvas, x: float, y: float, rng: Random) -> None:
    """A lantern on an iron post."""
    iron: Colour = (48, 56, 56)
    c.rect(x - 4, y - 178, x + 4, y, iron)
    c.rect(x - 12, y - 12, x + 12, y, iron, 3)
    c.rect(x - 8, y - 40, x + 8, y - 34, iron, 2)
    c.line([(x - 20, y - 168), (x + 20, y - 168)], iron, 4)
    c.poly([(x - 12, y - 180), (x + 12, y - 180), (x + 19, y - 216), (x - 19, y - 216)], (255, 236, 150))
    c.line([(x - 12, y - 180), (x - 19, y - 216)], iron, 3)
    c.line([(x + 12, y - 180), (x + 19, y - 216)], iron, 3)
    c.line([(x, y - 180), (x, y - 216)], iron, 2)
    c.poly([(x - 24, y - 216), (x + 24, y - 216), (x, y - 234)], iron)
    c.oval(x, y - 236, 4, 4, iron)


def paper_kite(c: Canvas, x: float, y: float, rng: Random) -> None:
    """In the air, with a tail of bows."""
    top, middle = y - 216, y - 160
    red, yellow = rng.choice(
        (((214, 52, 52), (250, 208, 70)), ((40, 110, 190), (250, 250, 244)), ((230, 120, 40), (80, 170, 110)))
    )
    c.poly([(x, top), (x + 42, middle), (x, y - 92), (x - 42, middle)], red)
    c.poly([(x, top), (x + 42, middle), (x, middle)], yellow)
    c.poly([(x, y - 92), (x - 42, middle), (x, middle)], yellow)
    c.line([(x, top), (x, y - 92)], (104, 74, 48), 2)
    c.line([(x - 42, middle), (x + 42, middle)], (104, 74, 48), 2)
    tail = [(x + 14 * sin(k / 2.4), y - 92 + k * 5) for k in range(17)]
    c.line(tail, (250, 250, 250), 1.8)
    for k in (4, 8, 12, 16):
        bow_x, bow_y = tail[k]
        c.poly([(bow_x - 9, bow_y - 5), (bow_x + 9, bow_y + 5), (bow_x + 9, bow_y - 5), (bow_x - 9, bow_y + 5)], red)


def wooden_chair(c: Canvas, x: float, y: float, rng: Random) -> None:
    """Four legs, a seat, a back with slats."""
    for leg in (-30, 26):
        c.rect(x + leg, y - 132, x + leg + 7, y, WOOD, 2)
    for leg in (-16, 34):
        c.rect(x + leg, y - 58, x + leg + 6, y - 6, tone(WOOD, 0.7), 2)
    for rail in (128, 110, 92):
        c.rect(x - 30, y - rail, x + 33, y - rail + 10, tone(WOOD, 1.15), 2)
    c.poly([(x - 36, y - 56), (x + 30, y - 56), (x + 44, y - 68), (x - 24, y - 68)], tone(WOOD, 1.25))
    c.rect(x - 36, y - 57, x + 31, y - 49, WOOD, 2)
    c.line([(x - 26, y - 22), (x + 28, y - 22)], tone(WOOD, 0.8), 4)


def fruit_basket(c: Canvas, x: float, y: float, rng: Random) -> None:
    """Apples, oranges, grapes and a banana in wicker."""
    c.arc(x, y - 44, 40, 54, 180, 360, (128, 84, 44), 5)
    for dx, dy, radius, fill in (
        (-26, 50, 15, (206, 44, 44)), (26, 52, 15, (240, 146, 40)), (0, 58, 16, (126, 178, 62)), (-12, 72, 13, (240, 146, 40)),
        (14, 74, 13, (206, 44, 44)),
    ):  # fmt: skip
        c.oval(x + dx, y - dy, radius, radius, fill)
        c.oval(x + dx - 5, y - dy - 5, 3, 3, tone(fill, 1.3))
        c.line([(x + dx, y - dy - radius), (x + dx + 2, y - dy - radius - 6)], (92, 64, 40), 2)
    for k in range(9):
        c.oval(x + 34 + k % 3 * 7 - 4, y - 60 + k // 3 * 8, 5, 5, (112, 58, 140))
    c.arc(x - 22, y - 66, 24, 26, 200, 310, (250, 218, 70), 8)
    c.poly([(x - 46, y - 46), (x + 46, y - 46), (x + 34, y), (x - 34, y)], (178, 126, 70))
    for row in range(4):
        for k in range(-4, 5):
            if (row + k) % 2:
                c.rect(x + k * 10 - 6, y - 42 + row * 11, x + k * 10 + 4, y - 35 + row * 11, (138, 92, 48), 2)
    c.rect(x - 50, y - 51, x + 50, y - 42, (150, 100, 54), 4)


def big_clock(c: Canvas, x: float, y: float, rng: Random) -> None:
    """A round face as large as a cart wheel, on a stand."""
    c.rect(x - 6, y - 60, x + 6, y, (70, 62, 58))
    c.rect(x - 26, y - 10, x + 26, y, (70, 62, 58), 4)
    cy = y - 104
    c.oval(x, cy, 50, 50, (158, 114, 48))
    c.oval(x, cy, 43, 43, (250, 248, 240))
    for k in range(12):
        dx, dy = sin(k * pi / 6), -cos(k * pi / 6)
        inner = 31 if k % 3 == 0 else 35
        c.line([(x + dx * inner, cy + dy * inner), (x + dx * 40, cy + dy * 40)], INK, 4 if k % 3 == 0 else 2)
    hour, minute = rng.uniform(0, 2 * pi), rng.uniform(0, 2 * pi)
    c.line([(x, cy), (x + 20 * sin(hour), cy - 20 * cos(hour))], INK, 5)
    c.line([(x, cy), (x + 31 * sin(minute), cy - 31 * cos(minute))], INK, 3)
    c.oval(x, cy, 4, 4, (196, 44, 44))


def small_dog(c: Canvas, x: float, y: float, rng: Random) -> None:
    """Stands, with a collar and a raised tail."""
    fur = rng.choice(((196, 142, 88), (236, 226, 208), (120, 86, 60)))
    dark = tone(fur, 0.66)
    c.line([(x + 30, y - 40), (x + 40, y - 54), (x + 40, y - 66)], fur, 8)
    for leg in (-22, -10, 16, 27):
        c.rect(x + leg - 4, y - 30, x + leg + 5, y, fur if leg in (-22, 16) else dark, 4)
    c.rect(x - 27, y - 50, x + 34, y - 20, fur, 14)
    c.oval(x - 28, y - 64, 19, 18, fur)
    c.rect(x - 50, y - 66, x - 26, y - 51, tone(fur, 1.1), 7)
    c.oval(x - 49, y - 64, 4.5, 4, INK)
    c.oval(x - 33, y - 70, 3, 3, INK)
    c.poly([(x - 24, y - 82), (x - 12, y - 76), (x - 10, y - 52), (x - 20, y - 54)], dark)
    c.line([(x - 34, y - 47), (x - 13, y - 51)], (206, 44, 48), 5)
    c.oval(x - 25, y - 43, 3.5, 3.5, (246, 206, 70))
    c.line([(x - 46, y - 55), (x - 38, y - 53)], INK, 1.5)


def barrel(c: Canvas, x: float, y: float, rng: Random) -> None:
    """Staves held by iron hoops."""
    side = [(x + k * (34 + 11 * cos((t - 0.5) * pi)), y - 100 * t) for k in (1,) for t in (i / 10 for i in range(11))]
    outline = [*side, *[(2 * x - px, py) for px, py in reversed(side)]]
    c.poly(outline, WOOD)
    for k in (-0.66, -0.33, 0, 0.33, 0.66):
        stave = [(x + k * (34 + 11 * cos((t - 0.5) * pi)), y - 100 * t) for t in (i / 10 for i in range(11))]
        c.line(stave, tone(WOOD, 0.66), 1.8)
    for t in (0.1, 0.32, 0.68, 0.9):
        half = 35 + 11 * cos((t - 0.5) * pi)
        c.rect(x - half, y - 100 * t - 4, x + half, y - 100 * t + 4, (78, 82, 88))
    c.oval(x, y - 100, 34, 8, tone(WOOD, 1.2))
    c.oval(x, y - 100, 28, 5.5, tone(WOOD, 0.86))


def umbrella(c: Canvas, x: float, y: float, rng: Random) -> None:
    """Open, upright, with a crooked handle."""
    first, second = rng.choice(
        (((208, 44, 52), (250, 246, 238)), ((36, 88, 160), (250, 212, 70)), ((40, 130, 96), (250, 246, 238)))
    )
    top = y - 128
    c.line([(x, top - 40), (x, y - 14)], (104, 74, 48), 4)
    c.arc(x + 8, y - 14, 10, 12, 0, 180, (104, 74, 48), 5)
    for k, fill in ((1.0, first), (0.62, second), (0.24, first)):
        c.pie(x, top + 8, 52 * k, 44, 180, 360, fill)
    for k in range(5):
        c.pie(x - 41.6 + k * 20.8, top + 9, 10.4, 7, 180, 360, tone(first, 0.62))
    c.line([(x, top - 36), (x, top - 46)], (104, 74, 48), 3)


def piano(c: Canvas, x: float, y: float, rng: Random) -> None:
    """Upright, with keys and a sheet of music."""
    lacquer: Colour = (46, 34, 32)
    c.rect(x - 52, y - 112, x + 52, y - 4, lacquer, 3)
    c.rect(x - 55, y - 118, x + 55, y - 110, tone(lacquer, 1.5), 2)
    c.rect(x - 44, y - 104, x + 44, y - 72, tone(lacquer, 1.3), 2)
    c.rect(x - 17, y - 104, x + 17, y - 74, (250, 248, 240))
    for line in range(5):
        c.line([(x - 14, y - 99 + line * 5), (x + 14, y - 99 + line * 5)], INK, 0.8)
    c.rect(x - 55, y - 66, x + 55, y - 46, tone(lacquer, 1.4), 2)
    c.rect(x - 50, y - 64, x + 50, y - 52, (250, 250, 246))
    for k in range(20):
        left = x - 50 + k * 5
        c.line([(left, y - 64), (left, y - 52)], (150, 150, 150), 0.7)
        if k % 7 not in (0, 3):
            c.rect(left - 1.5, y - 64, left + 1.5, y - 57, INK)
    for leg in (-50, 44):
        c.rect(x + leg, y - 46, x + leg + 7, y, tone(lacquer, 1.4), 2)
    for pedal in (-8, 0, 8):
        c.oval(x + pedal, y - 4, 3.5, 2.5, (216, 176, 74))


def suitcase(c: Canvas, x: float, y: float, rng: Random) -> None:
    """Leather, with straps, corners and a handle."""
    hide = rng.choice(((150, 92, 48), (60, 98, 126), (136, 50, 50)))
    c.arc(x, y - 82, 17, 15, 180, 360, tone(hide, 0.6), 6)
    c.rect(x - 48, y - 80, x + 48, y, hide, 8)
    c.rect(x - 48, y - 43, x + 48, y - 38, tone(hide, 0.7))
    for strap in (-30, 22):
        c.rect(x + strap, y - 80, x + strap + 9, y, tone(hide, 0.62))
        c.rect(x + strap - 1, y - 50, x + strap + 10, y - 38, (222, 186, 84), 2)
    for px, py in ((-44, -76), (44, -76), (-44, -4), (44, -4)):
        c.oval(x + px, y + py, 7, 7, tone(hide, 0.62))
    c.rect(x - 14, y - 70, x + 14, y - 52, (240, 232, 208), 2)


def fountain(c: Canvas, x: float, y: float, rng: Random) -> None:
    """Two bowls of stone, and water that rises and falls."""
    stone: Colour = (176, 172, 168)
    blue: Colour = (150, 204, 232)
    c.rect(x - 8, y - 92, x + 8, y - 16, stone)
    c.pie(x, y - 96, 30, 20, 0, 180, tone(stone, 0.92))
    c.oval(x, y - 96, 30, 6, blue)
    for reach, peak in ((46, 58), (30, 70), (14, 76)):
        for side in (-1, 1):
            jet = [
                (x + side * reach * t, y - 96 - peak * 4 * t * (1 - t) * 0.7 + (t**3) * 76) for t in (i / 14 for i in range(15))
            ]
            c.line(jet, (222, 242, 252), 2.4)
    c.line([(x, y - 96), (x, y - 158)], (222, 242, 252), 4)
    c.rect(x - 52, y - 24, x + 52, y, tone(stone, 0.9), 5)
    c.oval(x, y - 24, 52, 8, stone)
    c.oval(x, y - 24, 45, 6, blue)


COMPANIONS: dict[str, Callable[[Canvas, float, float, Random], None]] = {
    "a bicycle": bicycle,
    "a sleeping cat": sleeping_cat,
    "a stack of books": books,
    "a street lamp": street_lamp,
    "a paper kite": paper_kite,
    "a wooden chair": wooden_chair,
    "a fruit basket": fruit_basket,
    "a big clock": big_clock,
    "a small dog": small_dog,
    "a barrel": barrel,
    "an umbrella": umbrella,
    "a piano": piano,
    "a suitcase": suitcase,
    "a fountain": fountain,
}
"""By the words of the requests."""
