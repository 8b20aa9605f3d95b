"""Connected components of a boolean map, in plain numpy: runs of each row joined by union-find."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Blob:
    """One 8-connected component: its number in the label map, pixel box (x0, y0, x1, y1; ends excluded) and area."""

    number: int
    box: tuple[int, int, int, int]
    area: int


def grow(mask: Mask, radius: int) -> Mask:
    """Dilates a mask by a square of side 2 * radius + 1."""
    out = mask
    for _ in range(radius):
        wide = out.copy()
        wide[:, 1:] |= out[:, :-1]
        wide[:, :-1] |= out[:, 1:]
        out = wide.copy()
        out[1:] |= wide[:-1]
        out[:-1] |= wide[1:]
    return out


def components(mask: Mask) -> tuple[NDArray[np.int32], list[Blob]]:
    """Labels 8-connected components.

    Args:
        mask: Boolean map (H, W).

    Returns:
        The label map (H, W), 0 where the mask is False, and the blobs in order of their numbers 1..n.
    """
    height, width = mask.shape
    padded = np.zeros((height, width + 2), dtype=np.int8)
    padded[:, 1:-1] = mask
    step = np.diff(padded, axis=1)
    rows, starts = np.nonzero(step == 1)
    ends = np.nonzero(step == -1)[1]
    n = len(rows)
    parent = list(range(n))

    def find(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    row_list, start_list, end_list = rows.tolist(), starts.tolist(), ends.tolist()
    above = 0
    for i in range(n):
        y, x0, x1 = row_list[i], start_list[i], end_list[i]
        while above < i and (row_list[above] < y - 1 or (row_list[above] == y - 1 and end_list[above] < x0)):
            above += 1
        j = above
        while j < i and row_list[j] == y - 1 and start_list[j] <= x1:
            a, b = find(i), find(j)
            if a != b:
                parent[max(a, b)] = min(a, b)
            j += 1
    numbers: dict[int, int] = {}
    labels = np.zeros(mask.shape, dtype=np.int32)
    boxes: list[list[int]] = []
    for i in range(n):
        root = find(i)
        y, x0, x1 = row_list[i], start_list[i], end_list[i]
        number = numbers.get(root)
        if number is None:
            numbers[root] = number = len(boxes) + 1
            boxes.append([x0, y, x1, y + 1, 0])
        box = boxes[number - 1]
        box[0], box[2], box[3] = min(box[0], x0), max(box[2], x1), y + 1
        box[4] += x1 - x0
        labels[y, x0:x1] = number
    return labels, [Blob(i + 1, (b[0], b[1], b[2], b[3]), b[4]) for i, b in enumerate(boxes)]
