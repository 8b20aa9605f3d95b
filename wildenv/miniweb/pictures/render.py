"""Draws a scene: the same scene gives the same bytes, always.

The boxes are those of the drawn things themselves; shadows and backgrounds are not part of them. No promise is made
that every attribute can be read in every shot: a stage photo or a screenshot may be too small for that.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor
from random import Random

from PIL import Image

from wildenv.miniweb.look import Look
from wildenv.miniweb.pictures import backdrops
from wildenv.miniweb.pictures.scene import Scene
from wildenv.miniweb.pictures.things import aspect, thing

Box = tuple[int, int, int, int]

SQUARE = (224, 224)
WIDE = (280, 168)
TALL = (168, 252)
# (size, rows, columns) a line-up may be laid out in, by number of things.
LAYOUTS: dict[int, tuple[tuple[tuple[int, int], int, int], ...]] = {
    2: (((336, 168), 1, 2), ((224, 224), 2, 1), ((224, 224), 1, 2)),
    3: (((336, 168), 1, 3), ((280, 224), 2, 2), ((196, 280), 3, 1)),
    4: (((336, 168), 1, 4), ((280, 224), 2, 2), ((308, 196), 2, 2)),
}


@dataclass(frozen=True, slots=True)
class Rendered:
    """A drawn scene.

    Attributes:
        image: RGB picture; both sides are multiples of 28 pixels.
        boxes: One (x0, y0, x1, y1) per subject, in 0..1000 of the picture's width and height, tight around the thing.
    """

    image: Image.Image
    boxes: tuple[Box, ...]


def render(scene: Scene) -> Rendered:
    """Draws a scene.

    Args:
        scene: What to draw; its seed chooses everything incidental.

    Returns:
        The picture and where its subjects are.
    """
    rng = Random(f"picture:{scene.shot}:{scene.seed}")  # a string seed is hashed with SHA-512, stable across processes
    match scene.shot:
        case "press":
            return _press(scene.subjects[0], rng)
        case "lineup":
            return _lineup(scene.subjects, rng)
        case "stage":
            return _stage(scene.subjects, rng)
        case "fan":
            return _fan(scene.subjects[0], rng)
        case "screenshot":
            return _screenshot(scene.subjects[0], rng)
        case _:
            return Rendered(rng.choice(backdrops.VIEWS)(SQUARE, rng), ())


def _frame(look: Look) -> tuple[int, int]:
    shape = aspect(look)
    return WIDE if shape > 1.45 else TALL if shape < 0.64 else SQUARE


def _fit(look: Look, width: float, height: float) -> Image.Image:
    return thing(look, max(8, int(min(height, width / aspect(look)))))


def _place(image: Image.Image, tile: Image.Image, x: float, y: float) -> Box:
    """Pastes a tile with its top left corner at (x, y) pixels and returns its box in 0..1000."""
    left, top = round(x), round(y)
    image.paste(tile, (left, top), tile)
    width, height = image.size
    right, bottom = min(width, left + tile.width), min(height, top + tile.height)
    left, top = max(0, left), max(0, top)
    return (
        floor(1000 * left / width),
        floor(1000 * top / height),
        ceil(1000 * right / width),
        ceil(1000 * bottom / height),
    )


def _stand(image: Image.Image, tile: Image.Image, cx: float, foot: float, strength: int = 90) -> Box:
    backdrops.shadow(image, cx, foot - 1, tile.width * 0.55, max(4.0, tile.width * 0.07), strength)
    return _place(image, tile, cx - tile.width / 2, foot - tile.height)


def _press(look: Look, rng: Random) -> Rendered:
    size = _frame(look)
    image = backdrops.studio(size, rng)
    share = rng.uniform(0.74, 0.84)
    tile = _fit(look, size[0] * share, size[1] * share)
    cx = size[0] / 2 + rng.uniform(-0.02, 0.02) * size[0]
    foot = (size[1] + tile.height) / 2 + size[1] * 0.02
    return Rendered(image, (_stand(image, tile, cx, foot),))


def _lineup(looks: tuple[Look, ...], rng: Random) -> Rendered:
    shapes = [aspect(look) for look in looks]

    def smallest(layout: tuple[tuple[int, int], int, int]) -> float:
        (width, height), rows, columns = layout
        return min(shape * min(height / rows, width / columns / shape) ** 2 for shape in shapes)

    size, rows, columns = max(LAYOUTS[len(looks)], key=smallest)  # the layout that shows the smallest thing largest
    image = backdrops.studio(size, rng)
    cell_w, cell_h = size[0] / columns, size[1] / rows
    share = rng.uniform(0.78, 0.84)
    boxes = []
    for i, look in enumerate(looks):
        row, column = divmod(i, columns)
        in_row = min(columns, len(looks) - row * columns)
        cx = size[0] / 2 + (column - (in_row - 1) / 2) * cell_w
        tile = _fit(look, cell_w * share, cell_h * share)
        foot = cell_h * row + (cell_h + tile.height) / 2 + cell_h * 0.02
        boxes.append(_stand(image, tile, cx, foot))
    return Rendered(image, tuple(boxes))


def _stage(looks: tuple[Look, ...], rng: Random) -> Rendered:
    size = WIDE if len(looks) == 2 or aspect(looks[0]) > 1.45 else SQUARE
    image = backdrops.hall(size, rng)
    width, height = size
    boxes = []
    share = rng.uniform(0.36, 0.45)
    for i, look in enumerate(looks):
        tile = _fit(look, width * 0.8 / len(looks), height * share)
        cx = width * (i + 0.5) / len(looks) + rng.uniform(-0.04, 0.04) * width
        boxes.append(_stand(image, tile, cx, height * 0.78, 120))
    backdrops.crowd(image, rng, height * 0.82, (14, 14, 18))
    return Rendered(image, tuple(boxes))


def _fan(look: Look, rng: Random) -> Rendered:
    size = _frame(look)
    image = backdrops.street(size, rng)
    share = rng.uniform(0.58, 0.78)
    tile = _fit(look, size[0] * share, size[1] * share)
    tile = tile.rotate(rng.uniform(-7, 7), Image.Resampling.BILINEAR, expand=True)
    tile = tile.crop(tile.getchannel("A").point([0] * 64 + [255] * 192).getbbox())
    cx, foot = size[0] * rng.uniform(0.44, 0.56), (size[1] + tile.height) / 2 + size[1] * rng.uniform(0.0, 0.08)
    if rng.random() < 0.25:  # an edge slips out of the frame
        cx += rng.choice((-1, 1)) * ((size[0] - tile.width) / 2 + tile.width * 0.05)
    box = _stand(image, tile, cx, foot, 110)
    exposure, warmth = rng.uniform(0.82, 1.12), rng.uniform(-0.05, 0.05)
    gains = (exposure * (1 + warmth), exposure, exposure * (1 - warmth))
    return Rendered(image.point([min(255, int(v * gain + 4)) for gain in gains for v in range(256)]), (box,))


def _screenshot(look: Look, rng: Random) -> Rendered:
    image, (x0, y0, x1, y1) = backdrops.web_page(SQUARE, rng)
    tile = _fit(look, (x1 - x0) * 0.8, (y1 - y0) * 0.84)
    return Rendered(image, (_place(image, tile, (x0 + x1 - tile.width) / 2, (y0 + y1 - tile.height) / 2),))
