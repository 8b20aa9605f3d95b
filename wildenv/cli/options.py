"""Settings on the command line, and the one place where they become a web, tasks and an environment."""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wildenv.errors import ConfigError
from wildenv.registration import MINIWEB, make_env

_PARTS = ("search", "pages", "pictures")
_ASKED = (*_PARTS, "overfetch")
"""Settings that enter the requests themselves."""

_OPTIONS = ("web", "tasks", "world", "undated")
"""Arguments of `make_env` that have an option of their own."""

_USUAL = {"pages": "wayback", "pictures": "direct"}
"""Who is asked when the options do not say, as in ``conf/web``."""


def add_command(commands: Any, name: str, summary: str, description: str, example: str) -> argparse.ArgumentParser:
    """Adds a command whose help ends with examples."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[:1].upper()}{summary[1:]}. {description}".strip(),
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return parser


def add_web_options(parser: argparse.ArgumentParser) -> None:
    """Adds what says who is asked while recording."""
    group = parser.add_argument_group("the web that is asked")
    group.add_argument("--web", choices=[MINIWEB], help="everything from the built-in generated world; needs no network")
    group.add_argument("--search", metavar="NAME", help="who searches: serper, searxng, miniweb, or MODULE.CLASS of yours")
    group.add_argument(
        "--pages", metavar="NAME", help="who fetches pages: wayback (the default), direct, jina, miniweb, or MODULE.CLASS"
    )
    group.add_argument(
        "--pictures",
        metavar="NAME",
        help="who fetches pictures: direct (the default), miniweb, or MODULE.CLASS; classes of "
        "yours are looked for in the current folder first",
    )
    add_set_option(group, "search.url=http://127.0.0.1:8888, limits.total_s=10, overfetch=2")
    group.add_argument("--refresh", action="store_true", help="ask for everything again and overwrite")
    group.add_argument("--retry-gaps", action="store_true", help="ask again for addresses that could not be had before")


def add_set_option(group: Any, examples: str) -> None:
    """Adds the option for web settings that have none of their own."""
    group.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help=f"any other web setting, such as {examples}"
    )


def add_env_options(parser: argparse.ArgumentParser) -> None:
    """Adds what the environment is made with."""
    group = parser.add_argument_group("the environment")
    group.add_argument("--undated", choices=["keep", "drop"], help="what the date cutoff does with undated results")
    group.add_argument("--world", action="append", default=[], metavar="NAME=VALUE", help="a field of the miniweb's config")
    group.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an argument of make_env, such as limits.tool_calls=8, show_image_urls=false, reward=null",
    )


def at_least(option: str, value: float | None, least: int) -> None:
    """Raises `ConfigError` if a number is given and too small."""
    if value is not None and not value >= least:
        raise ConfigError(f"{option} {value} must be at least {least}")


def search_here() -> None:
    """Lets classes of the user's be imported from the current folder, before anything else of the same name."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)


def nested(settings: Sequence[str], option: str) -> dict[str, Any]:
    """Reads ``a.b=1`` as ``{"a": {"b": 1}}``; a value is JSON, or text if it is none.

    Raises:
        ConfigError: If a setting has no value, or is a value and a group at once.
    """
    values: dict[str, Any] = {}
    for setting in settings:
        name, sign, written = setting.partition("=")
        if not sign or not all(name.split(".")):
            raise ConfigError(f"{option} {setting}: write NAME=VALUE")
        try:
            value = json.loads(written)
        except ValueError:
            value = written
        *groups, last = name.split(".")
        inner = values
        for group in groups:
            inner = inner.setdefault(group, {})
            if not isinstance(inner, dict):
                raise ConfigError(f"{option} {setting}: {group} has a value already")
        inner[last] = value
    return values


def recording_web(arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns the fields of `wildenv.web.settings.WebSettings` that the options of a recording name.

    Raises:
        ConfigError: If nobody is named to search, or options contradict each other.
    """
    given = nested(arguments.set, "--set")
    fixed = sorted(given.keys() & {"mode", "store", "retry_gaps"})
    if fixed:
        raise ConfigError(f"--set {fixed[0]}=...: use --refresh, --store or --retry-gaps instead")
    for part in _PARTS:
        named = getattr(arguments, part) or arguments.web or _USUAL.get(part)
        if part not in given:
            given[part] = named
        elif isinstance(given[part], dict):
            given[part] = {"name": named, **given[part]}
    if given["search"] is None or (isinstance(given["search"], dict) and given["search"]["name"] is None):
        raise ConfigError("nobody is named to search; give --search serper, --search searxng or --web miniweb")
    search_here()
    mode = "refresh" if arguments.refresh else "record"
    return {**given, "mode": mode, "store": str(arguments.store), "retry_gaps": arguments.retry_gaps}


def replaying_web(arguments: argparse.Namespace, recorded: Any) -> dict[str, Any]:
    """Returns the fields of a web that replays the file of `--web`, asking in the same words as a recording did.

    Args:
        arguments: With `web` and `set`.
        recorded: The fields of the recording's web, if they are known.

    Raises:
        ConfigError: If a setting does not matter to a replay.
    """
    given = nested(arguments.set, "--set")
    unused = sorted(given.keys() - {*_ASKED})
    if unused:
        raise ConfigError(f"--set {unused[0]}=...: a replay asks nobody and does not use it; it uses {', '.join(_ASKED)}")
    kept = {name: recorded[name] for name in _ASKED if name in recorded} if isinstance(recorded, Mapping) else {}
    return {**_over(kept, given), "mode": "replay", "store": arguments.web}


def env_settings(arguments: argparse.Namespace, before: Mapping[str, Any]) -> dict[str, Any]:
    """Returns arguments of `make_env`, the web and the tasks left out: what the options say, over what was said before.

    Raises:
        ConfigError: If an option stands in the wrong place.
    """
    given = nested(arguments.env, "--env")
    misplaced = sorted(given.keys() & {*_OPTIONS})
    if misplaced:
        raise ConfigError(f"--env {misplaced[0]}=...: use --{misplaced[0]} instead")
    known = sorted(inspect.signature(make_env).parameters.keys() - {*_OPTIONS})
    unknown = sorted(given.keys() - {*known})
    if unknown:
        raise ConfigError(f"--env {unknown[0]}=...: there is no such argument; there are {', '.join(known)}")
    if arguments.world:
        given["world"] = nested(arguments.world, "--world")
    if arguments.undated:
        given["undated"] = arguments.undated
    kept = {name: value for name, value in before.items() if name not in ("web", "tasks")}
    return _over({"world": {}, "undated": "keep", **kept}, given)


def _over(before: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns `before` with the values of `given` in place of its own, group by group."""
    merged = dict(before)
    for name, value in given.items():
        inner = merged.get(name)
        merged[name] = _over(inner, value) if isinstance(inner, Mapping) and isinstance(value, Mapping) else value
    return merged
