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

from wildenv.aio import run_sync
from wildenv.difference import episode_difference
from wildenv.env import WildEnv
from wildenv.episode import Episode
from wildenv.errors import ConfigError
from wildenv.policy import Policy
from wildenv.registration import make_env
from wildenv.rollout import play
from wildenv.task import Task, TaskList

UPDATE = "--update-episodes"
_NAMED = 3


_SENDING = {"connect": 0, "connect_ex": 0, "sendto": -1, "sendmsg": 3}
"""Methods of a socket that name where something goes, and where among their arguments they do."""

_LOOKING_UP = ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr")


@contextmanager
def sockets_blocked(allowed: Sequence[str] = ()) -> Iterator[None]:
    """Refuses connections and datagrams to anything but Unix sockets, and name look-ups, in this process.

    What goes through `socket` is refused, not what an extension module does by itself.

    Args:
        allowed: Hosts that stay reachable, such as ``"127.0.0.1"`` for a server of the test's own.
    """
    patch = pytest.MonkeyPatch()
    for name, place in _SENDING.items():
        patch.setattr(socket.socket, name, _guarded_sending(getattr(socket.socket, name), place, allowed))
    for name in _LOOKING_UP:
        patch.setattr(socket, name, _guarded_look_up(getattr(socket, name), allowed))
    try:
        yield
    finally:
        patch.undo()


def _guarded_sending(original: Callable[..., Any], place: int, allowed: Sequence[str]) -> Callable[..., Any]:
    def guarded(self: socket.socket, *args: Any) -> Any:
        __tracebackhide__ = True
        # A socket that is connected already names no address.
        address = args[place] if len(args) > place else None
        if self.family != socket.AF_UNIX and address is not None and address[0] not in allowed:
            raise RuntimeError(f"sockets are blocked: a test tried to connect to {address}")
        return original(self, *args)

    return guarded


def _guarded_look_up(original: Callable[..., Any], allowed: Sequence[str]) -> Callable[..., Any]:
    def guarded(host: Any, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        if host not in allowed:
            raise RuntimeError(f"sockets are blocked: a test tried to look up {host}")
        return original(host, *args, **kwargs)

    return guarded


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
        __tracebackhide__ = True
        kept = Path(path)
        if episode.failure is not None:
            # A failure is not recorded by the web; it would say nothing about the agent.
            raise AssertionError(f"the episode ended by a failure ({episode.end_reason}): {episode.failure}")
        if update:
            kept.parent.mkdir(parents=True, exist_ok=True)
            row = {**episode.to_dict(), "timings": [0.0] * len(episode.timings)}
            kept.write_text(json.dumps(row, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
            return
        if not kept.is_file():
            raise ConfigError(f"{kept} is not there; run pytest {UPDATE} once to write it, and look at what it holds")
        difference = episode_difference(Episode.from_dict(json.loads(kept.read_text(encoding="utf-8"))), episode)
        if difference:
            raise AssertionError(f"the episode is not the one in {kept.name}:\n{difference}")

    return check


def play_actions(env: WildEnv, actions: Iterable[str | dict[str, Any]], task_id: str | None = None, seed: int = 0) -> Episode:
    """Plays actions until they or the episode end, and returns the record; arguments as in `play_policy`."""
    __tracebackhide__ = True
    _check_task(env, task_id)
    env.reset(seed=seed, options=None if task_id is None else {"task_id": task_id})
    for action in actions:
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            break
    return env.episode


def play_policy(env: WildEnv, policy: Policy, task_id: str | None = None, seed: int = 0) -> Episode:
    """Lets a policy play an episode to its end, and returns the record.

    Args:
        env: The environment.
        policy: The policy. What it raises is the failure of the episode.
        task_id: The task; may be left out if the environment has only one.
        seed: For the environment and the policy.

    Raises:
        ConfigError: If there are several tasks and none is named.
    """
    __tracebackhide__ = True
    _check_task(env, task_id)
    return run_sync(play(env, policy, task_id or env.tasks[0].id, seed))


def _check_task(env: WildEnv, task_id: str | None) -> None:
    __tracebackhide__ = True
    count = len(env.tasks)
    if task_id is None and count > 1:
        named = ", ".join(repr(env.tasks[number].id) for number in range(min(_NAMED, count)))
        raise ConfigError(f"there are {count} tasks ({named}{', ...' if count > _NAMED else ''}); give task_id")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option that writes the kept episodes."""
    parser.addoption(UPDATE, action="store_true", help="write the episodes that same_episode compares with")
