"""An episode in words: its turns as text that can be read in the cell of a table, and why it got its reward.

Texts are cut, and say so; the whole chat is in the episode. Secrets are not looked for here: the environment has replaced them in
what it records.
"""

from __future__ import annotations

import json
from typing import Any

from wildenv.episode import Episode
from wildenv.messages import Message

_SAID, _VALUE, _REPLY, _REASON, _WHOLE = 400, 200, 240, 400, 8_000
"""Characters of what a turn says, of an argument, of a reply, of a verdict's reason, and of all turns together."""


def turns_text(episode: Episode) -> str:
    """Returns the turns, numbered: what was said, ``-> call(arguments)`` and ``<- reply``; pictures by their ids."""
    lines: list[str] = []
    turn = 0
    for message in episode.messages:
        if message["role"] == "assistant":
            turn += 1
            said = cut(_words(message), _SAID)
            lines.append(f"{turn}. {said}".rstrip())
            lines += [f"   -> {_call(call['function'])}" for call in message.get("tool_calls", [])]
        elif turn:
            lines.append(f"   <- {cut(_words(message), _REPLY)}")
    return cut("\n".join(lines), _WHOLE, one_line=False)


def verdicts_text(episode: Episode) -> str:
    """Returns a line for each verdict: judge, value and reason."""
    lines = []
    for verdict in episode.verdicts:
        value = "unscored" if verdict["value"] is None else f"{verdict['value']:.3g}"
        lines.append(f"{verdict['judge']}: {value}: {cut(verdict['reason'], _REASON)}")
    return cut("\n".join(lines), _WHOLE, one_line=False)


def cut(text: str, most: int, one_line: bool = True) -> str:
    """Returns at most so many characters and how many were left out; with spaces for line breaks if it is to be one line."""
    text = " ".join(text.split()) if one_line else text
    return text if len(text) <= most else f"{text[:most]} ... ({len(text) - most} more characters)"


def _words(message: Message) -> str:
    return " ".join(block["text"] if block["type"] == "text" else f"[{block['id']}]" for block in message["content"])


def _call(function: dict[str, Any]) -> str:
    given = function["arguments"]
    shown = (f"{name}={cut(json.dumps(value, ensure_ascii=False), _VALUE)}" for name, value in given.items())
    return f"{function['name']}({', '.join(shown)})"
