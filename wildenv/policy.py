"""What a policy is: the whole interface a third party implements.

A policy is one class. It is named in a config by ``agent._target_=my.module.MyPolicy`` and needs no registration. It sees
observations and nothing else: no task, no web client, no judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypedDict, runtime_checkable

import numpy as np


class Observation(TypedDict):
    """What `WildEnv.reset` and `WildEnv.step` return.

    Attributes:
        text: The task prompt after a reset, the tools' replies after a step.
        images: Pictures shown by this step, in the order the text names them; each uint8, height x width x 3.
        calls_left: Tool calls left in the budget.
    """

    text: str
    images: tuple[np.ndarray[Any, np.dtype[np.uint8]], ...]
    calls_left: int


@runtime_checkable
class Policy(Protocol):
    """Chooses the next assistant message.

    One instance plays one episode at a time. A policy may set a class or instance attribute ``system_prompt``; the rollout then
    puts it in front of the chat in place of the environment's own.

    A policy that asks a model may have an attribute or property ``usage``: what the running episode took so far, as a mapping of
    all or some of the numbers ``calls``, ``prompt_tokens``, ``completion_tokens``, ``unmetered`` (calls that told no tokens) and
    ``cost``, back at 0 after `reset`. The rollout writes them into the episode's usage, as ``model_calls`` and so on. They have
    to be the same when replies come from a store, or episodes are not.
    """

    def reset(self, task_prompt: str, tools: Sequence[dict[str, Any]], seed: int = 0) -> None:
        """Starts an episode.

        Args:
            task_prompt: What the user asks for.
            tools: JSON schemas of the tools, in OpenAI's form.
            seed: For a policy that draws random numbers.
        """
        ...

    async def act(self, observation: Observation) -> str | dict[str, Any]:
        """Returns the next assistant message, in any form that `wildenv.messages.parse_action` reads."""
        ...
