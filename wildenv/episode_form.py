"""The form of an episode's rows: the fields that readers use, and of what type they are.

Says whether a row can be read at all. Whether the parts agree with each other is for `wildenv.episode.Episode.validate`; fields
that nobody here knows are let through.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wildenv.construct import is_number
from wildenv.errors import DataError
from wildenv.web.request import canonical_json

Kind = tuple[str, Callable[[Any], bool]]


def _is_finite(value: Any) -> bool:
    return is_number(value) and math.isfinite(value)


def _is_whole(value: Any) -> bool:
    return is_number(value, whole=True)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)


def _all(value: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(map(fits, value))


def _or_none(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or fits(value)


_TEXT: Kind = ("a text", _is_text)
_TEXT_OR_NONE: Kind = ("a text or null", _or_none(_is_text))
_FLAG: Kind = ("true or false", lambda value: isinstance(value, bool))
_WHOLE: Kind = ("a whole number", _is_whole)
_NUMBER: Kind = ("a number", is_number)
_SCORE: Kind = ("a finite number or null", _or_none(_is_finite))
_OBJECT: Kind = ("an object", _is_object)
_OBJECT_OR_NONE: Kind = ("an object or null", _or_none(_is_object))
_OBJECTS: Kind = ("a list of objects", lambda value: _all(value, _is_object))
_TEXTS: Kind = ("a list of texts", lambda value: _all(value, _is_text))
_NUMBERS: Kind = ("a list of finite numbers", lambda value: _all(value, _is_finite))
_COUNTS: Kind = ("an object of finite numbers", lambda value: _is_object(value) and all(map(_is_finite, value.values())))
_SCORES: Kind = (
    "an object of finite numbers or nulls",
    lambda value: _is_object(value) and all(map(_or_none(_is_finite), value.values())),
)
_SIZE: Kind = (
    "two whole numbers of at least 1",
    lambda value: _all(value, lambda side: _is_whole(side) and side > 0) and len(value) == 2,
)
_BOX: Kind = ("four numbers or null", _or_none(lambda value: _all(value, _is_finite) and len(value) == 4))

_EPISODE: dict[str, Kind] = {
    "task": _OBJECT,
    "web": _TEXT,
    "seed": _WHOLE,
    "policy": _TEXT,
    "tools": _OBJECTS,
    "messages": _OBJECTS,
    "images": _OBJECTS,
    "steps": _OBJECTS,
    "decisions": _OBJECTS,
    "answer": _OBJECT_OR_NONE,
    "verdicts": _OBJECTS,
    "rewards": _SCORES,
    "drawn": _OBJECT_OR_NONE,
    "reward": _NUMBER,
    "reward_valid": _FLAG,
    "end_reason": _TEXT,
    "failure": _TEXT_OR_NONE,
    "usage": _COUNTS,
    "timings": _NUMBERS,
}
_TASK: dict[str, Kind] = {"prompt": _TEXT, "issued": _TEXT, "domain": _TEXT, "subcategory": _TEXT, "meta": _OBJECT}
_ROWS: dict[str, dict[str, Kind]] = {
    "images": {
        "id": _TEXT,
        "digest": _TEXT,
        "source": _TEXT,
        "size": _SIZE,
        "parent": _TEXT_OR_NONE,
        "box": _BOX,
        "url": _TEXT,
        "page": _TEXT,
        "title": _TEXT,
    },
    "steps": {"call": _TEXT, "name": _TEXT, "ok": _FLAG, "error": _TEXT, "notes": _TEXTS},
    "decisions": {"call": _TEXT, "url": _TEXT, "published": _TEXT_OR_NONE, "kept": _FLAG, "reason": _TEXT},
    "verdicts": {"judge": _TEXT, "value": _SCORE, "reason": _TEXT, "evidence": _OBJECT, "usage": _COUNTS},
}
_ANSWER: dict[str, Kind] = {"prompt": _TEXT, "references": _TEXTS}
_DRAWN: dict[str, Kind] = {"digest": _TEXT, "generator": _TEXT, "seed": _WHOLE}
_MESSAGE: dict[str, Kind] = {"role": _TEXT, "content": _OBJECTS}
_REPLY: dict[str, Kind] = {"tool_call_id": _TEXT, "name": _TEXT}
_CALL: dict[str, Kind] = {"id": _TEXT, "function": _OBJECT}
_FUNCTION: dict[str, Kind] = {"name": _TEXT, "arguments": _OBJECT}
_BLOCKS: dict[str, dict[str, Kind]] = {"text": {"text": _TEXT}, "image": {"id": _TEXT, "digest": _TEXT}}


def check_rows(field: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Checks rows that are to become part of an episode: ``decisions``, ``verdicts``, ``steps`` or ``images``.

    Raises:
        DataError: Naming the first value that an episode could not hold.
    """
    _check_fields(field, rows)
    try:
        canonical_json(list(rows))
    except (TypeError, ValueError) as error:
        raise DataError(f"{field} are made of JSON values: {error}") from error


def _check_fields(field: str, rows: Sequence[Mapping[str, Any]]) -> None:
    for number, row in enumerate(rows):
        _check(row, _ROWS[field], f"{field}[{number}].")


def check_form(row: Mapping[str, Any]) -> None:
    """Checks the rows of an episode.

    Args:
        row: Of `Episode.to_dict`.

    Raises:
        DataError: Naming the first field that readers could not read.
    """
    _check(row, _EPISODE, "")
    if "id" not in row["task"]:
        raise DataError("episode whose task has no id")
    _check(row["task"], {name: kind for name, kind in _TASK.items() if name in row["task"]}, "task.")
    for name in _ROWS:
        _check_fields(name, row[name])
    for number, verdict in enumerate(row["verdicts"]):
        # The first version had no parts, and few judges have a ground truth.
        _check(verdict, {"parts": _SCORES} if "parts" in verdict else {}, f"verdicts[{number}].")
        evidence = verdict["evidence"]
        _check(evidence, {"ground_truth": _TEXTS} if "ground_truth" in evidence else {}, f"verdicts[{number}].evidence.")
    for name, form in (("answer", _ANSWER), ("drawn", _DRAWN)):
        if row[name] is not None:
            _check(row[name], form, f"{name}.")
    for number, message in enumerate(row["messages"]):
        _check_message(message, f"messages[{number}].")


def _check_message(message: Mapping[str, Any], where: str) -> None:
    _check(message, _MESSAGE, where)
    for number, block in enumerate(message["content"]):
        kind = block.get("type")
        if not isinstance(kind, str) or kind not in _BLOCKS:
            raise DataError(f"{where}content[{number}].type is {kind!r}, none of {', '.join(_BLOCKS)}")
        _check(block, _BLOCKS[kind], f"{where}content[{number}].")
    if message["role"] == "tool":
        _check(message, _REPLY, where)
    if "tool_calls" in message:
        _check(message, {"tool_calls": _OBJECTS}, where)
        for number, call in enumerate(message["tool_calls"]):
            _check(call, _CALL, f"{where}tool_calls[{number}].")
            _check(call["function"], _FUNCTION, f"{where}tool_calls[{number}].function.")


def _check(row: Mapping[str, Any], form: Mapping[str, Kind], where: str) -> None:
    for name, (wanted, fits) in form.items():
        if name not in row:
            raise DataError(f"{where}{name} is missing; it is {wanted}")
        if not fits(row[name]):
            raise DataError(f"{where}{name} must be {wanted}, not {repr(row[name])[:60]}")
