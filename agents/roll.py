"""Rolls an agent of the config over tasks of the config; what collection and evaluation share."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from agents.maker import make_policy
from agents.runs import Config
from wildenv.episode import ROWS
from wildenv.errors import ConfigError
from wildenv.folders import make_folder
from wildenv.registration import make_env, make_tasks
from wildenv.rollout import RolloutSummary, rollout

RECIPE = "recipe.json"


def roll(agent: Config, env: Config, settings: Mapping[str, Any], folder: Path, seed: int) -> tuple[RolloutSummary, list[str]]:
    """Rolls the tasks the folder does not hold yet.

    Args:
        agent: ``conf/agent`` entry, see `agents.maker`.
        env: Arguments of `wildenv.registration.make_env`, `tasks` excepted.
        settings: ``tasks``, ``limit`` (None is all), ``concurrency``, ``deadline_s`` (seconds) and ``max_failed`` (a share).
        folder: Where episodes go.
        seed: Of the run.

    Returns:
        What was rolled, and the ids of all tasks that were asked for.

    Raises:
        ConfigError: Naming the setting that is wrong; also if the folder holds episodes rolled with other settings.
    """
    _same_recipe(folder, {"agent": agent, "env": env, "tasks": settings["tasks"], "seed": seed})
    limit = settings["limit"]
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        raise ConfigError(f"limit={limit!r} must be a whole number of at least 1; null is all tasks")
    source = make_tasks(settings["tasks"], env.get("world"))
    count = len(source) if limit is None else min(limit, len(source))
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
            max_failed=settings["max_failed"],
            name=agent["name"],
            description=f"{agent['name']} on {settings['tasks']}",
        )
    )
    return summary, task_ids


def _same_recipe(folder: Path, recipe: Config) -> None:
    """Writes what a folder's episodes are rolled with or, once it holds some, compares it with what was written."""
    make_folder(folder, "folder")
    path = folder / RECIPE
    written = json.dumps(recipe, sort_keys=True, indent=1, default=str) + "\n"
    if not (folder / ROWS).exists() or not path.exists():
        part = path.with_suffix(".part")
        part.write_text(written, encoding="utf-8")
        part.replace(path)
    elif path.read_text(encoding="utf-8") != written:
        try:
            before, now = _flat(json.loads(path.read_text(encoding="utf-8"))), _flat(json.loads(written))
        except ValueError as error:
            raise ConfigError(
                f"{path} is damaged ({error}); remove it if the settings are the same, or name another folder"
            ) from error
        changed = sorted(key for key in before.keys() | now.keys() if before.get(key) != now.get(key))
        raise ConfigError(f"{folder} holds episodes rolled with other settings of {', '.join(changed)}; name another folder")


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return flat
