"""Makes the reward of a run from its config."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import hydra
from hydra.errors import InstantiationException

from agents.runs import Config
from wildenv.errors import ConfigError
from wildenv.registration import ORACLE, make_reward
from wildenv.rewards.base import Reward


def open_reward(env: Config, tasks: str) -> Reward | None:
    """Returns the reward that ``env.reward`` asks for.

    Args:
        env: Arguments of `wildenv.registration.make_env`; ``reward`` is as in `wildenv.registration.make_reward`, or names a
            class of one's own by ``_target_``.
        tasks: Name of the task source.

    Raises:
        ConfigError: Naming the setting that is wrong.
    """
    given: Any = env.get("reward", ORACLE)
    if isinstance(given, Mapping) and "_target_" in given:
        try:
            given = hydra.utils.instantiate(dict(given), _convert_="all")
        except InstantiationException as error:
            raise ConfigError(f"reward._target_={given['_target_']}: {error.__cause__ or error}") from error
        if not isinstance(given, Reward):
            raise ConfigError(f"reward._target_: {type(given).__name__} has no `async def score(task, submission)`")
    return make_reward(given, tasks, env.get("world"), env.get("limits"))
