"""The frame of a policy written as a script: a generator that yields messages and is sent observations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from random import Random
from typing import Any

from agents.turns import Script
from wildenv.messages import Message
from wildenv.policy import Observation


class ScriptedPolicy(ABC):
    """Plays an episode by a script."""

    system_prompt: str | None = None

    def __init__(self) -> None:
        self._running: Script | None = None

    def reset(self, task_prompt: str, tools: Sequence[dict[str, Any]], seed: int = 0) -> None:
        """Starts an episode; see `wildenv.policy.Policy`."""
        self.task_prompt = task_prompt
        self.random = Random(seed)
        self._running = None

    async def act(self, observation: Observation) -> Message:
        """Returns the next message of the script.

        Raises:
            RuntimeError: If the script has ended.
        """
        try:
            if self._running is None:
                self._running = self.script(observation)
                return next(self._running)
            return self._running.send(observation)
        except StopIteration:
            raise RuntimeError(f"{type(self).__name__} has nothing left to say") from None

    @abstractmethod
    def script(self, observation: Observation) -> Script:
        """Yields messages and is sent observations; the last message is an answer."""
