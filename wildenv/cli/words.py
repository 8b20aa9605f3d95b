"""Messages of the library in the words of the command: options in place of settings and arguments.

Knows the names that the library's messages use; what it does not know stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields

from wildenv.web.settings import WebSettings

RECORD, REPLAY, PACK, IMPORT = "record", "replay", "pack", "import"

_START = r"(?<![\w./'\"-])"
"""A name begins here, and no address or quoted word is being spelt."""

_STORE = {RECORD: "--store ", REPLAY: "--web "}

_MODES = {"record": "wildenv record", "refresh": "wildenv record --refresh", "replay": "wildenv replay"}


def plain_words(text: str, command: str = PACK) -> str:
    """Returns a message on one line, as somebody who gave options reads it.

    Args:
        text: The message.
        command: The command that was given.
    """
    text = " ".join(text.split())
    for pattern, words in _common(command):
        text = re.sub(pattern, words, text)
    for option, pattern in _GROUPS:
        named = _named(text, option, pattern)
        if named != text:
            return named
    return text


def _common(command: str) -> list[tuple[str, str | Callable[[re.Match[str]], str]]]:
    return [
        (r"(?:wildenv\.web\.packs\.pack\.)?\bexport_pack\b", "wildenv pack export"),
        (_START + r"set replace=True\b", "give --force"),
        (_START + r"prefer=(\w+)", r"--prefer \1"),
        (_START + r"max_failed=", "--max-failed "),
        (_START + r"tasks=", "--tasks "),
        (_START + r"folder=", "--out " if command == IMPORT else "--episodes "),
        (_START + r"web\.retry_gaps=true", "--retry-gaps"),
        (_START + r"set web\.mode=(record|refresh|replay)\b", lambda found: f"use {_MODES[found[1]]}"),
        (_START + r"web\.mode=(record|refresh|replay)\b", lambda found: _MODES[found[1]]),
        (_START + r"web\.store=", _STORE.get(command, "")),
        (_START + r"set web\.store to\b", f"give {_STORE[command].strip()}" if command in _STORE else "name"),
        (_START + r"web\.store\b", _STORE.get(command, "the store").strip()),
        (_START + r"web\.(search|pages|pictures)(?![.\w])", r"--\1"),
    ]


_WEB = "|".join(one.name for one in fields(WebSettings))
_GROUPS = [
    ("--set", _START + rf"web\.((?:{_WEB})(?:\.[a-z_]+)*|[a-z_]+(?= is no setting))"),
    ("--world", _START + r"(?:env\.)?world\.([a-z_]+)(?= is no setting|=|,|$)"),
    ("--env", _START + r"(?:env\.)?((?:limits|pixels|reward|reader)(?:\.[a-z_]+)+)"),
    ("--env", _START + r"env\.([a-z_]+)"),
]
"""Options that take ``NAME=VALUE``, and how the library writes their names; a message speaks of one of them."""


def _named(text: str, option: str, pattern: str) -> str:
    """Puts the option before the first of its names; the others are names in a list."""
    seen = False

    def words(found: re.Match[str]) -> str:
        nonlocal seen
        before, seen = seen, True
        return found[1] if before else f"{option} {found[1]}"

    return re.sub(pattern, words, text)
