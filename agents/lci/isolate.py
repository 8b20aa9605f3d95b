"""Isolate: cut the verified thing out of a frame it shares with others (Savanna, section 3.1)."""

from __future__ import annotations

from agents.lci.corroborate import CLEAR, Match, size

_MARGIN = 40
_GRID = 20


def crop_box(match: Match) -> list[int] | None:
    """Returns the box to cut, in 0..1000, or None if the thing stands alone and fills enough of the frame.

    Box corners lie on a coarse grid, outwards, so that a crop never cuts into the thing.
    """
    x1, y1, x2, y2 = match.sighting.box
    if match.alone and size(match.sighting) >= CLEAR:
        return None
    return [
        max(0, (x1 - _MARGIN) // _GRID * _GRID),
        max(0, (y1 - _MARGIN) // _GRID * _GRID),
        min(1000, -(-(x2 + _MARGIN) // _GRID) * _GRID),
        min(1000, -(-(y2 + _MARGIN) // _GRID) * _GRID),
    ]
