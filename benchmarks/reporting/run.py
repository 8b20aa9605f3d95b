"""A run as the report sees it: a folder of episodes, with what was written beside them.

Nothing of a run's place or time enters the report: two runs of one config, replayed, read alike.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from agents.asked import read_asked
from agents.roll import RECIPE, WEB
from benchmarks.evaluate import kappa_of
from benchmarks.reporting.facts import Facts, facts_of
from benchmarks.reporting.knowledge import Knowledge, read_labels
from wildenv.episode import IMAGES, Episode, LatestEpisodes, read_episodes
from wildenv.errors import ConfigError, DataError
from wildenv.images import ImageStore
from wildenv.registration import MINIWEB, make_tasks, miniworld, world_config
from wildenv.strict_json import loads

AUTO = "auto"
_TOLD = 3


@dataclass(slots=True)
class Run:
    """One run.

    Attributes:
        label: What it is called in tables; unique in the report.
        tasks: Name of its tasks; empty if nothing says.
        episodes: The last record of each task and seed, in their order.
        store: Their pictures.
        known: What is known of its tasks besides.
        kappa: Retrieval confusion by task id; None if it is not known.
        miniweb: Whether its tasks are the miniweb's, so that no score may be taken for one on Savanna.
        benchmark: Name of the benchmark; empty if nothing says.
        asked: How many tasks were asked for; None if nothing says.
        web: Reports of its web, `WebClient.report`, one for each roll.
        facts: One for each episode.
    """

    label: str
    tasks: str
    episodes: LatestEpisodes
    store: ImageStore
    known: Knowledge
    kappa: Callable[[str], float] | None
    miniweb: bool
    benchmark: str = ""
    asked: int | None = None
    web: list[dict[str, Any]] = field(default_factory=list)
    facts: list[Facts] = field(default_factory=list)

    @property
    def components(self) -> set[str]:
        """Names of the reward components that any episode has."""
        return {name for one in self.facts for name in one.rewards}

    @property
    def extent(self) -> str:
        """How many of its tasks the folder holds, in a sentence."""
        held = len({one.task_id for one in self.facts})
        if self.asked is None:
            return f"{self.label}: {held} tasks have an episode in the folder; how many were asked for is not recorded."
        if self.unfinished:
            return f"{self.label} is not finished: {held} of the {self.asked} tasks asked for have an episode in the folder."
        return f"{self.label}: all {held} tasks asked for have an episode in the folder."

    @property
    def unfinished(self) -> bool:
        """Whether tasks that were asked for have no episode in the folder."""
        return self.asked is not None and len({one.task_id for one in self.facts}) < self.asked


def read_runs(folders: Sequence[str | Path], settings: Mapping[str, Any], progress: bool = True) -> list[Run]:
    """Reads the runs of a report.

    Args:
        folders: One or two folders of episodes.
        settings: ``conf/report.yaml`` as plain values.
        progress: Whether to show progress bars.

    Raises:
        DataError: If a folder holds no episodes, or damaged ones.
        ConfigError: Naming the setting that is wrong.
    """
    names = _names([Path(folder) for folder in folders], [settings["name"], settings["name2"]])
    return [_read(Path(folder), name, settings, progress) for folder, name in zip(folders, names, strict=True)]


def _names(folders: Sequence[Path], given: Sequence[str | None]) -> list[str]:
    """Returns what runs are called: as given, or the agent and, where that is the same, in what it differs."""
    agents = [_recipe(folder).get("agent", {}) for folder in folders]
    names = [str(agent.get("name") or _first(folder).policy or "agent") for agent, folder in zip(agents, folders, strict=True)]
    if len(set(names)) < len(names):
        keys = sorted(key for key in {key for agent in agents for key in agent} if len({str(one.get(key)) for one in agents}) > 1)
        told = [", ".join(f"{key}={json.dumps(agent.get(key), default=str)}" for key in keys[:_TOLD]) for agent in agents]
        names = [f"{name} ({what or number})" for number, (name, what) in enumerate(zip(names, told, strict=True), 1)]
    names = [wanted or name for wanted, name in zip(given, names, strict=False)]
    if len(set(names)) < len(names):
        raise ConfigError(f"name={names[0]!r} and name2={names[1]!r} must differ")
    return names


def _first(folder: Path) -> Episode:
    episode = next(read_episodes(folder), None)
    if episode is None:
        raise DataError(f"{folder}: there are no episodes; evaluate first, or name another folder with run=")
    return episode


def _read(folder: Path, name: str, settings: Mapping[str, Any], progress: bool) -> Run:
    episodes, recipe, first = LatestEpisodes(folder), _recipe(folder), _first(folder)
    miniweb = first.task.get("meta", {}).get("web") == MINIWEB
    known, kappa = _known(settings, recipe, miniweb)
    tasks, asked = str(recipe.get("tasks", "")), read_asked(folder)
    run = Run(
        label=name,
        # A path says where a run was; its last part says what it was.
        tasks=tasks if tasks.startswith(f"{MINIWEB}:") else Path(tasks).name,
        episodes=episodes,
        store=ImageStore(folder / IMAGES),
        known=known,
        kappa=kappa,
        miniweb=miniweb,
        benchmark=(asked.benchmark if asked else None) or "",
        asked=asked.tasks if asked else None,
        web=_web(folder),
    )
    for episode in tqdm(episodes, desc=f"reading {name}", unit="ep", total=len(episodes), disable=not progress):
        known.check(episode.task)
        run.facts.append(facts_of(episode, known, kappa))
    return run


def _known(
    settings: Mapping[str, Any], recipe: Mapping[str, Any], miniweb: bool
) -> tuple[Knowledge, Callable[[str], float] | None]:
    given = settings["world"]
    if given == AUTO:
        fields = recipe.get("env", {}).get("world") if miniweb else None
        config = world_config(fields) if miniweb else None
    else:
        config = None if given is None else world_config(given)
    world = None if config is None else miniworld(config)
    tasks = None if settings["tasks"] is None else make_tasks(settings["tasks"], config)
    labels = None if settings["labels"] is None else read_labels(settings["labels"])
    chosen = settings["benchmark"]["kappa"]
    if chosen == AUTO:
        chosen = None if world is None else MINIWEB
    return Knowledge(world, tasks, labels), kappa_of({"kappa": chosen}, {"world": config})


def _recipe(folder: Path) -> dict[str, Any]:
    path = folder / RECIPE
    if not path.exists():
        return {}
    try:
        recipe = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is damaged ({error}); remove it to go without") from error
    return recipe if isinstance(recipe, dict) else {}


def _web(folder: Path) -> list[dict[str, Any]]:
    path = folder / WEB
    if not path.exists():
        return []
    try:
        return [loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} is damaged ({error}); remove it to go without") from error
