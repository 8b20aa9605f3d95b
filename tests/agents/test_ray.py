"""Rolls on a local Ray cluster: one for all tests of this file, and one that a run starts for itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.executors.cluster import own_cluster
from agents.roll import Rolled, roll
from wildenv.episode import INFRASTRUCTURE, ROWS, Episode, read_episodes
from wildenv.errors import ConfigError, InfrastructureError
from wildenv.rollout import episode_seed

ray = pytest.importorskip("ray")

pytestmark = [pytest.mark.slow, pytest.mark.loopback]

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
ENV: dict[str, Any] = {"web": "miniweb", "world": {"events": 120}}
LCI = {"_target_": "agents.lci.policy.LciPolicy", "name": "lci"}
SETTINGS: dict[str, Any] = {"tasks": "miniweb:test", "limit": 12, "concurrency": 2, "deadline_s": 60, "max_failed": None}
RAY: dict[str, Any] = {"_target_": "agents.executors.on_ray.OnRay", "workers": 2}
ONE = {**RAY, "workers": 1}

DRIVER = """
import json, sys
from pathlib import Path
from agents.roll import roll
agent, env, settings, folder, executor = json.loads(sys.argv[1])
roll(agent, env, settings, Path(folder), 0, executor)
"""


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[str]:
    """The address of the file's cluster; what is rolled in this process goes on with it."""
    with own_cluster(4, 0) as module:
        yield module.get_runtime_context().gcs_address
    assert not ray.is_initialized()


@pytest.fixture(autouse=True)
def policies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes `ray_policies` importable here; workers get it from this process."""
    monkeypatch.syspath_prepend(str(HERE))


def _roll(folder: Path, executor: dict[str, Any] | None, agent: dict[str, Any] = LCI, **settings: Any) -> Rolled:
    return roll(agent, ENV, {**SETTINGS, **settings}, folder, 0, executor)


def _digests(folder: Path) -> dict[str, str]:
    found = [(episode.task_id, episode.digest()) for episode in read_episodes(folder)]
    assert len(found) == len(dict(found)), "no task twice"
    return dict(found)


def _pictures(folder: Path) -> set[str]:
    return {path.stem for path in (folder / "images").rglob("*.png")}


def _complete(folder: Path, count: int = SETTINGS["limit"]) -> list[Episode]:
    """One valid episode a task, with every picture it needs."""
    episodes = list(read_episodes(folder))
    assert len(episodes) == len({episode.task_id for episode in episodes}) == count
    assert all(episode.end_reason not in INFRASTRUCTURE for episode in episodes)
    assert {digest for episode in episodes for digest in episode.pictures()} == _pictures(folder)
    return episodes


def _slow(folder: Path, seconds: float) -> dict[str, Any]:
    folder.mkdir()
    model = {"_target_": "ray_policies.Model", "folder": str(folder)}
    return {"_target_": "ray_policies.Slow", "name": "slow", "model": model, "seconds": seconds}


def _lines(folder: Path) -> int:
    rows = folder / ROWS
    return rows.read_bytes().count(b"\n") if rows.exists() else 0


def _until(true: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.02)


def test_the_episodes_are_those_of_the_local_executor_whoever_begins_and_whoever_ends(tmp_path: Path) -> None:
    local = _roll(tmp_path / "local", None)
    whole = _roll(tmp_path / "ray", RAY)
    assert (whole.summary.rolled, whole.summary.end_reasons) == (12, local.summary.end_reasons)
    assert whole.web == local.web, "what all workers asked for, added up"
    assert [json.loads(line) for line in (tmp_path / "ray" / "web.jsonl").read_text().splitlines()] == [whole.web]
    _roll(tmp_path / "begun", None, limit=5)
    assert _roll(tmp_path / "begun", ONE).summary.kept == 5
    _roll(tmp_path / "ended", ONE, limit=5)
    assert _roll(tmp_path / "ended", None).summary.kept == 5
    for name in ("ray", "begun", "ended"):
        assert _digests(tmp_path / name) == _digests(tmp_path / "local")
        assert _pictures(tmp_path / name) == _pictures(tmp_path / "local")
    _complete(tmp_path / "ray")


def test_a_worker_killed_in_the_middle_loses_nothing_and_doubles_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    agent = _slow(tmp_path / "processes", 0.15)

    def kill() -> None:
        _until(lambda: _lines(tmp_path / "ray") >= 3)
        os.kill(int(next((tmp_path / "processes").iterdir()).name), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    rolled = _roll(tmp_path / "ray", RAY, agent)
    killer.join()
    assert "a worker died" in caplog.text
    opened = [path.read_text() for path in (tmp_path / "processes").iterdir()]
    assert opened == ["opened\n"] * 3, "once by each of two workers, and by one in the place of the dead one"
    assert (rolled.summary.rolled, rolled.summary.failures) == (12, [])
    _complete(tmp_path / "ray")
    _roll(tmp_path / "local", None, agent)
    assert _digests(tmp_path / "ray") == _digests(tmp_path / "local")


def test_a_task_that_kills_every_worker_is_recorded_as_failed_and_its_neighbours_are_not(tmp_path: Path) -> None:
    # Tasks are given out in order: the third is among the first four, two at once in each of two workers.
    task_id = _roll(tmp_path / "ids", None, limit=3).task_ids[2]
    file = tmp_path / "deadly"
    file.touch()
    agent = {"_target_": "ray_policies.Deadly", "name": "deadly", "seed": episode_seed(0, task_id), "file": str(file)}
    rolled = _roll(tmp_path / "ray", {**RAY, "retries": 1}, agent)
    assert rolled.summary.end_reasons == {"answered": 11, "worker": 1}
    (lost,) = [episode for episode in read_episodes(tmp_path / "ray") if episode.failure is not None]
    assert (lost.task_id, lost.end_reason, lost.reward_valid) == (task_id, "worker", False)
    assert lost.failure is not None
    assert lost.failure.startswith("2 workers died while they played it; the last: ")
    with pytest.raises(InfrastructureError, match=r"executor\.max_restarts=0 workers died"):
        _roll(tmp_path / "few", {**ONE, "max_restarts": 0}, agent)
    # What failed is rolled again, once it can be.
    file.unlink()
    assert _roll(tmp_path / "ray", None, agent).summary.kept == 11
    latest = {episode.task_id: episode.end_reason for episode in read_episodes(tmp_path / "ray")}
    assert set(latest.values()) == {"answered"}


def test_what_ends_a_local_run_ends_this_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"agent\._target_=ray_policies\.Refusing cannot be made: ValueError: out of order"):
        _roll(tmp_path / "refusing", ONE, {"_target_": "ray_policies.Refusing", "name": "refusing"})
    with pytest.raises(ConfigError, match=r"a worker on .* cannot start: agent\._target_=nowhere\.Policy"):
        _roll(tmp_path / "nowhere", ONE, {"_target_": "nowhere.Policy", "name": "nowhere"})
    raising = {"_target_": "ray_policies.Raising", "name": "raising"}
    with pytest.raises(InfrastructureError, match=r"more than max_failed=0\.5; the last: policy: ValueError: no more ideas"):
        _roll(tmp_path / "raising", ONE, raising, tasks="miniweb:train", limit=40, max_failed=0.5)
    assert _lines(tmp_path / "raising") == 20
    assert (tmp_path / "raising" / "web.jsonl").exists()


def test_workers_record_into_one_store(tmp_path: Path) -> None:
    web = {**dict.fromkeys(("search", "pages", "pictures"), "miniweb"), "store": str(tmp_path / "web.sqlite")}
    roll(LCI, {**ENV, "web": {**web, "mode": "record"}}, SETTINGS, tmp_path / "recorded", 0, RAY)
    _complete(tmp_path / "recorded")
    # Whatever one of them did not record would be a failure here.
    roll(LCI, {**ENV, "web": {"store": web["store"], "mode": "replay"}}, SETTINGS, tmp_path / "replayed", 0)
    _complete(tmp_path / "replayed")


def test_keys_reach_workers_and_stay_out_of_what_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The cluster was started without it, as one that is joined is.
    monkeypatch.setenv("WILDENV_TEST_KEY", "sk-not-to-be-seen")
    agent = {"_target_": "ray_policies.Keyed", "name": "keyed", "variable": "WILDENV_TEST_KEY"}
    with pytest.raises(ConfigError, match="no WILDENV_TEST_KEY here"):
        _roll(tmp_path / "without", ONE, agent, limit=2)
    _roll(tmp_path / "with", {**ONE, "pass_env": ["WILDENV_TEST_KEY"]}, agent, limit=2)
    _complete(tmp_path / "with", 2)
    assert not any("sk-not-to-be-seen" in path.read_text() for path in (tmp_path / "with").glob("*.json*"))


def _start(agent: dict[str, Any], folder: Path, executor: dict[str, Any]) -> subprocess.Popen[bytes]:
    given = json.dumps([agent, ENV, SETTINGS, str(folder), executor])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(HERE)]), "PYTHONWARNINGS": "ignore"}
    return subprocess.Popen([sys.executable, "-c", DRIVER, given], cwd=ROOT, env=environment, stderr=subprocess.PIPE)


def test_a_driver_that_is_killed_goes_on_where_it_was_and_the_cluster_it_joined_stays(tmp_path: Path, cluster: str) -> None:
    agent = _slow(tmp_path / "processes", 0.3)
    driver = _start(agent, tmp_path / "ray", {**RAY, "address": cluster})
    with driver:
        _until(lambda: _lines(tmp_path / "ray") >= 3)
        driver.kill()
    workers = [int(path.name) for path in (tmp_path / "processes").iterdir()]
    _until(lambda: not any(Path(f"/proc/{process}").exists() for process in workers))
    before = _lines(tmp_path / "ray")
    assert 3 <= before < 12
    assert _roll(tmp_path / "ray", RAY, agent).summary.kept == before
    _complete(tmp_path / "ray")


def test_control_c_ends_the_workers_and_the_cluster_a_run_started(tmp_path: Path) -> None:
    agent = _slow(tmp_path / "processes", 0.5)
    driver = _start(agent, tmp_path / "ray", RAY)
    with driver:
        _until(lambda: _lines(tmp_path / "ray") >= 2, 60)
        children = _descendants(driver.pid)
        assert any("raylet" in name for name in children.values())
        assert sum(int(path.name) in children for path in (tmp_path / "processes").iterdir()) == 2
        os.kill(driver.pid, signal.SIGINT)
        assert driver.stderr is not None
        said = driver.stderr.read().decode()
    assert driver.returncode not in (0, -signal.SIGKILL)
    assert said.rstrip().endswith("KeyboardInterrupt")
    assert "(raylet)" not in said
    _until(lambda: not any(Path(f"/proc/{process}").exists() for process in children))
    assert len((tmp_path / "ray" / "web.jsonl").read_text().splitlines()) == 1
    assert 2 <= len(_digests(tmp_path / "ray")) < 12


def _descendants(process: int) -> dict[int, str]:
    parents: dict[int, tuple[int, str]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                parents[int(folder.name)] = (parent, (folder / "cmdline").read_text().replace("\0", " "))
            except (FileNotFoundError, ProcessLookupError):
                continue
    found: dict[int, str] = {}
    layer = {process}
    while layer:
        layer = {child for child, (parent, _) in parents.items() if parent in layer}
        found |= {child: parents[child][1] for child in layer}
    return found
