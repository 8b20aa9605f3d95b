"""The reward and the system prompt of a run, from its config."""

from __future__ import annotations

import hydra
from hydra.errors import InstantiationException

from agents.runs import Config
from wildenv.errors import ConfigError
from wildenv.registration import make_reward
from wildenv.rewards.base import Reward


def open_reward(config: Config) -> Reward:
    """Returns the reward of a run: settings of ``conf/reward``, or a class of one's own under ``reward._target_``.

    Raises:
        ConfigError: Naming the setting that is wrong.
    """
    env = config["env"]
    given = env["reward"]
    if isinstance(given, dict) and "_target_" in given:
        try:
            given = hydra.utils.instantiate(given, _convert_="all")
        except InstantiationException as error:
            raise ConfigError(f"reward._target_={given['_target_']}: {error.__cause__ or error}") from error
        if not isinstance(given, Reward):
            raise ConfigError(f"reward._target_: {type(given).__name__} has no `async def score(task, submission)`")
    reward = make_reward(given, config["tasks"], env["world"], env["limits"])
    if reward is None:
        raise ConfigError("env.reward=null: there is nothing to learn from; choose reward=dual or another of conf/reward")
    return reward


def system_prompt(config: Config) -> str:
    """Returns the first message of every chat.

    Raises:
        ConfigError: If ``system_prompt`` is no text and makes none.
    """
    given = config["system_prompt"]
    try:
        text = hydra.utils.instantiate(given) if isinstance(given, dict) else given
    except InstantiationException as error:
        raise ConfigError(f"system_prompt: {error.__cause__ or error}") from error
    if not isinstance(text, str):
        raise ConfigError(f"system_prompt={given!r} must be a text, or make one")
    return text
