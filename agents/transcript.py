"""The chat of an episode, rebuilt from what a policy saw and said: the one message path of every policy that has a model.

It holds the messages that the environment records, in the same order and with the same picture ids and digests; where the
environment has two texts in a row, it has one, which reads the same. So a prompt made of it is, token for token, a prefix of what
a trainer encodes from the episode. What a policy and its model say to each other beside it (`agents.chat`) is not part of it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any

from PIL import Image

from wildenv.errors import MessageError
from wildenv.images import ImageStore
from wildenv.messages import (
    IMAGE_LINE,
    Action,
    Block,
    Message,
    ToolCall,
    assistant_message,
    image_block,
    parse_action,
    read_observation,
    text_block,
    tool_message,
    unreadable_message,
)
from wildenv.policy import Observation

# The line that names a picture stands right before it (`wildenv.tools`); text from the web cannot spell an image id.
_NAMED = re.compile(r"^(IMG_\d+)\b[^\n]*\Z", re.MULTILINE)


class Transcript:
    """The chat of one episode.

    Args:
        system_prompt: Its first message.

    Attributes:
        messages: The chat so far, in canonical form.
        store: Where its pictures are.
        turns: Assistant turns so far.
    """

    def __init__(self, system_prompt: str) -> None:
        self.messages: list[Message] = [{"role": "system", "content": [text_block(system_prompt)]}]
        self.store = ImageStore()
        self.turns = 0
        self._calls: tuple[ToolCall, ...] = ()

    def hear(self, observation: Observation) -> None:
        """Adds the messages an observation stands for: the request, the replies to the last calls, or an error."""
        if not self._calls:
            self.messages.append({"role": "user", "content": [text_block(observation["text"])]})
            return
        pictures = iter(observation["images"])
        for call, texts in zip(self._calls, read_observation(observation["text"]), strict=True):
            self.messages.append(tool_message(call, self._blocks(texts, pictures)))

    def say(self, action: str | dict[str, Any]) -> Action | None:
        """Adds an assistant turn as the environment will.

        Returns:
            The turn as it was read, or None if it is not readable.
        """
        self.turns += 1
        try:
            read = parse_action(action, self.turns)
        except MessageError:
            self._calls = ()
            self.messages.append(unreadable_message(action))
            return None
        self._calls = read.calls
        self.messages.append(assistant_message(read))
        return read

    def _blocks(self, texts: list[str], pictures: Iterator[Any]) -> list[Block]:
        blocks: list[Block] = []
        name = ""
        for text in texts:
            if text == IMAGE_LINE:
                blocks.append(image_block(name, self.store.put(Image.fromarray(next(pictures)))))
                name = ""
            else:
                blocks.append(text_block(text))
                found = _NAMED.search(text)
                name = found.group(1) if found else ""
        return blocks


def turn_seed(seed: int, turn: int) -> int:
    """Returns the seed of one turn of an episode, below 2**56."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{turn}".encode()).digest()[:7], "big")
