"""One drawn thing as a tile with a transparent background."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from PIL import Image

from wildenv.miniweb.look import Look
from wildenv.miniweb.pictures import goods, statues, vehicles, wearables
from wildenv.miniweb.pictures.pen import Pen

DRAWINGS: dict[tuple[str, str], tuple[float, Callable[[Pen], None]]] = {
    **goods.THINGS,
    **statues.THINGS,
    **vehicles.THINGS,
    **wearables.THINGS,
}


def aspect(look: Look) -> float:
    """Width of the thing divided by its height."""
    return DRAWINGS[look.kind, look.silhouette][0] / 100


@lru_cache(maxsize=256)
def thing(look: Look, height: int) -> Image.Image:
    """Draws a look `height` pixels high, cropped to what is visible (RGBA; do not modify: it is shared)."""
    width, draw = DRAWINGS[look.kind, look.silhouette]
    pen = Pen(look, width, height)
    draw(pen)
    tile = pen.finish()
    return tile.crop(tile.getchannel("A").point([0] * 64 + [255] * 192).getbbox())
