"""The embedded generator: draws the scene a prompt names and sets the references up in it as they are.

It needs no model and no network, and its pictures show what they are said to show. Place, things beside the target and moment
are drawn from the prompt as `wildenv.generators.scene` reads it. Each reference stands in the scene as a board: its whole
picture, scaled, so that what a reference should have been cut free of comes along. It does not draw the target in a new pose, and
understands nothing of the prompt beyond those words.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from random import Random

from PIL import Image, ImageDraw, ImageOps

from wildenv.generators.drawings.canvas import HEIGHT, WIDTH, Canvas
from wildenv.generators.drawings.companions import COMPANIONS
from wildenv.generators.drawings.grounds import FEET, FOOT, GROUNDS
from wildenv.generators.drawings.light import DAY, MOMENTS
from wildenv.generators.drawings.rooms import ROOMS
from wildenv.generators.scene import Scene, scene_of
from wildenv.miniweb.pictures.backdrops import shadow

SIZE = (WIDTH, HEIGHT)
"""``(width, height)`` of every picture, in pixels."""

_COLUMNS = (388.0, 60.0)
"""Where the things beside the target stand."""
_ROOM = (16, 318)
"""Left and right end of where the references stand; the second thing beside them takes `_SECOND` of it."""
_SECOND = 88
_TALLEST = 190
_MARGIN = 5


class Compositor:
    """Implements `wildenv.generators.base.Generator`. Fails never; the same prompt, references and seed give the same bytes."""

    id = "compositor-1"
    needs_references = False

    async def generate(self, prompt: str, references: Sequence[Image.Image], seed: int) -> Image.Image:
        """Returns an RGB picture of `SIZE`."""
        return compose(scene_of(prompt), references, seed)


def compose(scene: Scene, references: Sequence[Image.Image], seed: int) -> Image.Image:
    """Draws a scene and sets references up in it.

    Args:
        scene: What surrounds them.
        references: From left to right.
        seed: Chooses the side the references stand on, and all that is incidental.
    """
    rng = Random(f"compositor:{seed}:{scene.place}:{scene.neighbours}:{scene.moment}")
    mirrored = rng.random() < 0.5
    image = _surroundings(scene, rng)
    if mirrored:
        image = ImageOps.mirror(image)
    left, right = _ROOM
    if len(scene.neighbours) > 1:
        left += _SECOND
    if mirrored:
        left, right = WIDTH - right, WIDTH - left
    _set_up(image, references, left, right, FEET.get(scene.place, FOOT))
    return image


def _surroundings(scene: Scene, rng: Random) -> Image.Image:
    moment = MOMENTS[scene.moment] if scene.moment else DAY
    image = moment.paint_sky(rng)
    canvas = Canvas()
    if scene.indoors:
        ROOMS[scene.place](canvas, rng)
    elif scene.place:
        GROUNDS[scene.place](canvas, rng)
    else:
        # Only a floor: the sky tells the moment.
        canvas.shaded(0, 214, WIDTH, HEIGHT, (206, 204, 200), (228, 226, 222))
    foot = FEET.get(scene.place, FOOT)
    for neighbour, x in zip(scene.neighbours, _COLUMNS, strict=False):
        shadow(canvas.image, 2 * x, 2 * foot - 2, 104, 15)
        COMPANIONS[neighbour](canvas, x, foot, rng)
    image.alpha_composite(moment.light(canvas.finish(), scene.indoors))
    if not scene.indoors:
        moment.paint_air(image, rng)
    return image.convert("RGB")


def _set_up(image: Image.Image, references: Sequence[Image.Image], left: int, right: int, foot: int) -> None:
    if not references:
        return
    draw = ImageDraw.Draw(image)
    rows = max(1, round(sqrt(len(references) / 2)))
    columns = -(-len(references) // rows)
    across, down = (right - left) / columns, _TALLEST / rows
    margin = min(_MARGIN, max(1, int(across * 0.06)))
    for number, reference in enumerate(references):
        row, column = divmod(number, columns)
        in_row = min(columns, len(references) - row * columns)
        scale = min((across - 4 * margin) / reference.width, (down - 2 * margin) / reference.height)
        width, height = max(1, round(reference.width * scale)), max(1, round(reference.height * scale))
        x = round((left + right) / 2 + across * (column - (in_row - 1) / 2) - width / 2)
        stand = foot - round(down * (rows - 1 - row))
        y = stand - 8 - margin - height
        shadow(image, x + width / 2, stand - 2, width * 0.62 + 6, 9, 120)
        for leg in (0.2, 0.8):
            draw.rectangle((x + width * leg - 3, y + height, x + width * leg + 3, stand), fill=(92, 66, 44))
        draw.rectangle((x - margin, y - margin, x + width + margin - 1, y + height + margin - 1), fill=(250, 250, 248))
        image.paste(reference.convert("RGB").resize((width, height), Image.Resampling.LANCZOS), (x, y))
