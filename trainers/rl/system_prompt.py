"""The first message of every chat of a run, from its config."""

from __future__ import annotations

import hydra
from hydra.errors import InstantiationException

from agents.runs import Config
from wildenv.errors import ConfigError


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
