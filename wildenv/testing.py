"""Tests against a recorded web: a pytest plugin for projects that build on wildenv.

Put ``pytest_plugins = ["wildenv.testing"]`` into your top ``conftest.py``. A test that asks for `replayed_env` gets a maker of
environments that replay a pack, with sockets blocked; `same_episode` compares an episode with the one the test kept, and says
in words what changed. ``pytest --update-episodes`` writes what is compared with.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from wildenv.difference import episode_difference
from wildenv.env import WildEnv
from wildenv.episode import Episode
from wildenv.errors import ConfigError
from wildenv.registration import make_env
from wildenv.task import Task, TaskList

UPDATE = "--update-episodes"


@contextmanager
def sockets_blocked(allowed: Sequence[str] = ()) -> Iterator[None]:
    """Refuses connections to anything but Unix sockets, and name look-ups, in this process.

    Args:
        allowed: Hosts that stay reachable, such as ``"127.0.0.1"`` for a server of the test's own.
    """
    patch = pytest.MonkeyPatch()
    for name in ("connect", "connect_ex"):
        original = getattr(socket.socket, name)

        def guarded(self: socket.socket, address: Any, original: Any = original) -> Any:
            if self.family != socket.AF_UNIX and address[0] not in allowed:
                raise RuntimeError(f"sockets are blocked: a test tried to connect to {address}")
            return original(self, address)

        patch.setattr(socket.socket, name, guarded)
    look_up = socket.getaddrinfo

    def refuse(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host in allowed:
            return look_up(host, *args, **kwargs)
        raise RuntimeError(f"sockets are blocked: a test tried to look up {host}")

    patch.setattr(socket, "getaddrinfo", refuse)
    try:
        yield
    finally:
        patch.undo()


@pytest.fixture
def replayed_env() -> Iterator[Callable[..., WildEnv]]:
    """A maker of environments over a pack: ``replayed_env(pack=..., tasks=..., **arguments of make_env)``.

    `tasks` is a list of `Task`, or anything `make_tasks` takes. No reward is given unless one is passed. Sockets are blocked for
    the whole test.
    """

    def make(pack: str | Path, tasks: str | Sequence[Task], reward: Any = None, **arguments: Any) -> WildEnv:
        source: Any = tasks if isinstance(tasks, str) else TaskList(list(tasks))
        return make_env(tasks=source, web=str(pack), reward=reward, **arguments)

    with sockets_blocked():
        yield make


@pytest.fixture
def same_episode(request: pytest.FixtureRequest) -> Callable[[Episode, str | Path], None]:
    """A check that an episode is the one kept in a JSON file: ``same_episode(env.episode, Path(__file__).with_name("a.json"))``.

    Fails with a diff of what an agent saw and did, if the digests differ; with `UPDATE` it writes the file instead.
    """
    update = bool(request.config.getoption(UPDATE))

    def check(episode: Episode, path: str | Path) -> None:
        kept = Path(path)
        if update:
            kept.parent.mkdir(parents=True, exist_ok=True)
            row = {**episode.to_dict(), "timings": [0.0] * len(episode.timings)}
            kept.write_text(json.dumps(row, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
            return
        if not kept.is_file():
            raise ConfigError(f"{kept} is not there; run pytest {UPDATE} once to write it, and look at what it holds")
        difference = episode_difference(Episode.from_dict(json.loads(kept.read_text(encoding="utf-8"))), episode)
        assert not difference, f"the episode is not the one in {kept.name}:\n{difference}"

    return check


def play_actions(env: WildEnv, actions: Iterable[str | dict[str, Any]], task_id: str | None = None, seed: int = 0) -> Episode:
    """Plays actions until they or the episode end, and returns the record."""
    env.reset(seed=seed, options=None if task_id is None else {"task_id": task_id})
    for action in actions:
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            break
    return env.episode


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option that writes the kept episodes."""
    parser.addoption(UPDATE, action="store_true", help="write the episodes that same_episode compares with")
