"""Rolls an agent over a benchmark and prints its scores: ``python -m benchmarks.evaluate benchmark=savanna agent=lci``.

With ``reward=all generator=compositor judge=oracle`` the answers are drawn and judged as well.

Writes episodes as it goes and resumes a folder that holds some; prints the search score by domain and by retrieval confusion with
bootstrap 95 % intervals, and why the rest failed; leaves ``scores.json`` beside the episodes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import hydra
from omegaconf import DictConfig
from rich.console import Console

from agents.roll import roll, web_line, web_name
from agents.runs import Config, fix_spelling, freeze, plain, plain_errors, run_dir
from agents.track import finish_wandb, start_wandb
from benchmarks.savanna.scores import Scores, score
from benchmarks.savanna.tables import MINIWEB_NOTE, component_table, extras_line, failure_table, score_table
from benchmarks.savanna.track import track_scores
from wildenv.episode import Episode, LatestEpisodes
from wildenv.errors import ConfigError
from wildenv.files import read_text
from wildenv.registration import MINIWEB, miniworld, world_config
from wildenv.rewards.search import COMPONENT
from wildenv.rollout import episode_seed
from wildenv.strict_json import loads

SCORES = "scores.json"
_NAMED = 5


@hydra.main(version_base="1.3", config_path="../conf", config_name="evaluate")
def main(composed: DictConfig) -> None:
    """Composes the run, rolls and prints."""
    with plain_errors():
        config = plain(composed)
        folder = Path(config["folder"] or run_dir())
        freeze(config, run_dir())
        start_wandb(config["logger"], config, run_dir())
        agent = config["agent"]
        kappa = kappa_of(config["benchmark"], config["env"])
        episodes = play_all(config, folder, agent)
        scores = score(episodes, kappa)
        (folder / SCORES).write_text(json.dumps(asdict(scores), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        track_scores(scores, of_miniweb(config))
        finish_wandb()
        console = Console()
        if COMPONENT in scores.components or not scores.components:
            console.print(score_table(scores, f"{agent['name']} on {config['benchmark']['tasks']}"))
        if scores.components.keys() - {COMPONENT}:
            console.print(component_table(scores, len(episodes)))
        console.print(failure_table(scores, len(episodes)))
        console.print(extras_line(scores))
        if of_miniweb(config):
            console.print(MINIWEB_NOTE)
        console.print(f"episodes and scores: {folder}")
        if nothing_scored(scores, episodes, config["env"]["reward"]):
            raise SystemExit("error: no episode was scored; the reasons are above")


def nothing_scored(scores: Scores, episodes: Sequence[Episode], reward: Any) -> bool:
    """Whether a run was in vain: no episode was scored; or, where no score is asked for, every one failed."""
    if reward is None:
        return all(episode.failure is not None for episode in episodes)
    return scores.search is None and not any(scores.components.values())


def play_all(config: Config, folder: Path, agent: Config) -> list[Episode]:
    """Rolls the tasks of a benchmark that the folder does not hold yet.

    Args:
        config: ``conf/evaluate.yaml`` as plain values.
        folder: Where episodes go.
        agent: ``conf/agent`` entry as plain values.

    Returns:
        The last record of each task of the benchmark, by task id.
    """
    settings = {key: config[key] for key in ("concurrency", "deadline_s", "max_failed")} | config["benchmark"]
    rolled = roll(agent, config["env"], settings, folder, config["seed"], config["executor"])
    notes = Console(stderr=True)
    for task_id, reason in rolled.summary.failures[:_NAMED]:
        notes.print(f"failed: {task_id}: {reason}", markup=False)
    notes.print(web_line(rolled.web), markup=False)
    wanted = {(task_id, episode_seed(config["seed"], task_id)) for task_id in rolled.task_ids}
    return [episode for episode in LatestEpisodes(folder) if (episode.task_id, episode.seed) in wanted]


def of_miniweb(config: Config) -> bool:
    """Whether the tasks or the web are the miniweb's, so that no score may be taken for one on Savanna."""
    return web_name(config["env"]) == MINIWEB or str(config["benchmark"]["tasks"]).startswith(f"{MINIWEB}:")


def kappa_of(benchmark: Config, env: Config) -> Callable[[str], float] | None:
    """Resolves ``benchmark.kappa``.

    Raises:
        ConfigError: If it is neither ``miniweb``, null nor a readable JSON object.
    """
    kappa = benchmark["kappa"]
    if kappa is None:
        return None
    if kappa == MINIWEB:
        return miniworld(world_config(env.get("world"))).kappa
    try:
        table: dict[str, Any] = loads(read_text(kappa, "benchmark.kappa"))
        values = {str(key): float(value) for key, value in table.items()}
    except (ValueError, AttributeError, TypeError) as error:
        raise ConfigError(f"benchmark.kappa={kappa!r}: give miniweb, null or a JSON file of task id to κ ({error})") from error

    def look_up(task_id: str) -> float:
        if task_id not in values:
            raise ConfigError(f"benchmark.kappa={kappa!r} has no κ for task {task_id!r}; add it, or set benchmark.kappa=null")
        return values[task_id]

    return look_up


if __name__ == "__main__":
    sys.argv[1:] = fix_spelling(sys.argv[1:])
    main()
