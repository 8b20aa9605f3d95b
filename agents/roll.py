"""Rolls an agent of the config over tasks of the config; what collection and evaluation share."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from agents.maker import make_policy
from agents.runs import Config
from wildenv.registration import make_env, make_tasks
from wildenv.rollout import RolloutSummary, rollout


def roll(agent: Config, env: Config, settings: Mapping[str, Any], folder: Path, seed: int) -> tuple[RolloutSummary, list[str]]:
    """Rolls the tasks the folder does not hold yet.

    Args:
        agent: ``conf/agent`` entry, see `agents.maker`.
        env: Arguments of `wildenv.registration.make_env`, `tasks` excepted.
        settings: ``tasks``, ``limit`` (None is all), ``concurrency`` and ``deadline_s`` (seconds).
        folder: Where episodes go.
        seed: Of the run.

    Returns:
        What was rolled, and the ids of all tasks that were asked for.

    Raises:
        ConfigError: Naming the setting that is wrong.
    """
    source = make_tasks(settings["tasks"], env.get("world"))
    count = len(source) if settings["limit"] is None else min(settings["limit"], len(source))
    task_ids = [source[index].id for index in range(count)]
    summary = asyncio.run(
        rollout(
            partial(make_env, tasks=source, **env),
            make_policy(agent),
            task_ids,
            folder,
            seed=seed,
            concurrency=settings["concurrency"],
            deadline_s=settings["deadline_s"],
            name=agent["name"],
            description=f"{agent['name']} on {settings['tasks']}",
        )
    )
    return summary, task_ids
