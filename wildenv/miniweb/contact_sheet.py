"""Many pictures on one sheet, for the eyes of a person."""

from __future__ import annotations

from collections.abc import Sequence

from PIL import Image, ImageDraw, ImageFont

from wildenv.miniweb.pictures import Scene, render

CELL = 224
CAPTION = 28


def contact_sheet(scenes: Sequence[Scene], captions: Sequence[str], columns: int = 6) -> Image.Image:
    """Draws scenes in a grid with a caption under each.

    Args:
        scenes: What to draw.
        captions: One short text per scene; a newline starts the second of at most two lines.
        columns: Pictures in a row.

    Returns:
        An RGB sheet.

    Raises:
        ValueError: Nothing to draw, a caption too few or too many, or no columns.
    """
    if not scenes or len(scenes) != len(captions) or columns < 1:
        raise ValueError(
            f"need at least one scene, as many captions, and columns >= 1; got {len(scenes)}, {len(captions)}, {columns}"
        )
    rows = -(-len(scenes) // columns)
    sheet = Image.new("RGB", (columns * (CELL + 8) + 8, rows * (CELL + CAPTION + 8) + 8), (255, 255, 255))
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(11)
    for i, (scene, caption) in enumerate(zip(scenes, captions, strict=True)):
        x, y = 8 + i % columns * (CELL + 8), 8 + i // columns * (CELL + CAPTION + 8)
        picture = render(scene).image
        picture.thumbnail((CELL, CELL), Image.Resampling.LANCZOS)
        sheet.paste(picture, (x + (CELL - picture.width) // 2, y + (CELL - picture.height) // 2))
        draw.multiline_text((x, y + CELL + 2), caption, font=font, fill=(40, 40, 40), spacing=1)
    return sheet
