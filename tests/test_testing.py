"""The pytest plugin, used as a downstream project uses it."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wildenv.difference import episode_difference
from wildenv.env import WildEnv
from wildenv.episode import Episode
from wildenv.miniweb.provider import MiniwebProvider
from wildenv.miniweb.world import MiniWorld
from wildenv.registration import make_env
from wildenv.task import Task
from wildenv.testing import play_actions
from wildenv.web.client import WebClient
from wildenv.web.pack import export_pack
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


def test_a_difference_is_told_in_words_and_fields_can_be_set_aside(
    replayed_env: Callable[..., WildEnv], pack: Path, task: Task
) -> None:
    one = play_actions(replayed_env(pack=pack, tasks=[task]), ACTIONS)
    row: dict[str, Any] = one.to_dict()
    other = Episode.from_dict({**row, "web": "elsewhere", "timings": [9.0] * len(one.timings)})
    assert episode_difference(one, one) == ""
    assert '+web: "elsewhere"' in episode_difference(one, other)
    assert episode_difference(one, other, ignore=frozenset({"web"})) == ""


ROOT = Path(__file__).resolve().parents[1]
DOWNSTREAM = next(
    block
    for block in re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    if "replayed_env" in block
)
"""The README's own example."""


def test_a_downstream_project_sees_what_changed(pack: Path, task: Task, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["wildenv.testing"]\n')
    (tmp_path / "test_agent.py").write_text(DOWNSTREAM)
    (tmp_path / "web.pack").write_bytes(pack.read_bytes())
    (tmp_path / "tasks.jsonl").write_text(json.dumps(task.to_dict()) + "\n")
    (tmp_path / "actions.txt").write_text("\n".join(ACTIONS))

    def pytest_run(*options: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, "."]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    code, said = pytest_run("--update-episodes")
    assert code == 0, said
    assert pytest_run()[0] == 0
    (tmp_path / "actions.txt").write_text("\n".join([PICTURES, ANSWER]))
    code, said = pytest_run()
    assert code == 1
    assert "-  -> text_search" in said
    assert "the episode is not the one in episode.json" in said
