"""The places under the sky, which stays transparent; the target stands left of the middle, with its foot at `FOOT`."""

from __future__ import annotations

from collections.abc import Callable
from math import sin
from random import Random

from wildenv.generators.drawings.canvas import HEIGHT, WIDTH, Canvas, Colour
from wildenv.miniweb.pictures.backdrops import tone

HORIZON = 190
FEET = {"on a stone bridge": 264}
"""Where things stand, of the places where it is not at `FOOT`."""
FOOT = 318


def _water(c: Canvas, rng: Random, top: int, bottom: int, colour: Colour = (62, 122, 160)) -> None:
    c.shaded(0, top, WIDTH, bottom, tone(colour, 1.18), tone(colour, 0.86))
    for _ in range(40):
        x, y = rng.uniform(0, WIDTH), rng.uniform(top + 3, bottom - 2)
        length = 6 + 20 * (y - top) / max(1, bottom - top)
        c.line([(x, y), (x + length, y)], tone(colour, 1.35), 1.2)


def _hill(c: Canvas, y: float, height: float, shift: float, fill: Colour) -> None:
    crest = [(x, y - height * (0.5 + 0.5 * sin(x / 70 + shift))) for x in range(0, WIDTH + 8, 8)]
    c.poly([(0, HEIGHT), *crest, (WIDTH, HEIGHT)], fill)


def _pine(c: Canvas, x: float, foot: float, height: float, fill: Colour, snow: bool = False) -> None:
    c.rect(x - height * 0.04, foot - height * 0.16, x + height * 0.04, foot, (92, 66, 46))
    for step in range(3):
        base, width = foot - height * (0.12 + 0.26 * step), height * (0.3 - 0.07 * step)
        c.poly([(x - width, base), (x + width, base), (x, base - height * 0.42)], tone(fill, 0.9 + 0.1 * step))
        if snow:
            half, low = width * 0.45, base - height * 0.23
            c.poly([(x - half, low), (x + half, low), (x, base - height * 0.42)], (246, 248, 252))


def _tufts(c: Canvas, rng: Random, top: float, count: int, fill: Colour) -> None:
    for _ in range(count):
        x, y = rng.uniform(0, WIDTH), rng.uniform(top, HEIGHT)
        for lean in (-3, 0, 3):
            c.line([(x, y), (x + lean, y - 7)], fill, 1.2)


def pier(c: Canvas, rng: Random) -> None:
    """Planks that run out into the sea, between posts."""
    _water(c, rng, HORIZON - 20, HEIGHT)
    wood: Colour = (162, 120, 80)
    c.poly([(60, HORIZON + 34), (388, HORIZON + 34), (540, HEIGHT), (-92, HEIGHT)], wood)
    y, gap = HORIZON + 34.0, 5.0
    while y < HEIGHT:
        c.line([(-100, y), (WIDTH + 100, y)], tone(wood, 0.66), 1.4)
        y, gap = y + gap, gap * 1.17
    for x, foot, size in ((56, 240, 0.7), (392, 240, 0.7), (18, 276, 1.0), (430, 276, 1.0)):
        c.rect(x - 8 * size, foot - 58 * size, x + 8 * size, foot + 8 * size, tone(wood, 0.6), 2)
        c.oval(x, foot - 58 * size, 8 * size, 3 * size, tone(wood, 0.9))
    for a, b in (((56, 208), (18, 230)), ((392, 208), (430, 230))):
        c.line([a, ((a[0] + b[0]) / 2, (a[1] + b[1]) / 2 + 12), b], (214, 200, 160), 3)
    for gull in (30, 410):
        c.line([(gull - 26, 74), (gull - 13, 66), (gull, 74), (gull + 13, 66), (gull + 26, 74)], (250, 250, 250), 2.4)


def snowy_hill(c: Canvas, rng: Random) -> None:
    """White slopes with pines."""
    _hill(c, HORIZON, 70, rng.uniform(0, 6), (206, 218, 232))
    for x in (26, 62, 348, 392, 428):
        _pine(c, x + rng.uniform(-8, 8), HORIZON + 44, rng.uniform(74, 104), (44, 92, 76), snow=True)
    _hill(c, HORIZON + 62, 44, rng.uniform(0, 6), (236, 242, 250))
    _hill(c, HORIZON + 96, 24, rng.uniform(0, 6), (248, 250, 254))
    for x in (70, 130, 300):
        c.line([(x, HEIGHT), (x + 46, 268)], (212, 222, 236), 2)


def beach(c: Canvas, rng: Random) -> None:
    """Sand, surf, a palm, a starfish."""
    _water(c, rng, HORIZON - 20, 262, (46, 146, 176))
    c.poly(
        [(0, 256), *((x, 254 + 6 * sin(x / 38)) for x in range(0, WIDTH + 8, 8)), (WIDTH, HEIGHT), (0, HEIGHT)], (250, 250, 246)
    )
    sand: Colour = (236, 210, 156)
    c.poly([(0, 264), *((x, 262 + 6 * sin(x / 38)) for x in range(0, WIDTH + 8, 8)), (WIDTH, HEIGHT), (0, HEIGHT)], sand)
    for _ in range(160):
        x, y = rng.uniform(0, WIDTH), rng.uniform(276, HEIGHT)
        c.oval(x, y, 0.9, 0.7, tone(sand, rng.choice((0.84, 1.06))))
    c.poly([(14, 276), (26, 276), (44, 92), (38, 90)], (146, 104, 64))
    for dx, dy in ((-46, 12), (-38, -22), (6, -40), (46, -18), (56, 16)):
        c.poly([(41, 92), (41 + dx * 0.55, 78 + dy * 0.5), (41 + dx, 92 + dy), (41 + dx * 0.5, 90 + dy * 0.7)], (58, 132, 66))
    x, y = 424.0, 322.0
    star = [(x + r * sin(k * 0.628), y - r * sin(k * 0.628 + 1.571)) for k, r in enumerate((11, 4.5) * 5)]
    c.poly(star, (224, 104, 64))


def market_street(c: Canvas, rng: Random) -> None:
    """Stalls with striped awnings before a row of houses, on cobbles."""
    walls: tuple[Colour, ...] = ((206, 170, 130), (188, 132, 108), (220, 200, 164), (164, 152, 140), (204, 184, 150))
    x, number = -10, 0
    while x < WIDTH:
        width, top = rng.randint(62, 92), rng.randint(36, 76)
        fill = walls[number % len(walls)]
        c.rect(x, top, x + width, 250, fill)
        c.poly([(x - 4, top), (x + width + 4, top), (x + width / 2, top - 30)], (146, 70, 56))
        for wy in (top + 14, top + 58):
            for wx in (x + 12, x + width - 28):
                c.rect(wx, wy, wx + 16, wy + 24, (86, 100, 116))
                c.line([(wx + 8, wy), (wx + 8, wy + 24)], (232, 226, 214), 1.4)
        x, number = x + width, number + 1
    c.shaded(0, 240, WIDTH, HEIGHT, (138, 132, 126), (168, 162, 154))
    for row, y in enumerate((250, 264, 282, 304, 328)):
        for stone in range(-20 + 11 * (row % 2), WIDTH, 26):
            c.arc(stone, y, 13, 6 + row, 180, 360, (112, 106, 102), 1.4)
    goods: tuple[Colour, ...] = ((214, 60, 50), (236, 160, 44), (112, 160, 62), (238, 214, 80))
    for x0, colour in ((4, (196, 52, 48)), (150, (44, 104, 160)), (298, (46, 132, 92))):
        for post in (x0 + 4, x0 + 134):
            c.rect(post, 150, post + 4, 258, (120, 86, 56))
        for stripe in range(7):
            fill = colour if stripe % 2 == 0 else (250, 248, 240)
            left = x0 + stripe * 20
            c.poly([(left + 4, 128), (left + 20, 128), (left + 20, 154), (left, 154)], fill)
            c.pie(left + 10, 154, 10, 7, 0, 180, fill)
        c.rect(x0 + 2, 216, x0 + 140, 256, (150, 106, 66))
        for crate in range(4):
            for k in range(6):
                c.oval(x0 + 12 + crate * 34 + k % 3 * 9, 214 - k // 3 * 7, 5.4, 5.4, goods[(crate + x0) % 4])


def forest_clearing(c: Canvas, rng: Random) -> None:
    """Trees around a patch of grass."""
    c.shaded(0, 150, WIDTH, 250, (54, 92, 58), (74, 116, 66))
    for layer, shade in ((0, 0.72), (1, 0.88)):
        for x in range(-10, WIDTH + 20, 46 if layer else 34):
            cx, top = x + rng.uniform(-8, 8), rng.uniform(10, 60) + 26 * layer
            trunk = 6 + 4 * layer
            c.rect(cx - trunk / 2, top + 30, cx + trunk / 2, 250, tone((104, 74, 50), shade))
            for _ in range(6):
                c.oval(
                    cx + rng.uniform(-22, 22),
                    top + rng.uniform(-6, 44),
                    21,
                    18,
                    tone((66, 126, 62), shade * rng.uniform(0.85, 1.15)),
                )
    c.oval(WIDTH / 2, 330, 330, 96, (126, 172, 84))
    _tufts(c, rng, 256, 60, (84, 132, 58))
    for x, y in ((36, 306), (54, 316), (408, 322)):
        c.rect(x - 3, y - 8, x + 3, y, (240, 230, 214))
        c.pie(x, y - 7, 9, 9, 180, 360, (200, 62, 50))


def mountain_lake(c: Canvas, rng: Random) -> None:
    """Snow-capped mountains mirrored in a lake, seen from the shore."""
    for x, peak, width, fill in (
        (70, 46, 150, (112, 122, 142)),
        (400, 58, 150, (104, 114, 134)),
        (236, 22, 170, (128, 138, 156)),
    ):
        c.poly([(x - width, HORIZON), (x + width, HORIZON), (x, peak)], fill)
        drop = (HORIZON - peak) * 0.32
        side = width * 0.32
        c.poly([(x, peak), (x + side, peak + drop), (x + side * 0.4, peak + drop * 0.75), (x, peak + drop * 1.15),
                (x - side * 0.45, peak + drop * 0.8), (x - side, peak + drop)], (246, 248, 252))  # fmt: skip
    for x in range(-6, WIDTH, 17):
        _pine(c, x + rng.uniform(-4, 4), HORIZON + 4, rng.uniform(24, 40), (48, 88, 70))
    _water(c, rng, HORIZON, 290, (72, 128, 158))
    for x, depth in ((70, 54), (236, 66), (400, 48)):
        c.poly([(x - 74, HORIZON + 2), (x + 74, HORIZON + 2), (x, HORIZON + depth)], (86, 128, 154))
    c.poly(
        [(0, 282), *((x, 276 + 6 * sin(x / 52)) for x in range(0, WIDTH + 8, 8)), (WIDTH, HEIGHT), (0, HEIGHT)], (112, 146, 78)
    )
    for x, size in ((22, 14), (56, 9), (430, 13), (300, 8)):
        c.pie(x, 296, size, size, 180, 360, (150, 150, 150))
    _tufts(c, rng, 294, 44, (82, 118, 56))


def stone_bridge(c: Canvas, rng: Random) -> None:
    """A bridge of grey stones over a river, seen from its side; things stand on its deck."""
    _hill(c, HORIZON, 40, rng.uniform(0, 6), (118, 156, 96))
    for x in (16, 50, 404, 436):
        c.oval(x, HORIZON + 6, 26, 30, (72, 122, 66))
    _water(c, rng, 214, HEIGHT, (74, 130, 150))
    stone: Colour = (158, 152, 144)
    deck = FEET["on a stone bridge"]
    c.rect(0, deck, WIDTH, HEIGHT - 12, stone)
    for row, y in enumerate(range(deck, HEIGHT - 12, 13)):
        c.line([(0, y), (WIDTH, y)], tone(stone, 0.72), 1.4)
        for x in range(-14 + 15 * (row % 2), WIDTH, 30):
            c.line([(x, y), (x, y + 13)], tone(stone, 0.72), 1.4)
    for x in (74, 224, 374):
        c.pie(x, HEIGHT - 8, 62, 58, 180, 360, tone(stone, 1.15))
        c.pie(x, HEIGHT - 8, 54, 50, 180, 360, (52, 96, 118))
    c.rect(0, HEIGHT - 12, WIDTH, HEIGHT, (74, 130, 150))
    for x in (52, 202, 352):
        c.line([(x, HEIGHT - 6), (x + 44, HEIGHT - 6)], (150, 196, 208), 1.4)
    c.rect(0, deck - 10, WIDTH, deck, tone(stone, 1.2))
    c.rect(0, deck - 10, WIDTH, deck - 6, tone(stone, 0.9))
    for x in (0, 146, 290, 432):
        c.rect(x, deck - 36, x + 16, deck, tone(stone, 1.05), 2)
        c.rect(x - 3, deck - 40, x + 19, deck - 33, tone(stone, 1.25), 2)
    for a, b in ((8, 154), (154, 298), (298, 440)):
        c.rect(a, deck - 30, b, deck - 24, tone(stone, 1.1))


def flat_rooftop(c: Canvas, rng: Random) -> None:
    """The roof of a tall house over a skyline: parapet, tank, aerial."""
    x = -6
    while x < WIDTH:
        width, top = rng.randint(24, 46), rng.randint(70, 160)
        fill = tone((120, 130, 146), rng.uniform(0.8, 1.15))
        c.rect(x, top, x + width, 236, fill)
        for wy in range(top + 8, 226, 14):
            for wx in range(x + 5, x + width - 6, 9):
                c.rect(wx, wy, wx + 4, wy + 7, (236, 220, 160) if rng.random() < 0.35 else tone(fill, 0.72))
        x += width + rng.randint(0, 4)
    c.rect(0, 212, WIDTH, 244, (176, 122, 96))
    for row, y in enumerate(range(218, 244, 9)):
        c.line([(0, y), (WIDTH, y)], (142, 92, 70), 1)
        for brick in range(-12 + 11 * (row % 2), WIDTH, 22):
            c.line([(brick, y - 6), (brick, y + 3)], (142, 92, 70), 1)
    c.rect(0, 206, WIDTH, 214, (208, 204, 196))
    c.shaded(0, 244, WIDTH, HEIGHT, (146, 146, 148), (172, 172, 172))
    for y in (262, 286, 316):
        c.line([(0, y), (WIDTH, y)], (128, 128, 130), 1.2)
    c.rect(14, 130, 74, 196, (134, 92, 62), 3)
    for y in (142, 164, 184):
        c.line([(14, y), (74, y)], (92, 62, 42), 2)
    c.poly([(8, 132), (80, 132), (44, 104)], (104, 72, 50))
    for leg in (22, 66):
        c.line([(leg, 194), (leg, 250)], (84, 60, 44), 4)
    c.line([(420, 212), (420, 110)], (70, 72, 78), 3)
    for y, half in ((118, 22), (132, 17), (146, 12)):
        c.line([(420 - half, y), (420 + half, y)], (70, 72, 78), 2)


def flower_field(c: Canvas, rng: Random) -> None:
    """Rows of flowers to the horizon."""
    _hill(c, HORIZON, 30, rng.uniform(0, 6), (120, 164, 104))
    c.shaded(0, HORIZON, WIDTH, HEIGHT, (124, 172, 92), (82, 136, 62))
    petals: tuple[Colour, ...] = ((226, 62, 74), (246, 198, 60), (186, 96, 190), (250, 250, 244), (242, 140, 172))
    y, size = HORIZON + 5.0, 1.3
    row = 0
    while y < HEIGHT + 6:
        fill = petals[row % len(petals)]
        x = rng.uniform(-4, 4)
        while x < WIDTH:
            c.line([(x, y), (x, y + size * 2.4)], (58, 112, 52), max(0.6, size * 0.3))
            for dx, dy in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                c.oval(x + dx * size * 0.8, y + dy * size * 0.8, size * 0.75, size * 0.75, fill)
            c.oval(x, y, size * 0.55, size * 0.55, (250, 220, 90))
            x += size * rng.uniform(2.8, 4.2)
        y, size, row = y + size * 2.6, size * 1.2, row + 1


def castle(c: Canvas, rng: Random) -> None:
    """Towers with battlements, flags and a gate, at the end of a path over a lawn."""
    _hill(c, HORIZON + 10, 36, rng.uniform(0, 6), (112, 150, 92))
    stone: Colour = (170, 166, 162)

    def wall(x0: float, x1: float, top: float) -> None:
        c.rect(x0, top, x1, 246, stone)
        step = (x1 - x0) / max(3, round((x1 - x0) / 18) | 1)
        for k in range(round((x1 - x0) / step)):
            if k % 2 == 0:
                c.rect(x0 + k * step, top - 9, x0 + (k + 1) * step, top, stone)
        for y in range(int(top) + 12, 240, 20):
            for x in range(int(x0) + 6 + y % 16, int(x1) - 10, 28):
                c.line([(x, y), (x + 9, y)], tone(stone, 0.82), 1.4)

    wall(40, 410, 128)
    for x0, x1, top in ((14, 76, 70), (374, 436, 70), (170, 280, 50)):
        wall(x0, x1, top)
        middle = (x0 + x1) / 2
        c.line([(middle, top - 9), (middle, top - 42)], (84, 74, 64), 2.4)
        c.poly([(middle, top - 42), (middle + 26, top - 34), (middle, top - 26)], (196, 44, 48))
        for y in (top + 22, top + 62):
            c.rect(middle - 4, y, middle + 4, y + 18, (62, 60, 66), 4)
    c.pie(225, 208, 30, 34, 180, 360, (74, 54, 40))
    c.rect(195, 207, 255, 248, (74, 54, 40))
    c.shaded(0, 244, WIDTH, HEIGHT, (108, 154, 82), (134, 178, 96))
    c.poly([(198, 244), (252, 244), (330, HEIGHT), (110, HEIGHT)], (214, 196, 160))
    _tufts(c, rng, 260, 30, (84, 128, 62))


GROUNDS: dict[str, Callable[[Canvas, Random], None]] = {
    "on a wooden pier": pier,
    "on a snowy hill": snowy_hill,
    "on a sandy beach": beach,
    "in a market street": market_street,
    "in a forest clearing": forest_clearing,
    "by a mountain lake": mountain_lake,
    "on a stone bridge": stone_bridge,
    "on a flat rooftop": flat_rooftop,
    "in a flower field": flower_field,
    "in front of a castle": castle,
}
"""By the words of the requests."""
