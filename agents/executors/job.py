"""What is to be rolled, as plain values that another process can be given, and what is made of them there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from agents.maker import make_policy
from agents.rewarder import open_reward
from agents.runs import Config
from wildenv.policy import Policy
from wildenv.registration import make_env, make_reader, make_web
from wildenv.rollout import WildEnv
from wildenv.task import TaskSource
from wildenv.web.client import WebClient


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be rolled.

    Attributes:
        agent: ``conf/agent`` entry, see `agents.maker`.
        env: Arguments of `wildenv.registration.make_env`, `tasks` excepted.
        tasks: Name of the task source, see `wildenv.registration.make_tasks`.
        source: The tasks themselves.
        task_ids: Which of them.
        folder: Where episodes go; the caller holds its lock.
        seed: Of the run.
        concurrency: Episodes at once in a process.
        deadline_s: Seconds of wall clock of an episode; None sets no limit.
        max_failed: Share of failed episodes above which to stop; None never stops.
    """

    agent: Config
    env: Config
    tasks: str
    source: TaskSource
    task_ids: list[str]
    folder: Path
    seed: int
    concurrency: int
    deadline_s: float | None
    max_failed: float | None

    @property
    def name(self) -> str:
        """Name of the policy in the records."""
        return str(self.agent["name"])

    @property
    def description(self) -> str:
        """Label of the progress bar."""
        return f"{self.name} on {self.tasks}"

    def web(self) -> WebClient:
        """Makes the web."""
        return make_web(self.env["web"], self.env.get("world"), self.env.get("undated", "keep"))


@dataclass(frozen=True, slots=True)
class Parts:
    """What one process plays with. What may hold a model, a connection or a count of requests is made once and shared.

    Attributes:
        web: The web of all environments.
        make_env: Makes an environment.
        make_policy: Makes a policy.
    """

    web: WebClient
    make_env: Callable[[], WildEnv]
    make_policy: Callable[[], Policy]

    @classmethod
    def of(cls, agent: Config, env: Config, tasks: str, source: TaskSource, web: WebClient) -> Parts:
        """Makes them.

        Raises:
            ConfigError: Naming the setting that is wrong.
        """
        reward = open_reward(env, tasks)
        shared: dict[str, Any] = {"tasks": source, "web": web, "reader": make_reader(env.get("reader")), "reward": reward}
        return cls(web, partial(make_env, **{**env, **shared}), make_policy(agent))
