"""A small drawing surface for one thing, in design units.

Drawing code works in units in which the thing is 100 high and `width` wide; the pen scales, supersamples and keeps the
background transparent. Shapes are flat or shaded; nothing here knows what it draws, and no randomness enters.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import cos, pi, sin

from PIL import Image, ImageChops, ImageDraw, ImageFont

from wildenv.miniweb.look import PALETTE, Look
from wildenv.miniweb.pictures.patterns import emblem_points, paint_pattern

Points = Sequence[tuple[float, float]]
Colour = tuple[int, int, int]

SUPERSAMPLE = 2
INK: Colour = (38, 40, 46)
STEEL: Colour = (150, 154, 160)
SLATE: Colour = (94, 98, 104)
SILVER: Colour = (205, 208, 212)
WHITE: Colour = (248, 248, 246)
GLASS: Colour = (72, 80, 92)
SKIN: Colour = (222, 206, 194)


@lru_cache(maxsize=1024)
def smooth(points: tuple[tuple[float, float], ...], steps: int = 6) -> tuple[tuple[float, float], ...]:
    """Rounds a closed outline: a Catmull-Rom curve through `points`, `steps` samples a segment."""
    n = len(points)
    out = []
    for i in range(n):
        (x0, y0), (x1, y1), (x2, y2), (x3, y3) = (points[(i + k - 1) % n] for k in range(4))
        for step in range(steps):
            t = step / steps
            a, b, c, d = -t + 2 * t**2 - t**3, 2 - 5 * t**2 + 3 * t**3, t + 4 * t**2 - 3 * t**3, t**3 - t**2
            out.append(((a * x0 + b * x1 + c * x2 + d * x3) / 2, (a * y0 + b * y1 + c * y2 + d * y3) / 2))
    return tuple(out)


@lru_cache(maxsize=256)
def oval(cx: float, cy: float, rx: float, ry: float, start: float = 0.0, stop: float = 2.0) -> Points:
    """Points of an ellipse (or an arc of it, angles in units of pi, clockwise from the right)."""
    n = 40
    return tuple(
        (cx + rx * cos(pi * (start + (stop - start) * i / n)), cy + ry * sin(pi * (start + (stop - start) * i / n)))
        for i in range(n + 1)
    )


@lru_cache(maxsize=64)
def _gradient(width: int, height: int) -> Image.Image:
    return Image.linear_gradient("L").resize((width, height), Image.Resampling.BILINEAR)


@lru_cache(maxsize=64)
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def shade(colour: Colour, factor: float) -> Colour:
    """Darkens (`factor` < 1) or lightens towards white (`factor` > 1) a colour."""
    if factor <= 1:
        return (int(colour[0] * factor), int(colour[1] * factor), int(colour[2] * factor))
    lift = factor - 1
    r, g, b = (int(c + (255 - c) * lift) for c in colour)
    return (r, g, b)


class Pen:
    """Draws one thing of `width` x 100 units onto a transparent tile of `height_px` pixels height."""

    def __init__(self, look: Look, width: float, height_px: int) -> None:
        self.look = look
        self.width = width
        self.scale = height_px * SUPERSAMPLE / 100
        self.height_px = height_px
        self.size = (
            max(SUPERSAMPLE, round(width * height_px / 100) * SUPERSAMPLE),
            height_px * SUPERSAMPLE,
        )
        self.image = Image.new("RGBA", self.size, (0, 0, 0, 0))
        self._draw = ImageDraw.Draw(self.image)
        self.main = PALETTE[look.main]
        self.trim = PALETTE[look.trim]
        self.accent = PALETTE[look.accent]

    def finish(self) -> Image.Image:
        """Returns the RGBA tile at native size."""
        return self.image.reduce(SUPERSAMPLE)

    def _px(self, points: Points) -> list[tuple[float, float]]:
        s = self.scale
        return [(x * s, y * s) for x, y in points]

    def poly(self, points: Points, fill: Colour, outline: Colour | None = None, line: float = 1.0) -> None:
        """Fills a polygon."""
        px = self._px(points)
        self._draw.polygon(px, fill=fill)
        if outline is not None:
            self._draw.line([*px, px[0], px[1]], fill=outline, width=max(1, round(line * self.scale)), joint="curve")

    def blob(self, points: tuple[tuple[float, float], ...], fill: Colour, outline: Colour | None = None) -> None:
        """Fills a rounded outline."""
        self.poly(smooth(points), fill, outline)

    def oval(self, cx: float, cy: float, rx: float, ry: float, fill: Colour, outline: Colour | None = None) -> None:
        """Fills an ellipse."""
        s = self.scale
        self._draw.ellipse(
            ((cx - rx) * s, (cy - ry) * s, (cx + rx) * s, (cy + ry) * s),
            fill=fill,
            outline=outline,
            width=max(1, round(s)),
        )

    def rect(self, x0: float, y0: float, x1: float, y1: float, fill: Colour, radius: float = 0.0) -> None:
        """Fills a rectangle with rounded corners."""
        s = self.scale
        self._draw.rounded_rectangle((x0 * s, y0 * s, x1 * s, y1 * s), radius=radius * s, fill=fill)

    def line(self, points: Points, fill: Colour, width: float) -> None:
        """Draws a thick open line with round joints."""
        px = self._px(points)
        w = max(1, round(width * self.scale))
        self._draw.line(px, fill=fill, width=w, joint="curve")

    def glow(self, points: Points, fill: Colour, alpha: int) -> None:
        """Fills a polygon translucently, only where the thing already is."""
        mask = Image.new("L", self.size, 0)
        ImageDraw.Draw(mask).polygon(self._px(points), fill=alpha)
        mask = ImageChops.multiply(mask, self.image.getchannel("A"))
        self.image.paste(fill, (0, 0), mask)

    def body(
        self,
        *outlines: Points,
        panel: tuple[float, float, float, float] | None = None,
        pattern: bool = True,
        dark: int = 70,
        across: bool = False,
    ) -> None:
        """Fills outlines with the main colour, the look's pattern in the trim colour, and soft shading.

        Args:
            outlines: One or more polygons that together are the body.
            panel: Box the pattern is laid out in; the body's bounding box by default.
            pattern: False leaves the body in the main colour.
            dark: Strength of the shading, 0-255.
            across: Shade from left to right instead of from top to bottom.
        """
        mask = Image.new("L", self.size, 0)
        draw = ImageDraw.Draw(mask)
        for outline in outlines:
            draw.polygon(self._px(outline), fill=255)
        box = mask.getbbox()
        if box is None:
            return
        paint = Image.new("RGB", self.size, self.main)
        if pattern:
            s = self.scale
            laid = (panel[0] * s, panel[1] * s, panel[2] * s, panel[3] * s) if panel else box
            paint_pattern(ImageDraw.Draw(paint), self.look.pattern, laid, self.trim)
        self.image.paste(paint, (0, 0), mask)
        self._shade(mask, box, dark, across)
        edge = shade(self.main, 0.55)
        for outline in outlines if len(outlines) == 1 else ():
            px = self._px(outline)
            self._draw.line([*px, px[0]], fill=edge, width=max(2, round(0.9 * self.scale)), joint="curve")

    def _shade(self, mask: Image.Image, box: tuple[int, int, int, int], dark: int, across: bool) -> None:
        width, height = box[2] - box[0], box[3] - box[1]
        ramp = _gradient(height, width).transpose(Image.Transpose.ROTATE_90) if across else _gradient(width, height)
        part = ImageChops.multiply(mask.crop(box), ramp)
        self.image.paste((0, 0, 0), box[:2], part.point([v * dark // 255 for v in range(256)]))
        light = ImageChops.multiply(mask.crop(box), ImageChops.invert(ramp))
        self.image.paste((255, 255, 255), box[:2], light.point([max(0, v - 150) * dark // 200 for v in range(256)]))

    def emblem(self, cx: float, cy: float, radius: float) -> None:
        """Draws the emblem in the accent colour on a white badge; a ring of the main colour parts it from the pattern."""
        self.oval(cx, cy, radius * 1.26, radius * 1.26, self.main)
        self.oval(cx, cy, radius, radius, WHITE)
        if self.look.emblem == "ring":
            self.oval(cx, cy, radius * 0.76, radius * 0.76, self.accent)
            self.oval(cx, cy, radius * 0.3, radius * 0.3, WHITE)
            return
        points = emblem_points(self.look.emblem)
        self.poly([(cx + x * radius * 0.84, cy + y * radius * 0.84) for x, y in points], self.accent)

    def wordmark(self, cx: float, cy: float, height: float, widest: float) -> None:
        """Draws the wordmark on a dark plate centred at (cx, cy), where it can still be read."""
        text = self.look.wordmark
        size = round(height * self.scale)
        if not text or size < 7 * SUPERSAMPLE:
            return
        font = _font(size)
        length = font.getlength(text)
        if length > widest * self.scale:
            size = int(size * widest * self.scale / length)
            if size < 7 * SUPERSAMPLE:
                return
            font = _font(size)
            length = font.getlength(text)
        x, y, half = cx * self.scale, cy * self.scale, length / 2 + size * 0.25
        self._draw.rounded_rectangle((x - half, y - size * 0.6, x + half, y + size * 0.6), size * 0.2, fill=INK)
        self._draw.text((x, y), text, font=font, fill=WHITE, anchor="mm")

    def wheel(self, cx: float, cy: float, radius: float) -> None:
        """Draws a tyre with a trim-coloured rim and a light hub."""
        self.oval(cx, cy, radius, radius, INK)
        self.oval(cx, cy, radius * 0.56, radius * 0.56, self.trim)
        self.oval(cx, cy, radius * 0.3, radius * 0.3, SILVER)
