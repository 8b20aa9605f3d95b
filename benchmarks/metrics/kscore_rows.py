"""Rows judged on KnowGen's four axes: how the official code reads and scores one, and how we do.

A row is ``{"id", "ok", "generated", "reference", "prompt", "reply"}`` and what the benchmark adds: the success flag of the
rendering, whether both pictures and the prompt are there, and the judge's reply: an object, text, or None for a failed call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.metrics.outcome import StoppedError
from wildenv.errors import DataError

Row = Mapping[str, Any]
Reading = Callable[[str], dict[str, Any] | None]

AXES = ("faithfulness", "visual_correctness", "text_accuracy", "aesthetics")
WEIGHTS = (0.1, 0.4, 0.4, 0.1)
TEXT = "text_accuracy"
NO_TEXT = 0.5
"""What the text axis of a row without text counts as."""

GRID = (0.0, 0.5, 1.0)
_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")


@dataclass(frozen=True, slots=True)
class Scored:
    """One row with its scores, as in the official result file.

    Attributes:
        row: The row it was made of.
        state: ``scored``, ``failed`` (the judge was asked or the prompt is blank) or ``not_evaluated``.
        scores: By axis; empty unless scored.
        text_na: Whether the picture needs no text.
        overall: K-Score of the row.
    """

    row: Row
    state: str
    scores: Mapping[str, float]
    text_na: bool = False
    overall: float = 0.0


def total(axes: Sequence[float]) -> float:
    """Returns the weighted sum of four axes in the order of `AXES`."""
    f, v, t, a = axes
    return WEIGHTS[0] * f + WEIGHTS[1] * v + WEIGHTS[2] * t + WEIGHTS[3] * a


def read_json(text: str) -> dict[str, Any] | None:
    """Reads the object in a reply, from its first brace to its last; a comma before a closing bracket is forgiven."""
    begin, end = text.find("{"), text.rfind("}")
    if begin < 0 or end < begin:
        return None
    body = text[begin : end + 1]
    for written in (body, _TRAILING_COMMA.sub("", body)):
        try:
            found = json.loads(written)
        except ValueError:
            continue
        return found if isinstance(found, dict) else None
    return None


def official_records(rows: Sequence[Row], usable: Callable[[Row], bool], reading: Reading) -> list[Scored]:
    """Scores rows as the official programs do, ids that are missing or there twice included.

    Args:
        rows: In order.
        usable: Whether a row says that its picture was made.
        reading: How the text of a reply is read.

    Raises:
        StoppedError: If a row is no object.
    """
    for row in rows:
        if not isinstance(row, Mapping):
            raise StoppedError("AttributeError", f"a row is {row!r}, not an object")
    kept: dict[str, Scored] = {}
    for row in rows:
        if usable(row) and row["generated"] and row["reference"]:
            kept[str(row.get("id"))] = _judged(row, reading)
    return [kept.get(str(row.get("id", number)), Scored(row, "not_evaluated", {})) for number, row in enumerate(rows)]


def _judged(row: Row, reading: Reading) -> Scored:
    reply = row["reply"]
    given = None if reply is None else reading(reply if isinstance(reply, str) else json.dumps(reply))
    failed = Scored(row, "failed", {})
    if not row["prompt"] or given is None:
        return failed
    scores: dict[str, float] = {}
    text_na = given.get("text_accuracy_na") in (True, "true", "True")
    for axis in AXES:
        try:
            scores[axis] = round(max(0.0, min(1.0, float(given.get(axis, 0)))), 2)
        except (TypeError, ValueError):
            if axis != TEXT:
                return failed
            text_na = True
    if text_na:
        scores[TEXT] = NO_TEXT
    return Scored(row, "scored", scores, text_na, round(total([scores[axis] for axis in AXES]), 2))


def component_means(scored: Sequence[Scored]) -> dict[str, float]:
    """Returns the rounded mean of each axis, the text axis over the rows that need text, and their rounded weighted sum."""
    if not scored:
        return {**dict.fromkeys(AXES, 0.0), "overall": 0.0, "count": 0}
    means = {axis: round(_mean([one.scores[axis] for one in scored]), 4) for axis in AXES}
    texts = [one.scores[TEXT] for one in scored if not one.text_na]
    means[TEXT] = round(_mean(texts), 4) if texts else NO_TEXT
    return {**means, "overall": round(total([means[axis] for axis in AXES]), 4), "count": len(scored)}


@dataclass(frozen=True, slots=True)
class Strict:
    """The strict reading of a row.

    Attributes:
        axes: In the order of `AXES`, None for the text of a picture that needs none; None altogether if the row is unscored.
        missing: Whether there is no picture; its axes are zero.
    """

    axes: tuple[float | None, ...] | None
    missing: bool = False


def strict_row(row: Row) -> Strict:
    """Reads a row strictly: off-grid scores, missing keys, booleans and texts in place of numbers leave it unscored.

    Raises:
        DataError: If the success flag is no boolean, or the task has no prompt or reference picture.
    """
    if not isinstance(row.get("ok"), bool | None):
        raise DataError(f"row {row.get('id')!r}: 'ok' is {row['ok']!r}; strict figures need true or false")
    if row.get("ok") is not True or row["generated"] is not True:
        return Strict((0.0, 0.0, 0.0, 0.0), missing=True)
    if not row["prompt"] or not row["reference"]:
        raise DataError(f"row {row.get('id')!r} has no prompt or no reference picture; it cannot be judged")
    reply = row["reply"]
    given = read_json(reply) if isinstance(reply, str) else reply
    if not isinstance(given, Mapping):
        return Strict(None)
    no_text = given.get("text_accuracy_na", False)
    if not isinstance(no_text, bool):
        return Strict(None)
    axes: list[float | None] = []
    for axis in AXES:
        value = given.get(axis)
        if no_text and axis == TEXT:
            axes.append(None)
        elif isinstance(value, bool) or not isinstance(value, int | float) or value not in GRID:
            return Strict(None)
        else:
            axes.append(float(value))
    return Strict(tuple(axes))


def strict_mean(rows: Sequence[Strict]) -> float | None:
    """Returns the K-Score of rows by the official rule of component means, without its rounding; missing rows are zero on all
    four axes, unscored ones are left out. None if nothing is scored."""
    scored = [row.axes for row in rows if row.axes is not None]
    if not scored:
        return None
    columns = [[value for value in column if value is not None] for column in zip(*scored, strict=True)]
    return total([_mean(column) if column else NO_TEXT for column in columns])


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
