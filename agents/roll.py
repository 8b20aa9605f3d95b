"""Rolls an agent of the config over tasks of the config; what collection and evaluation share."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.asked import Asked
from agents.executors.executor import Executor, make_executor
from agents.executors.job import Job
from agents.numbers import positive, share, whole
from agents.runs import Config
from wildenv.episode import ROWS
from wildenv.errors import ConfigError
from wildenv.lock import only_writer
from wildenv.registration import make_tasks
from wildenv.rollout import RolloutSummary
from wildenv.web.report import WEB as WEB
from wildenv.web.report import append_report

RECIPE = "recipe.json"


@dataclass(frozen=True, slots=True)
class Rolled:
    """What a roll did.

    Attributes:
        summary: What was rolled and what was kept.
        task_ids: All tasks that were asked for.
        web: What the web was asked for and what it cost, `WebClient.report`.
    """

    summary: RolloutSummary
    task_ids: list[str]
    web: dict[str, Any]


def roll(
    agent: Config, env: Config, settings: Mapping[str, Any], folder: Path, seed: int, executor: Config | None = None
) -> Rolled:
    """Rolls the tasks the folder does not hold yet.

    Args:
        agent: ``conf/agent`` entry, see `agents.maker`.
        env: Arguments of `wildenv.registration.make_env`, `tasks` excepted.
        settings: ``tasks``, ``limit`` (None is all), ``concurrency``, ``deadline_s`` (seconds) and ``max_failed`` (a share); a
            benchmark has a ``name`` as well.
        folder: Where episodes go.
        seed: Of the run.
        executor: ``conf/executor`` entry: where the episodes are played, which changes nothing about them. None is this process.

    The report on the web is also added as a line to ``web.jsonl`` beside the episodes, one for each roll, also for one that ends
    with an error or is interrupted; one that is killed leaves none.

    Raises:
        ConfigError: Naming the setting that is wrong; also if the folder holds episodes rolled with other settings, or another
            run is writing it.
    """
    whole("limit", settings["limit"], none="all tasks")
    whole("concurrency", settings["concurrency"])
    positive("deadline_s", settings["deadline_s"], none="no limit")
    share("max_failed", settings["max_failed"], none="never to stop")
    made = make_executor(executor)
    with only_writer(folder):
        return _roll(agent, env, settings, folder, seed, made)


def _roll(agent: Config, env: Config, settings: Mapping[str, Any], folder: Path, seed: int, executor: Executor) -> Rolled:
    _same_recipe(folder, {"agent": agent, "env": env, "tasks": settings["tasks"], "seed": seed})
    limit = settings["limit"]
    source = make_tasks(settings["tasks"], env.get("world"))
    count = len(source) if limit is None else min(limit, len(source))
    task_ids = [source[index].id for index in range(count)]
    Asked(count, settings.get("name")).keep(folder)
    job = Job(
        agent,
        env,
        settings["tasks"],
        source,
        task_ids,
        folder,
        seed,
        settings["concurrency"],
        settings["deadline_s"],
        settings["max_failed"],
    )
    try:
        summary = executor.run(job)
    finally:
        # What was asked for before a stop has been charged as well.
        report = executor.report()
        if report is not None:
            append_report(folder, report)
    assert report is not None
    return Rolled(summary, task_ids, report)


def web_line(report: Mapping[str, Any]) -> str:
    """Says in one line what the web was asked for, what went wrong and what it cost."""
    calls = sum(one["calls"] for one in report["usage"].values())
    hits = sum(one["hits"] for one in report["usage"].values())
    parts = [f"web ({report['mode']}): {calls} calls, {hits} answered without asking"]
    kinds = Counter[str]()
    for found in report["failures"].values():
        kinds.update(found)
    if kinds:
        parts.append("not had: " + ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())))
    if kinds["gap"]:
        again = "web.mode=record web.retry_gaps=true" if report["mode"] == "replay" else "web.retry_gaps=true"
        parts.append(f"{again} asks again for what earlier runs could not get")
    for name, spent in sorted(report["services"].items()):
        credits = f", {spent['credits']} credits" if spent["credits"] else ""
        cost = f", cost {spent['cost']:.4f}" if spent["cost"] else ""
        parts.append(f"{name}: {spent['requests']} requests ({spent['retries']} repeated){credits}{cost}")
    return "; ".join(parts)


def web_name(env: Config) -> str:
    """Returns what a reader calls the web of an environment: the file it replays, or who searches."""
    web = env["web"]
    if isinstance(web, str):
        return web
    if web["mode"] == "replay":
        return str(web["store"])
    search = web["search"]
    return str(search if isinstance(search, str) else search["name"])


def _same_recipe(folder: Path, recipe: Config) -> None:
    """Writes what a folder's episodes are rolled with or, once it holds some, compares it with what was written."""
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
