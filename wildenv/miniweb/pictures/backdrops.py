"""Backgrounds of the shots. All are desaturated, so that a palette-coloured thing stands out by its colour alone.

Out-of-focus scenery is drawn at a quarter of the size and enlarged, which is both soft and quick.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from random import Random

from PIL import Image, ImageDraw

Colour = tuple[int, int, int]
Size = tuple[int, int]

PAPERS: tuple[Colour, ...] = (
    (236, 236, 234),
    (226, 230, 234),
    (238, 232, 226),
    (228, 234, 228),
    (216, 218, 222),
    (232, 228, 236),
    (246, 246, 244),
)
DUSKS: tuple[Colour, ...] = ((30, 31, 34), (36, 35, 38), (29, 32, 33), (36, 34, 33))


@lru_cache(maxsize=32)
def _ramp(size: Size) -> Image.Image:
    return Image.linear_gradient("L").resize(size, Image.Resampling.BILINEAR)


@lru_cache(maxsize=1)
def _radial() -> Image.Image:
    return Image.radial_gradient("L")


def tone(colour: Colour, factor: float) -> Colour:
    """Scales a colour's brightness, clipped to a byte."""
    r, g, b = (min(255, max(0, int(c * factor))) for c in colour)
    return (r, g, b)


def wash(size: Size, top: Colour, bottom: Colour) -> Image.Image:
    """A vertical gradient."""
    return Image.composite(Image.new("RGB", size, bottom), Image.new("RGB", size, top), _ramp(size))


def grey(rng: Random, low: int, high: int) -> Colour:
    """A nearly neutral colour with brightness in [low, high]."""
    value = rng.randint(low, high)
    return (value + rng.randint(-5, 5), value + rng.randint(-5, 5), value + rng.randint(-5, 5))


def shadow(image: Image.Image, cx: float, cy: float, rx: float, ry: float, strength: int = 90) -> None:
    """Darkens a soft ellipse, as under a thing that stands on a floor."""
    size = (max(2, round(2 * rx)), max(2, round(2 * ry)))
    spot = _radial().resize(size, Image.Resampling.BILINEAR)
    mask = spot.point([max(0, 255 - v * 8 // 5) * strength // 255 for v in range(256)])
    image.paste((20, 20, 24), (round(cx - rx), round(cy - ry)), mask)


def studio(size: Size, rng: Random) -> Image.Image:
    """A clean wall and floor."""
    paper = rng.choice(PAPERS)
    image = wash(size, tone(paper, 0.96), tone(paper, 1.03))
    if rng.random() < 0.6:
        horizon = round(size[1] * rng.uniform(0.7, 0.8))
        image.paste(wash((size[0], size[1] - horizon), tone(paper, 0.88), tone(paper, 0.98)), (0, horizon))
    return image


def hall(size: Size, rng: Random) -> Image.Image:
    """A dark stage with a truss, lamps and pale beams; the floor starts at 72 % of the height."""
    width, height = size
    dusk = rng.choice(DUSKS)
    image = wash(size, tone(dusk, 0.8), tone(dusk, 1.9))
    light = Image.new("L", (width // 2, height // 2), 0)
    beam = ImageDraw.Draw(light)
    lamps = [width * (i + 0.5) / 5 for i in range(5)]
    floor = height * 0.72
    for x in lamps:
        foot = x + rng.uniform(-0.3, 0.3) * width
        spread = rng.uniform(0.05, 0.1) * width
        beam.polygon([(x / 2, 6), (foot / 2 + spread / 2, floor / 2), (foot / 2 - spread / 2, floor / 2)], fill=46)
    image.paste(grey(rng, 225, 240), (0, 0), light.resize(size, Image.Resampling.BILINEAR))
    draw = ImageDraw.Draw(image)
    if rng.random() < 0.5:
        left, right = width * 0.1, width * 0.9
        draw.rectangle((left, height * 0.16, right, floor - 6), fill=tone(dusk, 2.3), outline=tone(dusk, 3.4))
    draw.rectangle((0, floor, width, height), fill=tone(dusk, 2.6))
    draw.rectangle((0, floor, width, floor + 2), fill=tone(dusk, 4.0))
    for y in (4, 14):
        draw.line((0, y, width, y), fill=(120, 122, 126), width=2)
    for x in range(0, width, 14):
        draw.line((x, 4, x + 7, 14, x + 14, 4), fill=(96, 98, 102))
    for x in lamps:
        draw.rectangle((x - 5, 14, x + 5, 22), fill=(60, 62, 66))
        draw.ellipse((x - 4, 19, x + 4, 25), fill=(244, 244, 240))
    return image


def crowd(image: Image.Image, rng: Random, top: float, fill: Colour) -> None:
    """A row of heads and raised arms along the lower edge, starting at `top` pixels."""
    draw = ImageDraw.Draw(image)
    width, height = image.size
    x = -8.0
    while x < width + 8:
        r = rng.uniform(6, 9)
        y = top + rng.uniform(2, 10) + r
        draw.ellipse((x - r, y - r * 1.2, x + r, y + r), fill=fill)
        draw.rounded_rectangle((x - r * 1.9, y + r * 0.7, x + r * 1.9, height + 20), r, fill=fill)
        if rng.random() < 0.2:
            draw.line((x + r * 1.5, y + r, x + r * 1.8, y - r * 1.2), fill=fill, width=4)
        x += r * rng.uniform(2.1, 2.9)


def street(size: Size, rng: Random) -> Image.Image:
    """A cluttered, out-of-focus place."""
    small = (size[0] // 4, size[1] // 4)
    sky = grey(rng, 150, 185)
    image = Image.new("RGB", small, sky)
    draw = ImageDraw.Draw(image)
    x = -3
    while x < small[0]:
        w, h = rng.randint(6, 14), rng.randint(small[1] // 3, int(small[1] * 0.75))
        fill = grey(rng, 100, 180)
        draw.rectangle((x, small[1] - 12 - h, x + w, small[1]), fill=fill)
        for wy in range(small[1] - 10 - h, small[1] - 14, 4):
            for wx in range(x + 2, x + w - 1, 3):
                draw.point((wx, wy), fill=tone(fill, rng.choice((0.75, 1.25))))
        x += w + rng.randint(0, 3)
    ground = small[1] - rng.randint(10, 16)
    draw.rectangle((0, ground, small[0], small[1]), fill=grey(rng, 120, 165))
    for _ in range(rng.randint(5, 9)):
        px, ph = rng.randint(0, small[0]), rng.randint(8, 16)
        fill = grey(rng, 84, 130)
        draw.rounded_rectangle((px - 2, ground - ph + 4, px + 2, ground + 4), 2, fill=fill)
        draw.ellipse((px - 2, ground - ph, px + 2, ground - ph + 4), fill=grey(rng, 140, 200))
    return image.resize(size, Image.Resampling.BICUBIC)


def web_page(size: Size, rng: Random) -> tuple[Image.Image, tuple[int, int, int, int]]:
    """A browser window; returns it with the pixel box of its picture slot."""
    width, height = size
    image = Image.new("RGB", size, grey(rng, 244, 250))
    draw = ImageDraw.Draw(image)
    bar = grey(rng, 205, 222)
    draw.rectangle((0, 0, width, 18), fill=bar)
    for i in range(3):
        draw.ellipse((7 + i * 10, 6, 13 + i * 10, 12), fill=tone(bar, 0.72))
    draw.rounded_rectangle((44, 4, width - 12, 14), 5, fill=(248, 248, 248))
    draw.rectangle((0, 19, width, 36), fill=grey(rng, 52, 92))
    draw.rectangle((10, 24, 44, 31), fill=(222, 224, 226))
    for i in range(4):
        draw.rectangle((width - 22 - i * 28, 26, width - 8 - i * 28, 29), fill=(170, 172, 176))
    slot_w, slot_h = round(width * rng.uniform(0.34, 0.46)), round(height * rng.uniform(0.28, 0.38))
    x = 12 if rng.random() < 0.5 else width - 12 - slot_w
    y = 60
    text_x = 22 + slot_w if x == 12 else 12
    text_w = width - slot_w - 34
    draw.rectangle((12, 42, 12 + round(width * rng.uniform(0.5, 0.8)), 50), fill=(86, 88, 92))
    for i in range(slot_h // 8):
        draw.rectangle((text_x, y + i * 8, text_x + text_w * rng.uniform(0.7, 1), y + i * 8 + 3), fill=(176, 178, 182))
    draw.rectangle((x - 1, y - 1, x + slot_w + 1, y + slot_h + 1), fill=(206, 208, 210))
    image.paste(wash((slot_w, slot_h), grey(rng, 218, 236), grey(rng, 218, 236)), (x, y))
    below = y + slot_h + 12
    while below < height - 8:
        draw.rectangle((12, below, 12 + (width - 24) * rng.uniform(0.75, 1), below + 3), fill=(182, 184, 188))
        below += 9
    return image, (x, y, x + slot_w, y + slot_h)


def _landscape(size: Size, rng: Random) -> Image.Image:
    width, height = size
    image = wash(size, grey(rng, 176, 205), grey(rng, 214, 236))
    draw = ImageDraw.Draw(image)
    sun = rng.uniform(0.2, 0.8) * width
    draw.ellipse((sun - 16, 26, sun + 16, 58), fill=(240, 240, 234))
    for layer in range(3):
        base, fill = height * (0.5 + 0.16 * layer), tone((150, 156, 152), 1 - 0.2 * layer)
        ridge = [(width * i / 7, base + rng.uniform(-0.12, 0.06) * height) for i in range(8)]
        draw.polygon([(0, height), *ridge, (width, height)], fill=fill)
    for _ in range(rng.randint(4, 9)):
        x, y, h = rng.uniform(0, width), height * rng.uniform(0.78, 0.95), rng.uniform(14, 30)
        draw.polygon([(x, y - h), (x + h * 0.35, y), (x - h * 0.35, y)], fill=(74, 82, 76))
    return image


def _gathering(size: Size, rng: Random) -> Image.Image:
    image = wash(size, grey(rng, 40, 70), grey(rng, 110, 140))
    for row in range(4):
        crowd(image, rng, size[1] * (0.28 + 0.18 * row), grey(rng, 120 - 26 * row, 130 - 26 * row))
    return image


def _logo_wall(size: Size, rng: Random) -> Image.Image:
    image = Image.new("RGB", size, grey(rng, 226, 244))
    draw = ImageDraw.Draw(image)
    for row in range(6):
        for column in range(5):
            x, y = (column + 0.5 * (row % 2)) * size[0] / 4.6, 10 + row * size[1] / 5.8
            fill = grey(rng, 120, 170)
            choice = rng.randrange(3)
            if choice == 0:
                draw.ellipse((x, y, x + 18, y + 18), outline=fill, width=4)
            elif choice == 1:
                draw.polygon([(x + 9, y), (x + 18, y + 18), (x, y + 18)], fill=fill)
            else:
                draw.rectangle((x, y + 4, x + 18, y + 14), fill=fill)
            draw.rectangle((x + 22, y + 7, x + 38, y + 11), fill=tone(fill, 1.15))
    return image


def _building(size: Size, rng: Random) -> Image.Image:
    width, height = size
    image = wash(size, grey(rng, 190, 210), grey(rng, 222, 236))
    draw = ImageDraw.Draw(image)
    left, right, top = width * rng.uniform(0.1, 0.2), width * rng.uniform(0.8, 0.9), height * rng.uniform(0.14, 0.24)
    wall = grey(rng, 140, 180)
    draw.rectangle((left, top, right, height * 0.9), fill=wall)
    draw.rectangle((left - 6, top - 8, right + 6, top), fill=tone(wall, 0.8))
    columns, rows = rng.randint(5, 7), rng.randint(5, 7)
    for i in range(columns):
        for j in range(rows):
            x, y = left + (right - left) * (i + 0.25) / columns, top + (height * 0.72 - top) * (j + 0.3) / rows
            draw.rectangle((x, y, x + 12, y + 12), fill=tone(wall, rng.choice((0.55, 0.7, 1.25))))
    middle = (left + right) / 2
    draw.rectangle((middle - 14, height * 0.76, middle + 14, height * 0.9), fill=tone(wall, 0.4))
    draw.rectangle((0, height * 0.9, width, height), fill=grey(rng, 110, 130))
    return image


def _desk(size: Size, rng: Random) -> Image.Image:
    width, height = size
    image = wash(size, grey(rng, 200, 225), grey(rng, 180, 200))
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, height * 0.68, width, height), fill=grey(rng, 140, 165))
    x = width * rng.uniform(0.2, 0.4)
    draw.rounded_rectangle((x, height * 0.3, x + 96, height * 0.62), 4, fill=(52, 54, 58))
    draw.rectangle((x + 5, height * 0.3 + 5, x + 91, height * 0.62 - 5), fill=grey(rng, 150, 200))
    draw.polygon(
        [(x - 8, height * 0.74), (x + 104, height * 0.74), (x + 96, height * 0.62), (x, height * 0.62)],
        fill=(120, 122, 126),
    )
    draw.rectangle((width * 0.8, height * 0.5, width * 0.9, height * 0.7), fill=(236, 236, 234))
    draw.ellipse((width * 0.88, height * 0.54, width * 0.96, height * 0.64), outline=(236, 236, 234), width=4)
    return image


VIEWS: tuple[Callable[[Size, Random], Image.Image], ...] = (_landscape, _gathering, _logo_wall, _building, _desk)
