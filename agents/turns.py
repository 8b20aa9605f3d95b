"""What scripted policies say and hear: one reasoned tool call out, the tools' replies in."""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wildenv.messages import IMAGE_LINE, Message, read_observation, text_block
from wildenv.policy import Observation

Script = Generator[Message, Observation, None]

_HIT = re.compile(r"^\[(\d+)\] (.*?)(?: \((\d{4}-\d\d-\d\d|[^()]*)\))? (\S+)$")
_CANDIDATE = re.compile(r"^(IMG_\d+): (.*?) \| (\S+)(?: \| \S+)?$")
_CROP = re.compile(r"^(IMG_\d+) = IMG_\d+ ")


@dataclass(frozen=True, slots=True)
class Hit:
    """A text search result, as it was shown."""

    number: int
    title: str
    published: str
    url: str
    snippet: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A picture from an image search, as it was shown."""

    id: str
    title: str
    page: str
    pixels: NDArray[np.uint8]


def say(thought: str, tool: str, **arguments: Any) -> Message:
    """Returns an assistant message: the reasoning, then one call."""
    call = {"type": "function", "function": {"name": tool, "arguments": arguments}}
    return {"role": "assistant", "content": [text_block(thought)], "tool_calls": [call]}


def failed(observation: Observation) -> bool:
    """Whether the last call was refused."""
    return any(reply[0].startswith("[error]") for reply in read_observation(observation["text"]) if reply)


def read_hits(observation: Observation) -> list[Hit]:
    """Reads the results of a text search."""
    hits: list[Hit] = []
    for block in _blocks(observation):
        lines = block.split("\n")
        for line, following in zip(lines, [*lines[1:], ""], strict=True):
            found = _HIT.match(line)
            if found:
                number, title, published, url = found.groups()
                hits.append(Hit(int(number), title, published or "", url, "" if _HIT.match(following) else following))
    return hits


def read_page(observation: Observation) -> str:
    """Reads the text of a fetched page, its title line left out."""
    return "\n".join("\n".join(block.split("\n")[1:]) for block in _blocks(observation))


def read_candidates(observation: Observation) -> list[Candidate]:
    """Reads the results of an image search together with their pixels."""
    blocks = _blocks(observation)
    pixels = iter(observation["images"])
    candidates = []
    for block, following in pairwise(blocks):
        if following == IMAGE_LINE:
            shown = next(pixels)
            found = _CANDIDATE.match(block)
            if found:
                candidates.append(Candidate(found.group(1), found.group(2), found.group(3), shown))
    return candidates


def read_crop(observation: Observation) -> str:
    """Reads the id of a crop.

    Raises:
        ValueError: If the observation holds none.
    """
    for block in _blocks(observation):
        found = _CROP.match(block)
        if found:
            return found.group(1)
    raise ValueError("no crop in the observation")


def _blocks(observation: Observation) -> list[str]:
    return [block for reply in read_observation(observation["text"]) for block in reply]
