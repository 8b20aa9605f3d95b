"""How BizGenEval's judging program reads a reply about all questions of a picture (``evaluation/image_evaluation.py``)."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.metrics.outcome import StoppedError

_RESULT = re.compile(r"[\"']result[\"']\s*:\s*[\"']?\s*(true|false|yes|no|1|0)\b", re.IGNORECASE)
_TRUE = ("true", "1", "yes")


@dataclass(frozen=True, slots=True)
class Answers:
    """What is stored of a reply.

    Attributes:
        values: One an answer, in the order of the questions.
        absent: Numbers of the questions the reply has no record of; their answers are stored as wrong.
    """

    values: tuple[bool, ...]
    absent: tuple[int, ...]

    @property
    def accuracy(self) -> float:
        """Share of right answers."""
        return sum(self.values) / len(self.values)


def official_answers(reply: str | None, questions: int) -> Answers:
    """Reads a reply as the official program does; None is a failed call, which makes every answer wrong.

    Raises:
        StoppedError: If the reply is JSON but no object.
    """
    nothing = Answers((False,) * questions, tuple(range(1, questions + 1)))
    if reply is None:
        return nothing
    found = _literal(reply)
    if found is None:
        rescued = [word.lower() in _TRUE for word in _RESULT.findall(reply)]
        return Answers(tuple(rescued[:questions]), ()) if len(rescued) >= questions else nothing
    if not isinstance(found, Mapping):
        raise StoppedError("AttributeError", f"a reply is {type(found).__name__}, not an object")
    records = [found.get(str(number)) for number in range(1, questions + 1)]
    values = tuple(isinstance(record, Mapping) and _true(record.get("result")) for record in records)
    absent = tuple(number for number, record in enumerate(records, 1) if not isinstance(record, Mapping))
    return Answers(values, absent)


def _literal(reply: str) -> Any:
    """Returns the reply, or what stands between its braces, as JSON or as a Python literal; None if it is neither."""
    for text in (reply.strip(), reply[reply.find("{") : reply.rfind("}") + 1]):
        for read in (json.loads, ast.literal_eval):
            try:
                return read(text)
            except (ValueError, SyntaxError):
                continue
    return None


def _true(value: Any) -> bool:
    return value.strip().lower() in _TRUE if isinstance(value, str) else value is True
