"""``wildenv record``: asks the web once and keeps the answers.

Either for a list of requests, or for whatever a policy asks for while it plays tasks. Both go on where they stopped: what the
store holds is not asked for again. Keys of services come from the environment; what an option says may be written into the
episodes' folder.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import inspect
import json
import math
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from wildenv.cli.options import (
    add_command,
    add_env_options,
    add_web_options,
    at_least,
    env_settings,
    nested,
    recording_web,
    search_here,
)
from wildenv.cli.output import counted, say, say_json, say_table, shortened
from wildenv.cli.recipe import Recipe, default_reward
from wildenv.cli.summary import check_finish, finish, say_finish, say_web
from wildenv.cli.warm import read_requests, warm
from wildenv.cli.words import RECORD, plain_words
from wildenv.errors import ConfigError
from wildenv.lock import only_writer
from wildenv.policy import Policy
from wildenv.registration import make_env, make_reader, make_tasks, make_web
from wildenv.rollout import rollout
from wildenv.web.report import append_report

_NAMED = 5


def add(commands: Any) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "record",
        "ask the web once and keep the answers in a store",
        "Give --requests, a list; or --policy and --tasks, and whatever the policy asks for is recorded.",
        "wildenv record --search serper --requests requests.jsonl --store web.sqlite --pack web.pack\n"
        '  where a line is {"tool": "text_search", "query": "teal lantern", "cutoff": "2026-07-04"},\n'
        '  or {"tool": "fetch_page", "url": "https://...", "cutoff": null}; image_search as text_search,\n'
        '  {"tool": "news_search", "query": "teal lantern", "day": "2026-07-04"}, {"tool": "fetch_image", "url": "https://..."}\n'
        "  wildenv record --web miniweb --policy my_package.policy.MyPolicy --tasks miniweb:test --limit 20 \\\n"
        "      --episodes episodes --store web.sqlite",
    )
    parser.add_argument("--store", required=True, metavar="FILE", help="the store that is recorded into; made if it is missing")
    parser.add_argument("--pack", metavar="FILE", help="export the store into this pack at the end")
    parser.add_argument("--force", action="store_true", help="replace a pack that holds answers which the store does not")
    parser.add_argument("--concurrency", type=int, default=8, metavar="N", help="requests or episodes at once (8)")
    parser.add_argument(
        "--deadline-s", type=float, metavar="S", help="wall clock of a request (60) or an episode (300), in seconds"
    )
    parser.add_argument("--max-failed", type=float, default=0.5, metavar="SHARE", help="stop above this share of failures (0.5)")
    parser.add_argument("--json", action="store_true", help="print a summary as JSON")
    requests = parser.add_argument_group("a list of requests")
    requests.add_argument("--requests", metavar="FILE.jsonl", help="one JSON object a line")
    played = parser.add_argument_group("a policy that plays tasks")
    played.add_argument("--policy", metavar="MODULE.CLASS", help="a policy class of yours; the current folder is searched first")
    played.add_argument("--policy-arg", action="append", default=[], metavar="NAME=VALUE", help="an argument of the class")
    played.add_argument("--tasks", metavar="TASKS", help="miniweb:train, miniweb:validation, miniweb:test, or FILE.jsonl")
    played.add_argument("--limit", type=int, metavar="N", help="play the first N tasks only")
    played.add_argument("--episodes", metavar="FOLDER", help="where episodes are written")
    played.add_argument("--seed", type=int, metavar="N", help="seed of the run (0)")
    add_web_options(parser)
    add_env_options(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    if (arguments.requests is None) == (arguments.policy is None):
        raise ConfigError("give either --requests or --policy")
    at_least("--concurrency", arguments.concurrency, 1)
    at_least("--limit", arguments.limit, 1)
    if arguments.deadline_s is not None and not 0 < arguments.deadline_s < math.inf:
        raise ConfigError(f"--deadline-s {arguments.deadline_s} must be a number of seconds above 0")
    if not 0 <= arguments.max_failed <= 1:
        raise ConfigError(f"--max-failed {arguments.max_failed} must be from 0 to 1")
    check_finish(arguments.store, arguments.pack, arguments.force, arguments.refresh)
    return _warm(arguments) if arguments.policy is None else _play(arguments)


def _warm(arguments: argparse.Namespace) -> int:
    env = env_settings(arguments, {})
    for name in ("policy_arg", "tasks", "limit", "episodes", "seed", "env"):
        if getattr(arguments, name) not in (None, []):
            raise ConfigError(f"--{name.replace('_', '-')} goes with --policy; a list of requests does not use it")
    wanted = read_requests(arguments.requests)
    client = make_web(recording_web(arguments), env["world"], env["undated"])
    deadline_s = 60.0 if arguments.deadline_s is None else arguments.deadline_s
    warmed = warm(client, wanted, arguments.concurrency, deadline_s, arguments.max_failed)
    summary = {
        "requests": len(wanted),
        "answered": warmed.answered,
        "refused": warmed.refused,
        "failed": [asdict(one) for one in warmed.failed],
        "web": client.report(),
        **finish(arguments.store, arguments.pack, arguments.force),
    }
    if arguments.json:
        say_json(summary)
    else:
        say(
            f"{counted(len(wanted), 'request')}: {warmed.answered:,} answered, {warmed.refused:,} with nothing to show, "
            f"{len(warmed.failed):,} failed"
        )
        say_web(summary["web"])
        _say_failed([(f"line {one.line}: {one.tool} {one.text}", one.reason) for one in warmed.failed])
        say_finish(summary)
    return int(bool(warmed.failed))


def _play(arguments: argparse.Namespace) -> int:
    missing = [name for name in ("tasks", "episodes") if getattr(arguments, name) is None]
    if missing:
        raise ConfigError(f"--policy needs --{' and --'.join(missing)}")
    policy = _policy_class(arguments.policy)
    policy_arguments = nested(arguments.policy_arg, "--policy-arg")
    env = env_settings(arguments, {"reward": default_reward(arguments.tasks)})
    web = recording_web(arguments)
    tasks = make_tasks(arguments.tasks, env["world"])
    folder, seed = Path(arguments.episodes), arguments.seed or 0
    client = make_web(web, env["world"], env["undated"])
    # One for all environments: they share its connections, its manners and its counters.
    reader = make_reader(env.get("reader"))
    with only_writer(folder, "--episodes"):
        Recipe(arguments.tasks, {**env, "web": web}, arguments.policy, policy_arguments, seed).keep(folder)
        summary = asyncio.run(
            rollout(
                partial(make_env, **{**env, "tasks": tasks, "web": client, "reader": reader}),
                _maker(arguments.policy, policy, policy_arguments),
                [tasks[number].id for number in range(min(len(tasks), arguments.limit or len(tasks)))],
                folder,
                seed=seed,
                concurrency=arguments.concurrency,
                deadline_s=300.0 if arguments.deadline_s is None else arguments.deadline_s,
                max_failed=arguments.max_failed,
                description="record",
            )
        )
        report = client.report()
        append_report(folder, report)
    done: dict[str, Any] = {
        "episodes": str(folder),
        "rolled": summary.rolled,
        "kept": summary.kept,
        "end_reasons": dict(sorted(summary.end_reasons.items())),
        "failed": [{"task": task, "reason": reason} for task, reason in summary.failures],
        "web": report,
        **finish(arguments.store, arguments.pack, arguments.force),
    }
    if arguments.json:
        say_json(done)
    else:
        say(f"{folder}: {counted(summary.rolled, 'episode')} played, {summary.kept:,} were there already")
        say_table(("end", "episodes"), list(done["end_reasons"].items()))
        say()
        say_web(done["web"])
        _say_failed(summary.failures)
        say_finish(done)
    return int(bool(summary.failures))


def _policy_class(path: str) -> Callable[..., Policy]:
    module, _, name = path.rpartition(".")
    if not module:
        raise ConfigError(f"--policy {path}: write the dotted path of a class, such as my_package.policy.MyPolicy")
    search_here()
    try:
        found: Callable[..., Policy] = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"--policy {path} cannot be imported: {error}") from error
    if not all(callable(getattr(found, method, None)) for method in ("reset", "act")):
        raise ConfigError(f"--policy {path} is no policy: it needs the methods reset and act, see wildenv.policy")
    if not inspect.iscoroutinefunction(found.act):  # type: ignore[attr-defined]
        raise ConfigError(f"--policy {path}: act must be async, so that many episodes are played at once; write `async def act`")
    return found


def _maker(path: str, policy: Callable[..., Policy], arguments: dict[str, Any]) -> Callable[[], Policy]:
    def make() -> Policy:
        try:
            return policy(**arguments)
        except TypeError as error:
            raise ConfigError(f"--policy {path} cannot be made with {json.dumps(arguments)}: {error}") from error

    return make


def _say_failed(failed: list[tuple[str, str]]) -> None:
    if failed:
        say()
    for what, reason in failed[:_NAMED]:
        say(f"failed: {shortened(what, 60)}: {shortened(plain_words(reason, RECORD), 160)}")
    if len(failed) > _NAMED:
        say(f"failed: {len(failed) - _NAMED:,} more; run the same command again to try them again")
