"""The rules for a policy."""

from __future__ import annotations

import copy
import inspect
from typing import Any

from wildenv.aio import run_sync
from wildenv.check.probe import TASK, ProbeProvider
from wildenv.check.rule import require
from wildenv.env import WildEnv
from wildenv.errors import MessageError
from wildenv.messages import Message, parse_action
from wildenv.policy import Policy
from wildenv.task import TaskList
from wildenv.web.client import WebClient


def check_policy(policy: Policy, readable: bool = True) -> None:
    """Checks a policy by letting it play the probe task twice.

    Args:
        policy: The policy.
        readable: Whether every action must be one that can be read; turn it off for a model that may still write anything.

    Raises:
        AssertionError: At the first rule that is broken.
    """
    require(inspect.iscoroutinefunction(policy.act), "policy.act must be `async def`: many episodes are played at once")
    prompt = getattr(policy, "system_prompt", None)
    require(prompt is None or isinstance(prompt, str), "policy.system_prompt must be a string, or not be there")
    first = run_sync(_probe_episode(policy, readable))
    again = run_sync(_probe_episode(policy, readable))
    require(
        first == again,
        "the same seed must give the same actions, also on an instance that has played before: draw from the seed given to "
        "reset, and forget everything else there",
    )


async def _probe_episode(policy: Policy, readable: bool) -> list[Message]:
    env = WildEnv(TaskList([TASK]), WebClient(ProbeProvider(), mode="live"))
    observation, _ = env.reset(seed=0)
    tools = env.tools_schema()
    before = copy.deepcopy(tools)
    policy.reset(env.task_prompt, tools, 7)
    ended = False
    while not ended:
        kept = copy.deepcopy(observation)
        action = await policy.act(observation)
        require(isinstance(action, str | dict), f"policy.act must return a string or a dict, not {type(action).__name__}")
        require(
            _same(kept, observation) and tools == before, "the policy must not change the observation or the tools: copy them"
        )
        if readable:
            try:
                parse_action(action)
            except MessageError as error:
                raise AssertionError(f"the policy wrote something that is no action: {error}") from error
        observation, _, terminated, truncated, _ = env.step(action)
        ended = terminated or truncated
    return env.episode.messages


def _same(one: Any, other: Any) -> bool:
    pictures = zip(one["images"], other["images"], strict=False)
    return (
        one["text"] == other["text"]
        and one["calls_left"] == other["calls_left"]
        and len(one["images"]) == len(other["images"])
        and all((a == b).all() for a, b in pictures)
    )
