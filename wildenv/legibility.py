"""When a thing in a picture, or in a crop of it, is large and whole enough for its details to be made out.

One rule for the oracle judge and for the statistics of the miniweb. It knows sizes only, not light, blur or obstruction.
"""

from __future__ import annotations

from dataclasses import dataclass

from wildenv.images import Box

MIN_SIDE = 40
"""Least width and height, in pixels of the downloaded picture."""
MIN_SHARE = 0.7
"""Least share of the thing's box that must be visible."""
ILLEGIBLE_SHOTS = frozenset({"screenshot"})
"""Kinds of picture that are no usable view at any size: a thumbnail on a photographed web page."""
WHOLE: Box = (0, 0, 1000, 1000)


@dataclass(frozen=True, slots=True)
class View:
    """How a crop shows a thing.

    Attributes:
        share: Visible share of the thing's box, 0..1.
        width: Of the visible part, in pixels of the downloaded picture.
        height: As `width`.
    """

    share: float
    width: int
    height: int

    @classmethod
    def of(cls, box: Box, size: tuple[int, int], crop: Box = WHOLE) -> View:
        """Returns how a crop shows a thing.

        Args:
            box: Where the thing is, in 0..1000 of the picture.
            size: ``(width, height)`` of the picture in pixels.
            crop: The part of the picture that is shown, in 0..1000.
        """
        across = max(0, min(box[2], crop[2]) - max(box[0], crop[0]))
        down = max(0, min(box[3], crop[3]) - max(box[1], crop[1]))
        share = across * down / ((box[2] - box[0]) * (box[3] - box[1]))
        return cls(round(share, 3), round(across * size[0] / 1000), round(down * size[1] / 1000))

    def legible(self, shot: str) -> bool:
        """Whether details can be made out, in that kind of picture."""
        return shot not in ILLEGIBLE_SHOTS and self.share >= MIN_SHARE and min(self.width, self.height) >= MIN_SIDE
