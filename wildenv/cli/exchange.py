"""``wildenv export`` and ``wildenv import``: episodes and tasks in other software's formats."""

from __future__ import annotations

import argparse
from datetime import date
from pathlib import Path
from typing import Any

from wildenv.adapters.gen_searcher import export_results, import_results, import_tasks
from wildenv.adapters.inspect_log import write_inspect_log
from wildenv.cli.options import add_command
from wildenv.cli.output import counted, say, say_table, shortened
from wildenv.episode import IMAGES, Episode, LatestEpisodes
from wildenv.errors import ConfigError
from wildenv.images import ImageStore

_NAMED = 10
_REASON = 110


def add(commands: Any) -> None:
    """Adds both groups."""
    _add_exports(commands)
    _add_imports(commands)


def _add_exports(commands: Any) -> None:
    group = add_command(
        commands, "export", "write episodes for other software", "", "wildenv export inspect episodes --out episodes.eval"
    )
    formats = group.add_subparsers(title="formats", metavar="FORMAT", required=True)
    parser = add_command(
        formats,
        "inspect",
        "a log for `inspect view` (inspect_ai)",
        "Needs pip install 'wildenv[inspect]'.",
        "wildenv export inspect episodes --out episodes.eval --task savanna",
    )
    _add_episodes(parser)
    parser.add_argument("--out", required=True, metavar="FILE.eval", help="the log; .eval or .json")
    parser.add_argument("--task", default="wildenv", metavar="NAME", help="name of the benchmark in the log (wildenv)")
    _add_force(parser, "a log that is")
    parser.set_defaults(run=_export_inspect)

    parser = add_command(
        formats,
        "gen-searcher",
        "Gen-Searcher's results.json with its pictures",
        "Where pictures were drawn, also the input of the KnowGen judge.",
        "wildenv export gen-searcher episodes --out results",
    )
    _add_episodes(parser)
    parser.add_argument("--out", required=True, metavar="FOLDER", help="where the files are written")
    _add_force(parser, "results that are")
    parser.set_defaults(run=_export_gen_searcher)


def _add_imports(commands: Any) -> None:
    group = add_command(
        commands,
        "import",
        "read other software's tasks and results",
        "",
        "wildenv import gen-searcher KnowGen-Bench.json --source knowgen --issued 2026-04-01 --out tasks.jsonl",
    )
    formats = group.add_subparsers(title="formats", metavar="FORMAT", required=True)
    parser = add_command(
        formats,
        "gen-searcher",
        "tasks of Gen-Searcher, KnowGen-Bench or GenEvolve-Bench, or results of their agents",
        "Tasks go into a .jsonl file, their pictures into images/ beside it; with --results, episodes go into a folder.",
        "wildenv import gen-searcher rl_data.json --source gen-searcher --issued 2026-04-01 --out tasks.jsonl\n"
        "  wildenv import gen-searcher results.json --results --policy gen-searcher-8b --issued 2026-04-01 --out episodes",
    )
    parser.add_argument("file", metavar="FILE", help="a JSON array or JSON lines")
    parser.add_argument("--out", required=True, metavar="PATH", help="the tasks file or, with --results, the folder of episodes")
    parser.add_argument(
        "--issued",
        required=True,
        metavar="DATE",
        help="the day all tasks are issued on, which their files do not say: YYYY-MM-DD",
    )
    tasks = parser.add_argument_group("tasks")
    tasks.add_argument("--source", metavar="NAME", help="name of the benchmark; leads the ids")
    tasks.add_argument("--split", default="", metavar="NAME", help="kept with each task that names none")
    _add_force(tasks, "a tasks file that is")
    tasks.add_argument("--root", metavar="FOLDER", help="what paths of pictures are relative to (the file's folder)")
    results = parser.add_argument_group("results")
    results.add_argument("--results", action="store_true", help="the file holds results of an agent, not tasks")
    results.add_argument("--policy", metavar="NAME", help="name of the agent in the record")
    parser.set_defaults(run=_import_gen_searcher)


def _add_force(parser: argparse._ActionsContainer, what: str) -> None:
    parser.add_argument("--force", action="store_true", help=f"replace {what} there already")


def _add_episodes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "episodes", metavar="EPISODES", help="a folder of episodes; of a task rolled again, the last record counts"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="only the episodes of this seed")


def _export_inspect(arguments: argparse.Namespace) -> int:
    episodes, store = _episodes(arguments)
    path = write_inspect_log(episodes, store, arguments.out, arguments.task, arguments.force)
    say(f"{path}: {counted(len(episodes), 'episode')}; look at them with: inspect view --log-dir {path.parent}")
    return 0


def _export_gen_searcher(arguments: argparse.Namespace) -> int:
    episodes, store = _episodes(arguments)
    done = export_results(episodes, store, arguments.out, arguments.force)
    say(f"{done.results}: {counted(done.rows, 'row')}, {counted(done.references, 'reference picture')}")
    if done.judge_input is None:
        say("no episode was drawn, so there is no input for their judge")
        return 0
    say(str(done.judge_input))
    if done.unjudgeable:
        say(f"{counted(len(done.unjudgeable), 'drawn episode')} without a ground-truth picture, which their judge passes over")
    return 0


def _import_gen_searcher(arguments: argparse.Namespace) -> int:
    issued = _day(arguments.issued)
    if arguments.results:
        return _import_results(arguments, issued)
    if arguments.source is None:
        raise ConfigError("--source is missing; name the benchmark the tasks come from, such as knowgen")
    if Path(arguments.out).suffix != ".jsonl":
        raise ConfigError(f"--out {arguments.out}: a tasks file ends with .jsonl")
    done = import_tasks(arguments.file, arguments.out, arguments.source, issued, arguments.split, arguments.root, arguments.force)
    say(f"{arguments.out}: {counted(done.tasks, 'task')}, {done.pictures:,} with a ground-truth picture")
    if done.ignored:
        say("not taken over: " + ", ".join(f"{name} ({count:,})" for name, count in done.ignored.items()))
    return 0


def _import_results(arguments: argparse.Namespace, issued: date) -> int:
    if arguments.policy is None:
        raise ConfigError("--policy is missing; name the agent that played the results")
    done = import_results(arguments.file, arguments.out, arguments.policy, issued)
    say(f"{arguments.out}: {counted(done.episodes, 'episode')}")
    if done.refused:
        say(f"{counted(len(done.refused), 'row')} that no episode can represent:")
        say_table(("id", "why"), [(name, shortened(reason, _REASON)) for name, reason in done.refused[:_NAMED]])
    return int(bool(done.refused))


def _episodes(arguments: argparse.Namespace) -> tuple[list[Episode], ImageStore]:
    chosen = [one for one in LatestEpisodes(arguments.episodes) if arguments.seed in (None, one.seed)]
    return chosen, ImageStore(Path(arguments.episodes) / IMAGES)


def _day(written: str) -> date:
    try:
        return date.fromisoformat(written)
    except ValueError as error:
        raise ConfigError(f"--issued {written}: write a date as YYYY-MM-DD") from error
