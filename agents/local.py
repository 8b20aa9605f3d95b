"""A transformers checkpoint as a policy, in this process.

The policy sees observations only. From them it rebuilds the chat that the environment records, so that what it is prompted with
is, token for token, what a trainer later encodes from the episode. It takes the first answer the model gives: no retries, no
repair of a malformed call.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from PIL import Image

from agents import checkpoint
from agents.batching import BatchedGenerator
from wildenv.errors import ConfigError, MessageError, UsageError
from wildenv.images import ImageStore
from wildenv.messages import (
    IMAGE_LINE,
    Block,
    Message,
    ToolCall,
    assistant_message,
    image_block,
    parse_action,
    read_observation,
    text_block,
    tool_message,
)
from wildenv.policy import Observation


class LocalPolicy:
    """Plays one episode at a time; policies that play at once share a generator.

    Args:
        generator: The model and how it decodes.
        system_prompt: First message of the chat; the rollout puts it into the environment's chat too.
        max_prompt_tokens: A longer prompt ends the episode with an error that names this setting.
    """

    def __init__(self, generator: BatchedGenerator, system_prompt: str, max_prompt_tokens: int = 32_768) -> None:
        self.generator = generator
        self.system_prompt = system_prompt
        self.max_prompt_tokens = max_prompt_tokens
        self._messages: list[Message] = []
        self._tools: list[dict[str, Any]] = []
        self._calls: tuple[ToolCall, ...] | None = None
        self._store = ImageStore()
        self._seed = 0
        self._turn = 0
        self._started = False

    @property
    def messages(self) -> list[Message]:
        """The chat so far, as the policy was shown it."""
        return list(self._messages)

    def reset(self, task_prompt: str, tools: Sequence[dict[str, Any]], seed: int = 0) -> None:
        """Starts an episode; the task prompt comes again with the first observation, and is taken from there."""
        self._messages = [{"role": "system", "content": [text_block(self.system_prompt)]}]
        self._tools = list(tools)
        self._calls = None
        self._store = ImageStore()
        self._seed = seed
        self._turn = 0
        self._started = True

    async def act(self, observation: Observation) -> str:
        """Returns what the model writes next.

        Raises:
            UsageError: Before the first reset.
            ConfigError: If the prompt is longer than ``max_prompt_tokens``.
        """
        if not self._started:
            raise UsageError("call reset before act")
        self._messages += self._read(observation)
        prompt = self.generator.loaded.encoder.encode(self._messages, self._tools, self._store, add_generation_prompt=True)
        if len(prompt) > self.max_prompt_tokens:
            raise ConfigError(
                f"the prompt of turn {self._turn + 1} has {len(prompt)} tokens, more than agent.max_prompt_tokens="
                f"{self.max_prompt_tokens}; raise it, or lower env.limits.images or env.limits.chars_per_result"
            )
        self._turn += 1
        ids = await self.generator.generate(prompt, seed=_turn_seed(self._seed, self._turn))
        written = self.generator.loaded.encoder.decode(ids)
        try:
            action = parse_action(written, self._turn)
        except MessageError:
            self._calls = ()
            self._messages.append({"role": "assistant", "content": [text_block(written)] if written else []})
        else:
            self._calls = action.calls
            self._messages.append(assistant_message(action))
        return written

    def _read(self, observation: Observation) -> list[Message]:
        """Returns the messages an observation stands for: the request, the replies to the last calls, or an error."""
        pictures = iter(observation["images"])
        if not self._calls:
            return [{"role": "user", "content": [text_block(observation["text"])]}]
        replies = read_observation(observation["text"])
        return [
            tool_message(call, [self._block(text, pictures) for text in blocks])
            for call, blocks in zip(self._calls, replies, strict=True)
        ]

    def _block(self, text: str, pictures: Any) -> Block:
        # Image ids do not reach the model as such (the text before a picture names it), so the block needs none.
        return image_block("", self._store.put(Image.fromarray(next(pictures)))) if text == IMAGE_LINE else text_block(text)


def from_config(model: Mapping[str, Any], device: str = "cpu", **generation: Any) -> BatchedGenerator:
    """Opens the model of a ``conf/model`` entry and makes it ready to generate.

    Args:
        model: The entry, plain values.
        device: As torch names it.
        **generation: Settings of `BatchedGenerator`.
    """
    return BatchedGenerator(checkpoint.from_config(model, device), **generation)


def _turn_seed(seed: int, turn: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed}:{turn}".encode()).digest()[:7], "big")
