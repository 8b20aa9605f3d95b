"""The texts that judges are given, one file each in ``prompts``, and how a case is put into them.

A file holds the rules, then a line ``=== material ===``, then the places of the material, ``{{name}}``. All places are filled in
one pass, so that judged text which looks like a place stays text. Judged text stands between marker lines that it cannot contain
and has no control tokens. A model may still be persuaded by what it says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from wildenv.disarm import disarm
from wildenv.messages import Block, Message, image_block, text_block
from wildenv.web.request import sha256

_MATERIAL = "\n=== material ===\n"
_PLACE = re.compile(r"\{\{(\w+)\}\}")
NOTHING = "(none)"
"""Stands where a list is empty."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A picture of a case: what it is called, and the digest of its pixels."""

    label: str
    digest: str


Material = str | int | Sequence[str] | Sequence[Shown]
"""Judged text; a number of ours; a list of judged lines, which is numbered; pictures, each under its label."""


def chat(name: str, material: Mapping[str, Material]) -> list[Message]:
    """Returns the chat that puts a case to a model.

    Args:
        name: Of the judge, and of its file.
        material: What goes into each place.

    Raises:
        ValueError: If the places of the file and the material do not have the same names.
    """
    rules, template = _texts(name)
    if set(_PLACE.findall(template)) != set(material):
        raise ValueError(f"prompts/{name}.txt has the places {sorted(set(_PLACE.findall(template)))}, not {sorted(material)}")
    blocks: list[Block] = []
    # Of all that is judged together, so that no part of it can hold the mark of another part.
    mark = sha256(repr(sorted(material.items())))[:16]
    # Splitting by a pattern with one group gives text and names in turn.
    for number, part in enumerate(_PLACE.split(template)):
        blocks += _blocks(material[part], mark) if number % 2 else [text_block(part)]
    return [{"role": "system", "content": [text_block(rules)]}, {"role": "user", "content": _joined(blocks)}]


@cache
def _texts(name: str) -> tuple[str, str]:
    whole = (resources.files("wildenv.judges") / "prompts" / f"{name}.txt").read_text(encoding="utf-8")
    rules, _, template = whole.partition(_MATERIAL)
    return rules.strip(), template.strip()


def _blocks(value: Material, mark: str) -> list[Block]:
    if isinstance(value, int):
        return [text_block(str(value))]
    if isinstance(value, str):
        return [text_block(_fenced(value, mark))]
    blocks: list[Block] = []
    lines: list[str] = []
    for item in value:
        if isinstance(item, Shown):
            blocks += [text_block(f"\n{item.label}:"), image_block("", item.digest)]
        else:
            # On one line each, so that no item can pose as the next.
            lines.append(f"{len(lines) + 1}. {' '.join(item.split())}")
    if lines:
        blocks.append(text_block(_fenced("\n".join(lines), mark)))
    return blocks or [text_block(NOTHING)]


def _fenced(text: str, mark: str) -> str:
    return f"----- begin {mark} -----\n{disarm(text)}\n----- end {mark} -----"


def _joined(blocks: Sequence[Block]) -> list[Block]:
    """Returns the blocks with neighbouring texts made one, and none empty."""
    joined: list[Block] = []
    for block in blocks:
        if block["type"] == "text" and joined and joined[-1]["type"] == "text":
            joined[-1] = text_block(joined[-1]["text"] + block["text"])
        else:
            joined.append(block)
    trimmed = [text_block(block["text"].strip("\n")) if block["type"] == "text" else block for block in joined]
    return [block for block in trimmed if block["type"] != "text" or block["text"]]
