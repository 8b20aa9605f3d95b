"""Teacher rollouts to training rows: ``python -m trainers.collect agent=lci tasks=miniweb:train limit=500``.

Rolls what the folder does not hold yet, then filters all of its episodes into ``rows.jsonl`` and writes ``filters.json``
(counts, and the id and reason of every episode removed). Both passes stream. The filters judge the record, not the reasoning.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any

import hydra
from omegaconf import DictConfig
from rich.console import Console
from rich.table import Table

from agents.roll import roll, web_line, web_name
from agents.runs import Config, fix_spelling, freeze, plain, plain_errors, run_dir
from agents.track import finish_wandb, log_summary, log_table, start_wandb
from trainers.data import Row, RowFolder, RowWriter
from trainers.filters import FILTERS, FilterReport, FilterSettings, keep
from trainers.hub import write_dataset
from wildenv.episode import LatestEpisodes
from wildenv.errors import ConfigError
from wildenv.progress import progress
from wildenv.rollout import RolloutSummary

REPORT = "filters.json"
_CONSOLE = Console()
_NAMED = 5


@hydra.main(version_base="1.3", config_path="../conf", config_name="collect")
def main(composed: DictConfig) -> None:
    """Composes the run and collects."""
    with plain_errors():
        config = plain(composed)
        freeze(config, run_dir())
        start_wandb(config["logger"], config, run_dir())
        collect(config, config["env"], config["agent"], config["seed"], config["executor"])
        finish_wandb()


def collect(settings: Mapping[str, Any], env: Config, agent: Config, seed: int, executor: Config | None = None) -> Path:
    """Collects rows.

    Args:
        settings: ``conf/collect/default.yaml`` as plain values.
        env: Arguments of `wildenv.registration.make_env`, `tasks` excepted.
        agent: ``conf/agent`` entry as plain values, see `agents.maker`.
        seed: Of the run.
        executor: ``conf/executor`` entry as plain values; None plays in this process.

    Returns:
        The folder with episodes, pictures and rows.

    Raises:
        ConfigError: If no episode survives the filters, naming what removed them.
    """
    folder = Path(settings["folder"] or default_folder(settings, env, agent, seed))
    filters = FilterSettings(**settings["filters"])
    rolled = roll(agent, env, settings, folder, seed, executor)
    _print_rollout(rolled.summary)
    _CONSOLE.print(web_line(rolled.web), markup=False)
    report = write_rows(folder, filters, set(rolled.task_ids))
    print_report(report)
    _track(rolled.summary, report)
    _CONSOLE.print(f"{report.kept} rows in {folder}")
    if not report.kept:
        raise ConfigError(f"none of {report.total} episodes passed the filters; see {folder / REPORT} and loosen collect.filters")
    if settings["dataset"] is not None:
        source_facts = {"teacher": agent["name"], "tasks": settings["tasks"], "web": web_name(env), "seed": seed}
        written = write_dataset(RowFolder(folder), settings["dataset"], f"{agent['name']} trajectories", source_facts)
        _CONSOLE.print(f"dataset in {written}")
    return folder


def default_folder(settings: Mapping[str, Any], env: Config, agent: Config, seed: int) -> Path:
    """Returns where episodes go by default: one folder per teacher, environment, tasks and seed, whatever the limit."""
    recipe = json.dumps([env, agent, settings["tasks"], seed], sort_keys=True, default=str)
    digest = hashlib.sha256(recipe.encode()).hexdigest()[:10]
    return Path("outputs") / "episodes" / f"{agent['name']}-{digest}"


def write_rows(folder: Path, filters: FilterSettings, task_ids: Set[str] | None = None) -> FilterReport:
    """Filters the episodes of these tasks, or of all, into ``rows.jsonl`` in the order of their ids, and writes the report."""
    report = FilterReport()
    with RowWriter(folder) as writer:
        latest = LatestEpisodes(folder)
        for episode in progress(latest, "filtering", len(latest), "ep"):
            if (task_ids is None or episode.task_id in task_ids) and keep(episode, filters, report):
                writer.write(Row.from_episode(episode))
    report.write(folder / REPORT)
    return report


def print_report(report: FilterReport) -> None:
    """Prints what each filter removed."""
    table = Table("", "episodes", "share", title="filters")
    table.add_row("collected", str(report.total), "")
    for name in FILTERS:
        removed = len(report.removed[name])
        table.add_row(f"removed: {name}", str(removed), f"{removed / max(1, report.total):.1%}")
    table.add_row("kept", str(report.kept), f"{report.kept / max(1, report.total):.1%}")
    _CONSOLE.print(table)


def _track(summary: RolloutSummary, report: FilterReport) -> None:
    removed = {name: len(report.removed[name]) for name in FILTERS}
    counts = {"episodes/collected": report.total, "episodes/kept": report.kept, "episodes/rolled": summary.rolled}
    ends = {f"ended/{reason}": count for reason, count in summary.end_reasons.items()}
    log_summary({**counts, **{f"removed/{name}": count for name, count in removed.items()}, **ends})
    log_table("filters", ["filter", "episodes removed"], list(removed.items()))


def _print_rollout(summary: RolloutSummary) -> None:
    ends = ", ".join(f"{count} {reason}" for reason, count in sorted(summary.end_reasons.items()))
    _CONSOLE.print(f"rolled {summary.rolled} episodes ({ends or 'none were missing'}); {summary.kept} were there already")
    for task_id, reason in summary.failures[:_NAMED]:
        _CONSOLE.print(f"failed: {task_id}: {reason}", markup=False)


if __name__ == "__main__":
    sys.argv[1:] = fix_spelling(sys.argv[1:])
    main()
