"""The pytest plugin, used as a downstream project uses it."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import Script
from wildenv.difference import episode_difference
from wildenv.env import WildEnv
from wildenv.episode import Episode
from wildenv.errors import ConfigError
from wildenv.miniweb.provider import MiniwebProvider
from wildenv.miniweb.world import MiniWorld
from wildenv.policy import Observation
from wildenv.registration import make_env
from wildenv.task import Task, TaskList
from wildenv.testing import play_actions, play_policy, sockets_blocked
from wildenv.web.client import WebClient
from wildenv.web.packs.pack import export_pack
from wildenv.web.store import Store

SEARCH = '{"name": "text_search", "arguments": {"queries": ["new press picture"]}}'
PICTURES = '{"name": "image_search", "arguments": {"query": "press picture"}}'
ANSWER = '{"name": "answer", "arguments": {"prompt": "it", "references": ["IMG_001"]}}'
ACTIONS = [SEARCH, PICTURES, ANSWER]


@pytest.fixture(scope="module")
def task(small_world: MiniWorld) -> Task:
    return small_world.tasks("test")[0]


@pytest.fixture(scope="module")
def pack(small_world: MiniWorld, task: Task, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    with Store(folder / "web.sqlite") as store:
        env = make_env([task], WebClient(MiniwebProvider(small_world), "record", store), reward=None)
        assert play_actions(env, ACTIONS).end_reason == "answered"
        export_pack(store, folder / "web.pack")
    return folder / "web.pack"


def test_a_recorded_episode_replays_and_is_compared(
    replayed_env: Callable[..., WildEnv], same_episode: Callable[..., None], pack: Path, task: Task, tmp_path: Path
) -> None:
    kept = tmp_path / "episode.json"
    episode = play_actions(replayed_env(pack=pack, tasks=[task]), ACTIONS)
    with pytest.raises(Exception, match="--update-episodes"):
        same_episode(episode, kept)
    kept.write_text(json.dumps(episode.to_dict()), encoding="utf-8")
    same_episode(play_actions(replayed_env(pack=pack, tasks=[task]), ACTIONS), kept)
    with pytest.raises(RuntimeError, match="sockets are blocked"):
        socket.create_connection(("192.0.2.1", 80), timeout=1)

    shorter = play_actions(replayed_env(pack=pack, tasks=[task]), [SEARCH, ANSWER.replace("IMG_001", ""), ANSWER])
    with pytest.raises(AssertionError) as told:
        same_episode(shorter, kept)
    assert "-  -> image_search" in str(told.value)
    assert "+  -> answer" in str(told.value)


@pytest.mark.parametrize(
    "leave",
    [
        lambda one: one.connect(("192.0.2.1", 80)),
        lambda one: one.connect_ex(("192.0.2.1", 80)),
        lambda one: one.sendto(b"x", ("192.0.2.1", 53)),
        lambda one: one.sendto(b"x", 0, ("192.0.2.1", 53)),
        lambda one: one.sendmsg([b"x"], [], 0, ("192.0.2.1", 53)),
        lambda _: socket.getaddrinfo("a.example", 80),
        lambda _: socket.gethostbyname("a.example"),
        lambda _: socket.gethostbyname_ex("a.example"),
        lambda _: socket.gethostbyaddr("192.0.2.1"),
    ],
)
def test_every_way_out_is_blocked(leave: Callable[[socket.socket], Any]) -> None:
    refused = pytest.raises(RuntimeError, match="sockets are blocked")
    with socket.socket(type=socket.SOCK_DGRAM) as one, sockets_blocked(["127.0.0.1"]), refused:
        leave(one)


@pytest.mark.loopback
def test_what_is_allowed_goes_through() -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as there, socket.socket(type=socket.SOCK_DGRAM) as here:
        there.bind(("127.0.0.1", 0))
        there.settimeout(5)
        here.sendto(b"a", there.getsockname())
        here.sendmsg([b"b"], [], 0, there.getsockname())
        here.connect(there.getsockname())
        here.sendmsg([b"c"])
        assert [there.recv(9) for _ in range(3)] == [b"a", b"b", b"c"]
    one, other = socket.socketpair()
    with one, other:
        one.sendmsg([b"d"])
        assert other.recv(9) == b"d"


def test_a_difference_is_told_in_words_and_fields_can_be_set_aside(
    replayed_env: Callable[..., WildEnv], pack: Path, task: Task
) -> None:
    one = play_actions(replayed_env(pack=pack, tasks=[task]), ACTIONS)
    row: dict[str, Any] = one.to_dict()
    other = Episode.from_dict({**row, "web": "elsewhere", "timings": [9.0] * len(one.timings)})
    assert episode_difference(one, one) == ""
    assert '+web: "elsewhere"' in episode_difference(one, other)
    assert episode_difference(one, other, ignore=frozenset({"web"})) == ""


def test_a_policy_plays_a_task(replayed_env: Callable[..., WildEnv], pack: Path, task: Task, small_world: MiniWorld) -> None:
    class Mine(Script):
        def __init__(self) -> None:
            super().__init__(ACTIONS)

    env = replayed_env(pack=pack, tasks=[task])
    assert episode_difference(play_actions(env, ACTIONS), play_policy(env, Mine()), ignore=frozenset({"policy"})) == ""
    other = small_world.tasks("test")[1]
    two = replayed_env(pack=pack, tasks=[task, other])
    for player, moves in ((play_policy, Mine()), (play_actions, ACTIONS)):
        with pytest.raises(ConfigError, match=f"there are 2 tasks \\('{task.id}', '{other.id}'\\); give task_id"):
            player(two, moves)  # type: ignore[operator]
    assert play_policy(two, Mine(), task_id=task.id).end_reason == "answered"


def test_a_failed_episode_is_neither_kept_nor_compared(
    replayed_env: Callable[..., WildEnv], same_episode: Callable[..., None], pack: Path, task: Task, tmp_path: Path
) -> None:
    class Broken(Script):
        async def act(self, observation: Observation) -> str:
            raise ValueError("no idea")

    episode = play_policy(replayed_env(pack=pack, tasks=[task]), Broken([]))
    with pytest.raises(AssertionError, match=r"ended by a failure \(policy\): ValueError: no idea"):
        same_episode(episode, tmp_path / "episode.json")


ROOT = Path(__file__).resolve().parents[1]
BLOCKS = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
"""The README's own examples."""


def test_a_downstream_project_sees_what_changed(small_world: MiniWorld, task: Task, tmp_path: Path) -> None:
    (policy,) = (block for block in BLOCKS if "class FirstPicture" in block)
    (test,) = (block for block in BLOCKS if "replayed_env" in block)
    mine: dict[str, Any] = {"__name__": "mine"}
    exec(policy, mine)
    named = replace(task, id="t1")
    with Store(tmp_path / "web.sqlite") as store:
        env = make_env(TaskList([named]), WebClient(MiniwebProvider(small_world), "record", store), reward=None)
        assert play_policy(env, mine["FirstPicture"]()).end_reason == "answered"
        export_pack(store, tmp_path / "web.pack")
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["wildenv.testing"]\n')
    (tmp_path / "test_agent.py").write_text(test)
    (tmp_path / "tasks.jsonl").write_text(json.dumps(named.to_dict()) + "\n")
    (tmp_path / "my").mkdir()
    module = tmp_path / "my" / "module.py"
    module.write_text(policy)

    def pytest_run(*options: str) -> tuple[int, str]:
        command = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, "."]
        # On a build machine pytest says everything twice.
        env = {name: value for name, value in os.environ.items() if name not in ("CI", "BUILD_NUMBER")}
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    code, said = pytest_run("--update-episodes")
    assert code == 0, said
    assert pytest_run()[0] == 0
    module.write_text(policy.replace('"prompt": self.prompt, "references"', '"prompt": "Draw.", "references"'))
    code, said = pytest_run()
    assert code == 1
    assert said.count("the episode is not the one in episode.json") == 1
    assert said.count('+  -> answer {"prompt": "Draw."') == 1, "the diff is shown once"
    assert "wildenv/testing.py" not in said, "our own frames are hidden"
