"""Makes policies from ``conf/agent`` entries."""

from __future__ import annotations

from collections.abc import Callable

import hydra
from hydra.errors import InstantiationException

from agents.runs import Config
from wildenv.errors import ConfigError, told
from wildenv.policy import Policy


def make_policy(agent: Config) -> Callable[[], Policy]:
    """Returns a maker of policies.

    Args:
        agent: ``_target_`` names the class and `name` the policy in the records; the rest are arguments. An argument with a
            ``_target_`` of its own is made once and given to every policy, as a loaded model should be.

    Raises:
        ConfigError: If the class or one of its arguments cannot be made.
    """
    arguments = {key: value for key, value in agent.items() if key != "name"}

    def make() -> Policy:
        try:
            return maker()
        except Exception as error:
            raise ConfigError(f"agent._target_={agent.get('_target_')} cannot be made: {told(error)}") from error

    try:
        maker: Callable[[], Policy] = hydra.utils.instantiate({**arguments, "_partial_": True}, _convert_="all")
    except InstantiationException as error:
        raise ConfigError(f"agent._target_={agent.get('_target_')}: {error.__cause__ or error}") from error
    return make
