"""One small picture of many: what an episode was shown, on a grid, with ids below and a frame around what it chose.

It is for looking over a training run. Whether a picture shows what it should cannot be seen at this size; the episodes keep the
pictures as they were.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Sequence

from PIL import Image, ImageDraw

from wildenv.images import ImageStore

ACROSS = 8
"""Pictures side by side."""

MOST = 40
"""Pictures of a sheet; the first ones, for further ones stands a number."""

_FRAME = 3
_LABEL = 12
_CHOSEN = (230, 120, 0)
_QUALITY = 75


def contact_sheet(
    store: ImageStore, pictures: Sequence[tuple[str, str]], chosen: Collection[str] = (), side: int = 96
) -> Image.Image | None:
    """Draws a sheet.

    Args:
        store: Where the pictures are.
        pictures: ``(label, digest)`` of each, in order.
        chosen: Labels that get a frame.
        side: Longest side of a picture, in pixels.

    Returns:
        The sheet, or None if there are no pictures.

    Raises:
        DataError: If the store lacks a picture.
    """
    if not pictures:
        return None
    small = []
    for label, digest in pictures[:MOST]:
        image = store.get(digest)
        image.thumbnail((side, side), Image.Resampling.LANCZOS)
        small.append((label, image))
    width, height = side + 2 * _FRAME, side + 2 * _FRAME + _LABEL
    left_out = len(pictures) - len(small)
    cells = len(small) + (left_out > 0)
    across = min(ACROSS, cells)
    sheet = Image.new("RGB", (across * width, -(-cells // across) * height), "white")
    pen = ImageDraw.Draw(sheet)
    for number, (label, image) in enumerate(small):
        x, y = number % across * width, number // across * height
        if label in chosen:
            pen.rectangle((x, y, x + width - 1, y + side + 2 * _FRAME - 1), outline=_CHOSEN, width=_FRAME)
        sheet.paste(image, (x + _FRAME + (side - image.width) // 2, y + _FRAME + (side - image.height) // 2))
        pen.text((x + _FRAME, y + side + 2 * _FRAME), label, fill=_CHOSEN if label in chosen else "black")
    if left_out:
        pen.text((len(small) % across * width + _FRAME, len(small) // across * height + _FRAME), f"+{left_out}", fill="black")
    return sheet


def encode_sheet(sheet: Image.Image) -> bytes:
    """Returns JPEG bytes."""
    buffer = io.BytesIO()
    sheet.save(buffer, format="JPEG", quality=_QUALITY)
    return buffer.getvalue()
