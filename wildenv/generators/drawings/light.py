"""The moments: a sky, how its light falls on things, and the weather in front of them.

What marks a moment stands upper right, where rooms have their window.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, pi, sin
from random import Random

from PIL import Image, ImageDraw

from wildenv.generators.drawings.canvas import HEIGHT, WIDTH, Canvas, Colour

_X, _Y = 374, 66


@dataclass(frozen=True, slots=True)
class Moment:
    """How a moment looks.

    Attributes:
        top: Colour of the sky overhead.
        low: Colour of the sky at the horizon.
        gains: What red, green and blue of lit things are multiplied with.
        sky: Paints what is in the sky, and weather as seen through a window.
        air: Paints the weather between the things and the viewer on a transparent layer, out of doors.
        lamps: Whether rooms are lit from within, so that `gains` holds out of doors only.
    """

    top: Colour
    low: Colour
    gains: tuple[float, float, float] = (1.0, 1.0, 1.0)
    sky: Callable[[Canvas, Random], None] | None = None
    air: Callable[[ImageDraw.ImageDraw, Random], None] | None = None
    lamps: bool = False

    def paint_sky(self, rng: Random) -> Image.Image:
        """Returns the sky as an RGBA picture."""
        canvas = Canvas()
        canvas.shaded(0, 0, WIDTH, HEIGHT * 2 // 3, self.top, self.low)
        canvas.rect(0, HEIGHT * 2 / 3, WIDTH, HEIGHT, self.low)
        if self.sky is not None:
            self.sky(canvas, rng)
        return canvas.finish()

    def light(self, layer: Image.Image, indoors: bool) -> Image.Image:
        """Returns an RGBA layer as this light shows it."""
        gains = tuple(0.5 + gain / 2 for gain in self.gains) if indoors and self.lamps else self.gains
        table = [min(255, int(value * gain)) for gain in gains for value in range(256)]
        return layer.point([*table, *range(256)])

    def paint_air(self, image: Image.Image, rng: Random) -> None:
        """Paints the weather onto an RGBA picture."""
        if self.air is not None:
            layer = Image.new("RGBA", image.size, (255, 255, 255, 0))
            self.air(ImageDraw.Draw(layer), rng)
            image.alpha_composite(layer)


def _disc(c: Canvas, radius: float, fill: Colour, halo: Colour, y: float = _Y) -> None:
    behind = c.image.getpixel((10, round(y * 2)))
    assert isinstance(behind, tuple)
    for step in range(6, 0, -1):
        share = 0.09 * (7 - step)
        r, g, b = (round(sky + (light - sky) * share) for sky, light in zip(behind[:3], halo, strict=True))
        c.oval(_X, y, radius * (1 + 0.2 * step), radius * (1 + 0.2 * step), (r, g, b))
    c.oval(_X, y, radius, radius, fill)


def _cloud(c: Canvas, x: float, y: float, size: float, fill: Colour) -> None:
    for dx, dy, r in ((-1.5, 0.2, 0.7), (-0.7, -0.3, 0.95), (0.3, -0.5, 1.1), (1.2, 0, 0.85)):
        c.oval(x + dx * size, y + dy * size, r * size, r * size * 0.7, fill)
    c.rect(x - 2.1 * size, y, x + 2 * size, y + size * 0.65, fill, size * 0.32)


def _clouds(c: Canvas, rng: Random, fills: tuple[Colour, ...]) -> None:
    for k in range(12):
        _cloud(
            c, k % 6 * 84 + rng.uniform(-20, 20), 26 + k // 6 * 44 + rng.uniform(-12, 12), rng.uniform(20, 32), rng.choice(fills)
        )


def _day(c: Canvas, rng: Random) -> None:
    for x in (90, 250):
        _cloud(c, x + rng.uniform(-30, 30), rng.uniform(30, 60), 14, (250, 252, 254))


def _sunrise(c: Canvas, rng: Random) -> None:
    # A pale sun half above a bank of mist.
    _disc(c, 26, (255, 246, 196), (255, 240, 190), 92)
    for y, fill in ((100, (255, 226, 190)), (128, (255, 234, 206))):
        c.rect(-10, y, WIDTH + 10, y + 16, fill, 8)
    for k in range(7):
        angle = pi * (1.12 + 0.127 * k)
        c.line([(_X + 34 * cos(angle), 92 + 34 * sin(angle)), (_X + 48 * cos(angle), 92 + 48 * sin(angle))], (255, 244, 190), 3)


def _sunset(c: Canvas, rng: Random) -> None:
    _disc(c, 30, (255, 92, 40), (255, 150, 60), 82)
    for x, y, length in ((300, 58, 90), (346, 84, 110), (30, 44, 150), (150, 92, 120)):
        c.rect(x, y, x + length, y + 6, (168, 62, 92), 3)


def _night(c: Canvas, rng: Random) -> None:
    for _ in range(90):
        size = rng.uniform(0.6, 1.5)
        c.oval(rng.uniform(0, WIDTH), rng.uniform(0, 180), size, size, (240, 240, 220))
    # A thin crescent: the full moon is another moment.
    c.oval(_X + 28, 46, 11, 11, (238, 234, 206))
    c.oval(_X + 33, 43, 10, 10, (20, 27, 59))


def _full_moon(c: Canvas, rng: Random) -> None:
    _disc(c, 31, (250, 246, 222), (190, 200, 226))
    for dx, dy, r in ((-10, -8, 7), (8, 6, 9), (-6, 13, 4), (13, -11, 4)):
        c.oval(_X + dx, _Y + dy, r, r, (226, 220, 192))


def _sun(c: Canvas, rng: Random) -> None:
    _disc(c, 25, (255, 226, 60), (255, 250, 210))
    for k in range(12):
        dx, dy = cos(k * pi / 6), sin(k * pi / 6)
        c.line([(_X + 32 * dx, _Y + 32 * dy), (_X + 46 * dx, _Y + 46 * dy)], (255, 222, 70), 4)


def _grey_sky(c: Canvas, rng: Random) -> None:
    _clouds(c, rng, ((226, 230, 234), (200, 206, 212), (184, 190, 198)))


def _storm(c: Canvas, rng: Random) -> None:
    _clouds(c, rng, ((66, 70, 84), (82, 86, 100), (54, 58, 70)))
    for x, y, size in ((_X - 20, 40, 1.0), (92, 30, 1.3)):
        bolt = [(0, 0), (22, 0), (10, 30), (26, 30), (-8, 82), (2, 42), (-14, 42)]
        c.poly([(x + dx * size, y + dy * size) for dx, dy in bolt], (255, 244, 150))
    _streaks(c, rng, 9, (176, 188, 206))


def _rain_sky(c: Canvas, rng: Random) -> None:
    _clouds(c, rng, ((170, 178, 190), (150, 158, 172)))
    _streaks(c, rng, 3, (222, 232, 244))


def _streaks(c: Canvas, rng: Random, slant: float, fill: Colour) -> None:
    for _ in range(150):
        x, y = rng.uniform(0, WIDTH), rng.uniform(0, 150)
        c.line([(x, y), (x - slant, y + 13)], fill, 1.2)


def _snow_sky(c: Canvas, rng: Random) -> None:
    _clouds(c, rng, ((206, 212, 222), (190, 198, 210)))
    for _ in range(130):
        size = rng.uniform(1.2, 3)
        c.oval(rng.uniform(0, WIDTH), rng.uniform(0, 180), size, size, (255, 255, 255))


def _fog_sky(c: Canvas, rng: Random) -> None:
    for k in range(5):
        y = 10 + k * 26
        c.rect(-20, y, WIDTH + 20, y + 15, (226, 228, 230) if k % 2 else (206, 209, 212), 7)


def _rain(draw: ImageDraw.ImageDraw, rng: Random) -> None:
    for _ in range(260):
        x, y = rng.uniform(0, WIDTH), rng.uniform(-10, HEIGHT)
        draw.line([(x, y), (x - 3, y + 12)], fill=(228, 238, 250, 170))
    for _ in range(30):
        x, y = rng.uniform(0, WIDTH), rng.uniform(270, HEIGHT)
        draw.arc((x - 5, y - 2, x + 5, y + 2), 0, 360, fill=(236, 244, 252, 190))


def _downpour(draw: ImageDraw.ImageDraw, rng: Random) -> None:
    for _ in range(420):
        x, y = rng.uniform(0, WIDTH + 40), rng.uniform(-20, HEIGHT)
        draw.line([(x, y), (x - 12, y + 20)], fill=(206, 216, 232, 160))


def _snowfall(draw: ImageDraw.ImageDraw, rng: Random) -> None:
    for _ in range(240):
        x, y, r = rng.uniform(0, WIDTH), rng.uniform(0, HEIGHT), rng.uniform(1, 3.2)
        draw.ellipse((x - r, y - r, x + r, y + r), fill=(255, 255, 255, 235))
    draw.rectangle((0, HEIGHT - 10, WIDTH, HEIGHT), fill=(250, 252, 255, 200))


def _fog(draw: ImageDraw.ImageDraw, rng: Random) -> None:
    for y in range(HEIGHT):
        # Thinner towards the viewer.
        draw.line([(0, y), (WIDTH, y)], fill=(222, 225, 228, round(190 - 110 * max(0, y - 150) / (HEIGHT - 150))))
    for _ in range(9):
        left, top, length = rng.uniform(-80, WIDTH), rng.uniform(60, HEIGHT - 20), rng.uniform(120, 240)
        draw.rounded_rectangle((left, top, left + length, top + 16), 8, fill=(236, 238, 240, 110))


DAY = Moment((116, 172, 224), (206, 228, 242), sky=_day)
"""When the prompt does not say."""

MOMENTS: dict[str, Moment] = {
    "at sunrise": Moment((138, 172, 222), (255, 212, 170), (1.06, 0.98, 0.9), _sunrise),
    "at sunset": Moment((98, 58, 122), (255, 140, 70), (1.02, 0.76, 0.68), _sunset),
    "after dark": Moment((8, 12, 36), (34, 44, 84), (0.36, 0.4, 0.56), _night, lamps=True),
    "in light rain": Moment((146, 156, 170), (196, 204, 212), (0.82, 0.86, 0.9), _rain_sky, _rain),
    "in thick fog": Moment((204, 208, 212), (220, 223, 226), (0.92, 0.93, 0.95), _fog_sky, _fog),
    "in falling snow": Moment((178, 188, 204), (226, 232, 240), (0.94, 0.97, 1.03), _snow_sky, _snowfall),
    "under a full moon": Moment((14, 24, 66), (64, 84, 134), (0.5, 0.56, 0.78), _full_moon, lamps=True),
    "during a storm": Moment((38, 42, 56), (96, 102, 118), (0.58, 0.62, 0.72), _storm, _downpour, lamps=True),
    "in bright sunshine": Moment((50, 138, 226), (178, 220, 248), (1.1, 1.08, 0.98), _sun),
    "under a cloudy sky": Moment((176, 182, 190), (214, 218, 222), (0.88, 0.89, 0.91), _grey_sky),
}
"""By the words of the requests."""
