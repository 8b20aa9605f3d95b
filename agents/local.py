"""A transformers checkpoint as a policy, in this process.

The policy sees observations only. From them it rebuilds the chat that the environment records (`agents.transcript`), so that what
it is prompted with is, token for token, what a trainer later encodes from the episode. It takes the first answer the model gives:
no retries, no repair of a malformed call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agents import checkpoint
from agents.batching import BatchedGenerator
from agents.transcript import Transcript, turn_seed
from wildenv.errors import ConfigError, UsageError
from wildenv.messages import Message
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
        self._transcript: Transcript | None = None
        self._tools: list[dict[str, Any]] = []
        self._seed = 0

    @property
    def messages(self) -> list[Message]:
        """The chat so far, as the policy was shown it."""
        return [] if self._transcript is None else list(self._transcript.messages)

    def reset(self, task_prompt: str, tools: Sequence[dict[str, Any]], seed: int = 0) -> None:
        """Starts an episode; the task prompt comes again with the first observation, and is taken from there."""
        self._transcript = Transcript(self.system_prompt)
        self._tools = list(tools)
        self._seed = seed

    async def act(self, observation: Observation) -> str:
        """Returns what the model writes next.

        Raises:
            UsageError: Before the first reset.
            ConfigError: If the prompt is longer than ``max_prompt_tokens``.
        """
        chat = self._transcript
        if chat is None:
            raise UsageError("call reset before act")
        chat.hear(observation)
        turn, encoder = chat.turns + 1, self.generator.loaded.encoder
        prompt = encoder.encode(chat.messages, self._tools, chat.store, add_generation_prompt=True)
        if len(prompt) > self.max_prompt_tokens:
            raise ConfigError(
                f"the prompt of turn {turn} has {len(prompt)} tokens, more than agent.max_prompt_tokens="
                f"{self.max_prompt_tokens}; raise it, or lower env.limits.images or env.limits.chars_per_result"
            )
        ids = await self.generator.generate(prompt, seed=turn_seed(self._seed, turn))
        written = encoder.decode(ids)
        chat.say(written)
        return written


def from_config(model: Mapping[str, Any], device: str = "cpu", **generation: Any) -> BatchedGenerator:
    """Opens the model of a ``conf/model`` entry and makes it ready to generate.

    Args:
        model: The entry, plain values.
        device: As torch names it.
        **generation: Settings of `BatchedGenerator`.
    """
    return BatchedGenerator(checkpoint.from_config(model, device), **generation)
