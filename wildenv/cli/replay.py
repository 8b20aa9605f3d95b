"""``wildenv replay``: plays the assistant messages of recorded episodes again, in a recorded web, and compares.

An episode is the same if all that its digest covers is. Two things are set aside: the web's own digest, since a live recording
names its services there and a replay its pack; and what the policy told of its model, which is not asked again. Episodes that
a failure outside of the agent ended cannot be played again, since failures are not recorded. Turns of the agent that could not be
read are played as they were recorded, which is cut where they were long.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wildenv.cli.options import add_command, add_env_options, add_set_option, env_settings, replaying_web
from wildenv.cli.output import counted, say, say_json
from wildenv.cli.recipe import default_reward, read_recipe
from wildenv.cli.words import REPLAY, plain_words
from wildenv.difference import episode_difference
from wildenv.env import WildEnv
from wildenv.episode import INFRASTRUCTURE, Episode, LatestEpisodes
from wildenv.errors import ConfigError
from wildenv.messages import text_of
from wildenv.progress import progress
from wildenv.registration import make_env, make_tasks, make_web

_SHOWN = 5
"""Episodes whose difference is printed in full."""


@dataclass(slots=True)
class Replayed:
    """What a replay found.

    Attributes:
        same: Episodes that came out the same.
        steps: Assistant messages played.
        seconds: Wall clock of playing them.
        differing: Task, seed and difference of the others.
        skipped: Episodes that a failure ended, by its kind.
    """

    same: int = 0
    steps: int = 0
    seconds: float = 0.0
    differing: list[tuple[str, int, str]] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)


def add(commands: Any) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "replay",
        "play recorded episodes again and say what differs",
        "Needs no network. Tasks and environment are those of the folder's recipe.json, unless options say otherwise.",
        "wildenv replay episodes --web web.pack\n"
        "  wildenv replay episodes --web hf://datasets/OWNER/NAME --tasks tasks.jsonl --env limits.tool_calls=8",
    )
    parser.add_argument("episodes", metavar="EPISODES", help="a folder of episodes")
    parser.add_argument("--web", required=True, metavar="PACK", help="the pack or store to replay, or hf://datasets/OWNER/NAME")
    parser.add_argument("--tasks", metavar="TASKS", help="miniweb:test and so on, or FILE.jsonl")
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")
    add_set_option(parser, "search=serper, if the file holds records of several services, or overfetch=2")
    add_env_options(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    recorded = LatestEpisodes(arguments.episodes)
    replayed = replay_episodes(recorded, _env(arguments))
    if arguments.json:
        say_json(
            {
                "episodes": len(recorded),
                "same": replayed.same,
                "differing": [{"task": task, "seed": seed, "difference": text} for task, seed, text in replayed.differing],
                "skipped": dict(sorted(replayed.skipped.items())),
                "steps": replayed.steps,
                "seconds": round(replayed.seconds, 3),
            }
        )
    else:
        _say(replayed)
    if not replayed.same and not replayed.differing:
        raise ConfigError(f"{arguments.episodes}: every episode ended by a failure, there is nothing to compare")
    return int(bool(replayed.differing))


def _env(arguments: argparse.Namespace) -> WildEnv:
    """Makes the environment of the recording, over the web to replay."""
    folder = Path(arguments.episodes)
    recipe = read_recipe(folder)
    tasks = arguments.tasks or recipe.get("tasks")
    if tasks is None:
        raise ConfigError(f"{folder} does not say which tasks its episodes are of; give --tasks")
    played = recipe.get("env", {"reward": default_reward(tasks)})
    env = env_settings(arguments, played)
    web = make_web(replaying_web(arguments, played.get("web")), env["world"], env["undated"])
    return make_env(**env, tasks=make_tasks(tasks, env["world"]), web=web)


def replay_episodes(recorded: LatestEpisodes, env: WildEnv) -> Replayed:
    """Plays episodes again, one after another.

    Raises:
        ConfigError: If a task of theirs is not among the environment's.
    """
    replayed = Replayed()
    for episode in progress(recorded, "replay", len(recorded), "episodes"):
        if episode.end_reason in INFRASTRUCTURE:
            replayed.skipped[episode.end_reason] += 1
            continue
        started = time.perf_counter()
        again, ended = replay_episode(env, episode)
        replayed.seconds += time.perf_counter() - started
        replayed.steps += sum(message["role"] == "assistant" for message in again.messages)
        difference = _difference(episode, again, ended)
        if difference:
            replayed.differing.append((episode.task_id, episode.seed, difference))
        else:
            replayed.same += 1
    return replayed


def replay_episode(env: WildEnv, recorded: Episode) -> tuple[Episode, bool]:
    """Plays the assistant messages of a record.

    Returns:
        The new record, and whether the episode ended with the last message or before.
    """
    messages = recorded.messages
    first = text_of(messages[0]) if messages and messages[0]["role"] == "system" else None
    options = {"task_id": recorded.task_id, "system_prompt": first, "policy": recorded.policy}
    env.reset(seed=None if recorded.seed < 0 else recorded.seed, options=options)
    for message in messages:
        if message["role"] == "assistant":
            # What could not be read is recorded as the text it was.
            _, _, terminated, truncated, _ = env.step(message if message.get("tool_calls") else text_of(message))
            if terminated or truncated:
                return env.episode, True
    return env.episode, False


def _difference(recorded: Episode, again: Episode, ended: bool) -> str:
    ignored = frozenset() if recorded.web == again.web else frozenset({"web"})
    difference = episode_difference(recorded.without_model_usage(), again, ignore=ignored)
    if again.failure is not None:
        count = len(again.messages)
        failed = f"after message {count - 1} the replay failed: {plain_words(again.failure, REPLAY)}"
        # All that would have come after is missing; a diff of it says nothing.
        return failed if recorded.messages[:count] == again.messages else f"{failed}\n{difference}"
    if not ended:
        return f"the replay goes on where the record ends ({recorded.end_reason}); check --env limits\n{difference}"
    return difference


def _say(replayed: Replayed) -> None:
    for task, seed, difference in replayed.differing[:_SHOWN]:
        say(f"{task} (seed {seed}) differs:")
        say(difference)
        say()
    for task, seed, _ in replayed.differing[_SHOWN:]:
        say(f"{task} (seed {seed}) differs")
    compared = counted(replayed.same + len(replayed.differing), "episode")
    say(f"{compared} compared: {replayed.same:,} the same, {counted(len(replayed.differing), 'differs', 'differ')}")
    if replayed.skipped:
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(replayed.skipped.items()))
        say(f"{counted(sum(replayed.skipped.values()), 'episode')} ended by a failure and cannot be compared: {kinds}")
