"""A process that plays episodes for another one. Writes no folder: an episode and its pictures go back to whoever asked.

Nothing here knows Ray; it is what `agents.executors.crew` makes an actor of.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.executors.job import Parts
from agents.runs import Config
from wildenv.episode import Episode
from wildenv.errors import ConfigError, WildenvError
from wildenv.images import ImageStore
from wildenv.registration import make_tasks, make_web
from wildenv.rollout import WildEnv, episode_seed, play


@dataclass(frozen=True, slots=True)
class Orders:
    """What a worker is told once.

    Attributes:
        agent: ``conf/agent`` entry.
        env: Arguments of `wildenv.registration.make_env`, `tasks` excepted.
        tasks: Name of the task source.
        seed: Of the run.
        deadline_s: Seconds of wall clock of an episode.
        place: Working directory; None stays where the process was started.
        search_path: Where modules are looked for besides.
        variables: Environment variables to set. May hold keys: never logged.
    """

    agent: Config
    env: Config
    tasks: str
    seed: int
    deadline_s: float | None
    place: str | None
    search_path: tuple[str, ...]
    variables: Mapping[str, str]

    def __repr__(self) -> str:
        return f"Orders({self.agent['name']} on {self.tasks})"


@dataclass(frozen=True, slots=True)
class Played:
    """What comes back of one task.

    Attributes:
        episode: The record, as JSON.
        pictures: PNG bytes of all pictures it needs, by digest.
        report: `WebClient.report` of the worker since it started.
        number: How many episodes the worker had ended by then.
    """

    episode: str
    pictures: dict[str, bytes]
    report: dict[str, Any]
    number: int

    def read(self) -> tuple[Episode, ImageStore]:
        """Returns the record and a store with its pictures.

        Raises:
            DataError: If the record does not hold together.
        """
        store = ImageStore()
        for png in self.pictures.values():
            store.put_png(png)
        return Episode.from_dict(json.loads(self.episode)), store


class Worker:
    """Makes its own web, reader, reward and model once, and plays tasks with them; several at once, if it is asked to."""

    def __init__(self) -> None:
        self._free: list[WildEnv] = []
        self._ended = 0

    async def open(self, orders: Orders) -> str:
        """Makes everything; returns the digest of the web.

        Raises:
            ConfigError: Naming the setting that is wrong, and the machine.
        """
        os.environ.update(orders.variables)
        if orders.place is not None:
            if not Path(orders.place).is_dir():
                raise ConfigError(
                    f"{platform.node()} has no directory {orders.place}: executor=ray needs the checkout and the run's files "
                    "at the same path on every machine, or executor.runtime_env={working_dir: .}"
                )
            os.chdir(orders.place)
        sys.path.extend(path for path in orders.search_path if path not in sys.path)
        try:
            source = make_tasks(orders.tasks, orders.env.get("world"))
            web = make_web(orders.env["web"], orders.env.get("world"), orders.env.get("undated", "keep"))
            self._parts = Parts.of(orders.agent, orders.env, orders.tasks, source, web)
            self._free.append(self._parts.make_env())
        except WildenvError as error:
            raise ConfigError(f"a worker on {platform.node()} cannot start: {error}") from error
        self._orders = orders
        return web.digest

    async def play(self, task_id: str) -> Played:
        """Plays one task; errors as `wildenv.rollout.play`."""
        orders, parts = self._orders, self._parts
        env = self._free.pop() if self._free else parts.make_env()
        seed = episode_seed(orders.seed, task_id)
        episode = await play(env, parts.make_policy(), task_id, seed, orders.deadline_s, str(orders.agent["name"]))
        pictures = {digest: env.store.png(digest) for digest in episode.pictures()}
        if episode.end_reason != "deadline":
            # A thread may still be in a tool of an environment whose deadline passed.
            self._free.append(env)
        self._ended += 1
        return Played(json.dumps(episode.to_dict()), pictures, parts.web.report(), self._ended)
