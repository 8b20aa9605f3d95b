"""A drawing surface of fixed size in pixels of the finished picture; smooth edges, transparent where nothing is drawn."""

from __future__ import annotations

from collections.abc import Sequence

from PIL import Image, ImageDraw

from wildenv.miniweb.pictures.backdrops import wash

Colour = tuple[int, int, int]
Points = Sequence[tuple[float, float]]

WIDTH, HEIGHT = 448, 336
"""Of a finished picture, in pixels."""
_FINE = 2


class Canvas:
    """Draws at twice the size; `finish` returns the picture."""

    def __init__(self) -> None:
        self.image = Image.new("RGBA", (WIDTH * _FINE, HEIGHT * _FINE), (0, 0, 0, 0))
        self._draw = ImageDraw.Draw(self.image)

    def finish(self) -> Image.Image:
        """Returns the RGBA picture, `WIDTH` x `HEIGHT`."""
        return self.image.reduce(_FINE)

    def rect(self, x0: float, y0: float, x1: float, y1: float, fill: Colour, radius: float = 0.0) -> None:
        """Fills a rectangle."""
        box = (x0 * _FINE, y0 * _FINE, x1 * _FINE, y1 * _FINE)
        self._draw.rounded_rectangle(box, radius * _FINE, fill=fill)

    def shaded(self, x0: int, y0: int, x1: int, y1: int, top: Colour, bottom: Colour) -> None:
        """Fills a rectangle from one colour to another, downwards."""
        self.image.paste(wash(((x1 - x0) * _FINE, (y1 - y0) * _FINE), top, bottom), (x0 * _FINE, y0 * _FINE))

    def oval(self, cx: float, cy: float, rx: float, ry: float, fill: Colour) -> None:
        """Fills an ellipse."""
        self._draw.ellipse(((cx - rx) * _FINE, (cy - ry) * _FINE, (cx + rx) * _FINE, (cy + ry) * _FINE), fill=fill)

    def ring(self, cx: float, cy: float, radius: float, fill: Colour, width: float) -> None:
        """Draws a circle."""
        box = ((cx - radius) * _FINE, (cy - radius) * _FINE, (cx + radius) * _FINE, (cy + radius) * _FINE)
        self._draw.ellipse(box, outline=fill, width=max(1, round(width * _FINE)))

    def pie(self, cx: float, cy: float, rx: float, ry: float, start: float, stop: float, fill: Colour) -> None:
        """Fills a slice of an ellipse; degrees, clockwise from the right."""
        box = ((cx - rx) * _FINE, (cy - ry) * _FINE, (cx + rx) * _FINE, (cy + ry) * _FINE)
        self._draw.pieslice(box, start, stop, fill=fill)

    def arc(self, cx: float, cy: float, rx: float, ry: float, start: float, stop: float, fill: Colour, width: float) -> None:
        """Draws a part of an ellipse; degrees, clockwise from the right."""
        box = ((cx - rx) * _FINE, (cy - ry) * _FINE, (cx + rx) * _FINE, (cy + ry) * _FINE)
        self._draw.arc(box, start, stop, fill=fill, width=max(1, round(width * _FINE)))

    def poly(self, points: Points, fill: Colour) -> None:
        """Fills a polygon."""
        self._draw.polygon([(x * _FINE, y * _FINE) for x, y in points], fill=fill)

    def line(self, points: Points, fill: Colour, width: float) -> None:
        """Draws a line."""
        self._draw.line([(x * _FINE, y * _FINE) for x, y in points], fill=fill, width=max(1, round(width * _FINE)), joint="curve")

    def clear(self, x0: float, y0: float, x1: float, y1: float) -> None:
        """Cuts a hole, such as the glass of a window."""
        self._draw.rectangle((x0 * _FINE, y0 * _FINE, x1 * _FINE, y1 * _FINE), fill=(0, 0, 0, 0))
