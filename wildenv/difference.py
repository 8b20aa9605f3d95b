"""What differs between two episodes, in the words of what the agent saw and did."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator

from wildenv.episode import Episode
from wildenv.messages import observation_text

_LINES = 60


def episode_difference(expected: Episode, found: Episode, *, ignore: frozenset[str] = frozenset()) -> str:
    """Returns a unified diff of two episodes; empty if a replay of one would be the other.

    Args:
        expected: What it should be.
        found: What it is.
        ignore: Fields that may differ, such as ``web`` when a recording is compared with its replay.
    """
    if _row(expected, ignore) == _row(found, ignore):
        return ""
    lines = difflib.unified_diff(
        list(_readable(expected, ignore)), list(_readable(found, ignore)), "expected", "found", n=2, lineterm=""
    )
    shown = list(lines)
    if len(shown) > _LINES:
        shown = [*shown[:_LINES], f"... {len(shown) - _LINES} more lines"]
    return "\n".join(shown)


def _row(episode: Episode, ignore: frozenset[str]) -> dict[str, object]:
    return {name: value for name, value in episode.to_dict().items() if name != "timings" and name not in ignore}


def _readable(episode: Episode, ignore: frozenset[str]) -> Iterator[str]:
    row = _row(episode, ignore)
    yield f"task: {episode.task_id}"
    del row["messages"]
    for number, message in enumerate(episode.messages):
        yield f"[{number}] {message['role']}"
        yield from observation_text([{**message, "role": "user"}]).splitlines()
        for block in message["content"]:
            if block["type"] == "image":
                yield f"  {block['id']}: picture {block['digest'][:16]}"
        for call in message.get("tool_calls", []):
            yield f"  -> {call['function']['name']} {_json(call['function']['arguments'])}"
    for name in sorted(row):
        value = row[name]
        if isinstance(value, list):
            yield f"{name}:"
            yield from (f"  {_json(item)}" for item in value)
        else:
            yield f"{name}: {_json(value)}"


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
