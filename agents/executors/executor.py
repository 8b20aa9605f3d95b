"""What an executor is, and how ``conf/executor`` names one."""

from __future__ import annotations

from typing import Any, Protocol

import hydra
from hydra.errors import InstantiationException

from agents.executors.job import Job
from agents.executors.local import Local
from agents.runs import Config
from wildenv.errors import ConfigError
from wildenv.rollout import RolloutSummary


class Executor(Protocol):
    """Plays the tasks of a job that its folder does not hold yet. Used once."""

    def run(self, job: Job) -> RolloutSummary:
        """Plays; errors as `wildenv.rollout.rollout`."""

    def report(self) -> dict[str, Any] | None:
        """Returns `WebClient.report` of all that was asked for, also after `run` ended with an error; None if nothing was."""


def make_executor(executor: Config | None) -> Executor:
    """Makes an executor.

    Args:
        executor: ``conf/executor`` entry: ``_target_`` names the class, the rest are arguments. None is the local one.

    Raises:
        ConfigError: If one of the settings is wrong.
    """
    if executor is None:
        return Local()
    try:
        made: Executor = hydra.utils.instantiate(executor, _convert_="all")
    except InstantiationException as error:
        cause = error.__cause__
        raise cause if isinstance(cause, ConfigError) else ConfigError(f"executor: {cause or error}") from error
    return made
