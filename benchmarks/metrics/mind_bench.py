"""Mind-Bench: the strict pass of a checklist, and its share (Mind-Brush, ``eval.py`` at b62980b).

The official code stops at one pass or fail a picture. The share of passes, which the paper calls CSA, is our own division, over
the pictures found (``official``) and over all items (``strict``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from benchmarks.metrics.outcome import Figure, Outcome, StoppedError, Tally, check_unique
from wildenv.errors import DataError

Item = Mapping[str, Any]
"""``type``, ``id`` and ``checklist``, the number of its lines."""

_SUFFIXES = (".jpg", ".jpeg", ".png", ".webp")
_FENCE = re.compile(r"```(?:json)?\s*(.*?)\s*```", re.DOTALL)


def official_rows(
    items: Sequence[Item | str], images: Sequence[Mapping[str, Any]], previous: Sequence[Mapping[str, Any]] = ()
) -> list[dict[str, Any]]:
    """Returns the rows of the official result file, sorted by the name of the picture.

    Args:
        items: The items; a text is a line of the item file as it stands there.
        images: ``path`` within the folder of pictures and ``reply`` of the judge, an object, text, or None for a failed call.
        previous: Rows of an earlier run, kept as they are.

    Raises:
        StoppedError: If a line of the item file is not JSON.
    """
    known: dict[tuple[str, str], Item] = {}
    for item in items:
        read = _item(item)
        known[_prefix(read), str(read.get("id"))] = read
    rows = [dict(row) for row in previous]
    done = {row["image"] for row in previous}
    for image in images:
        path = PurePosixPath(image["path"])
        pieces = path.stem.split("_")
        found = known.get((pieces[0], pieces[-1]))
        if path.suffix.lower() not in _SUFFIXES or found is None or path.name in done:
            continue
        results = official_results(image["reply"], _lines(found))
        passed = bool(len(results) and all(results))
        rows.append({"image": path.name, "type": found["type"], "id": found.get("id"), "results": results, "pass": passed})
    return sorted(rows, key=lambda row: str(row["image"]))


def official_results(reply: Any, lines: int) -> Any:
    """Returns what the official program stores as the answers to a checklist: not always a list, nor of booleans."""
    if lines == 0:
        return []
    failed = [False] * lines
    try:
        results = _read(reply).get("results", [])
        if len(results) < lines:
            return results + [False] * (lines - len(results))
        return results if len(results) == lines else results[:lines]
    except (ValueError, TypeError, AttributeError, KeyError):
        return failed


def pass_share(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the share of passes over the rows there are; not official."""
    by_type: dict[str, dict[str, Any]] = {}
    for kind in sorted({row["type"] for row in rows}):
        chosen = [row["pass"] for row in rows if row["type"] == kind]
        by_type[kind] = {"passed": sum(chosen), "rows": len(chosen), "share": sum(chosen) / len(chosen)}
    passed = sum(row["pass"] for row in rows)
    return {"passed": passed, "rows": len(rows), "over_rows": passed / len(rows) if rows else None, "by_type": by_type}


def strict_results(reply: Any, lines: int) -> list[bool] | None:
    """Returns the answers to a checklist; None unless there is exactly one boolean for each line."""
    try:
        results = _read(reply).get("results")
    except (ValueError, TypeError, AttributeError):
        return None
    if not isinstance(results, list) or len(results) != lines or not all(isinstance(one, bool) for one in results):
        return None
    return results


def score(items: Sequence[Item], images: Sequence[Mapping[str, Any]]) -> Outcome:
    """Returns the share of passes over the pictures found and, strictly, over all items, by type.

    Args:
        items: All items of the benchmark.
        images: At most one picture an item, as in `official_rows`.

    Raises:
        DataError: If two items or pictures cannot be told apart, or a picture is of no item.
    """
    check_unique([(item["type"], item.get("id")) if item.get("id") is not None else None for item in items], "item")
    keys = [(_prefix(item), str(item["id"])) for item in items]
    check_unique(keys, "item (by the prefix of its type and its id)")
    replies: dict[tuple[str, str], Any] = {}
    for image in images:
        pieces = PurePosixPath(image["path"]).stem.split("_")
        key = (pieces[0], pieces[-1])
        if key not in keys:
            raise DataError(f"picture {image['path']!r} is of no item; name it PREFIX_ID.png")
        if key in replies:
            raise DataError(f"picture {image['path']!r} is the second one of its item; strict figures take one")
        replies[key] = image["reply"]
    shares = pass_share(official_rows(items, images))
    kinds = sorted({item["type"] for item in items})
    figures: list[Figure] = []
    for kind in (None, *kinds):
        chosen = [(item, key) for item, key in zip(items, keys, strict=True) if kind in (None, item["type"])]
        tally = Tally.of([_strict(item, key, replies) for item, key in chosen], sum(key not in replies for _, key in chosen))
        share = shares["over_rows"] if kind is None else shares["by_type"].get(kind, {}).get("share")
        figures.append(tally.figure(kind or "CSA", share))
    notes = ("no released code averages the passes: 'official' divides by the pictures found, 'strict' by the items scored",)
    return Outcome("Mind-Bench (strict pass)", tuple(figures), notes)


def _strict(item: Item, key: tuple[str, str], replies: Mapping[tuple[str, str], Any]) -> float | None:
    lines = _lines(item)
    if key not in replies:
        return 0.0
    results = strict_results(replies[key], lines) if lines else None
    return None if results is None else float(all(results))


def _item(item: Item | str) -> Item:
    if not isinstance(item, str):
        return item
    try:
        read: Item = json.loads(item)
    except ValueError as error:
        raise StoppedError("JSONDecodeError", f"a line of the item file is {item[:40]!r}") from error
    return read


def _read(reply: Any) -> Any:
    if not isinstance(reply, str):
        return reply
    fenced = _FENCE.match(reply)
    return json.loads(fenced.group(1) if fenced else reply)


def _prefix(item: Item) -> str:
    return str(item["type"]).split("_")[0]


def _lines(item: Item) -> int:
    return item.get("checklist") or 0
