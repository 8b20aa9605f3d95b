"""``wildenv serve``: the environment over the OpenEnv protocol, for agents and trainers in other processes."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from wildenv.cli.options import add_command, add_env_options, at_least, env_settings
from wildenv.cli.output import say
from wildenv.cli.recipe import default_reward
from wildenv.errors import ConfigError
from wildenv.registration import MINIWEB

_LOCAL = "127.0.0.1"


def add(commands: Any) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "serve",
        "serve the environment over the OpenEnv protocol",
        "Clients are wildenv.adapters.openenv.client.WildClient and OpenEnv's own. Needs pip install 'wildenv[openenv]'.",
        "wildenv serve --tasks miniweb:train --web miniweb --port 8000\n"
        "  wildenv serve --tasks tasks.jsonl --web web.pack --max-sessions 256 --idle-timeout 120",
    )
    parser.add_argument("--tasks", default="miniweb:train", metavar="TASKS", help="miniweb:train and so on, or FILE.jsonl")
    parser.add_argument("--web", default=MINIWEB, metavar="WEB", help="miniweb, a pack or store to replay, or hf://datasets/...")
    parser.add_argument("--host", default=_LOCAL, help=f"address to listen on ({_LOCAL}); nobody is asked for a password")
    parser.add_argument("--port", type=int, default=8000, help="port to listen on (8000); 0 takes a free one")
    parser.add_argument("--max-sessions", type=int, default=64, metavar="N", help="sessions at once (64); more are refused")
    parser.add_argument(
        "--idle-timeout", type=float, default=600.0, metavar="SECONDS", help="a session whose client says nothing ends (600)"
    )
    add_env_options(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    at_least("--max-sessions", arguments.max_sessions, 1)
    at_least("--port", arguments.port, 0)
    if not arguments.idle_timeout > 0:
        raise ConfigError(f"--idle-timeout {arguments.idle_timeout:g} must be above 0")
    settings = env_settings(arguments, {"reward": default_reward(arguments.tasks)})
    # Takes seconds, which no other command should pay for.
    from wildenv.adapters.openenv.server import create_app, serve, shared_env

    app = create_app(
        shared_env(arguments.tasks, arguments.web, settings),
        max_sessions=arguments.max_sessions,
        idle_timeout_s=arguments.idle_timeout,
        split=arguments.tasks.partition(":")[2] or "test",
    )

    def ready(address: str) -> None:
        rewards = "" if settings["reward"] is not None else "; no reward for these tasks, give --env reward=..."
        say(f"{arguments.tasks} at {address}: {arguments.max_sessions} sessions at once, Ctrl-C ends it{rewards}")
        sys.stdout.flush()

    serve(app, arguments.host, arguments.port, ready)
    return 0
