"""Executors, as far as it goes without a cluster."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from agents.executors.executor import make_executor
from agents.executors.local import Local
from agents.executors.on_ray import OnRay, one_place
from agents.executors.sharing import divided, summed, written_files
from agents.roll import roll
from wildenv.errors import ConfigError, InfrastructureError
from wildenv.rollout import RolloutSummary

ROOT = Path(__file__).resolve().parents[2]
AGENT = {"_target_": "agents.baselines.direct_search.DirectSearch", "name": "direct_search"}
SETTINGS: dict[str, Any] = {"tasks": "miniweb:test", "limit": 2, "concurrency": 1, "deadline_s": 60, "max_failed": None}
RAY = {"_target_": "agents.executors.on_ray.OnRay"}


@pytest.mark.parametrize("entry", ["collect", "evaluate", "sft", "compare"])
def test_every_entry_point_that_rolls_has_an_executor(entry: str) -> None:
    with initialize_config_dir(str(ROOT / "conf"), version_base=None):
        local: Any = OmegaConf.to_container(compose(entry).executor)
        ray: Any = OmegaConf.to_container(compose(entry, overrides=["executor=ray", "executor.workers=3"]).executor)
    assert isinstance(make_executor(local), Local)
    assert isinstance(make_executor(ray), OnRay)
    assert isinstance(make_executor(None), Local)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"workers": 0}, "executor.workers=0 must be a whole number of at least 1; null is as many as there is room for"),
        ({"cpus_per_worker": 0}, "executor.cpus_per_worker=0 must be a number above 0"),
        ({"gpus_per_worker": -1}, "executor.gpus_per_worker=-1 must be a number above 0"),
        ({"cpus_per_worker": 1.5}, "executor.cpus_per_worker=1.5: Ray counts parts of one, but above 1 only whole ones"),
        ({"retries": -1}, "executor.retries=-1 must be a whole number of at least 0"),
        ({"start_s": None}, "executor.start_s=None must be a number above 0"),
        ({"worker": 3}, "executor: .*worker"),
    ],
)
def test_a_wrong_setting_is_told_before_anything_is_written(tmp_path: Path, settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        roll(AGENT, {"web": "miniweb"}, SETTINGS, tmp_path / "new", 0, {**RAY, **settings})
    assert not (tmp_path / "new").exists()


def test_without_ray_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"pip install -e '\.\[ray\]', or set executor=local"):
        roll(AGENT, {"web": "miniweb", "world": {"events": 60}}, SETTINGS, tmp_path, 0, RAY)
    # A folder that was not rolled can be, by another executor; and where nothing is left to do, no cluster is needed.
    assert roll(AGENT, {"web": "miniweb", "world": {"events": 60}}, SETTINGS, tmp_path, 0).summary.rolled == 2
    assert roll(AGENT, {"web": "miniweb", "world": {"events": 60}}, SETTINGS, tmp_path, 0, RAY).summary == RolloutSummary(kept=2)


def test_a_variable_to_pass_on_must_be_set(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"executor\.pass_env names NO_SUCH_KEY, which is not set"):
        roll(AGENT, {"web": "miniweb", "world": {"events": 60}}, SETTINGS, tmp_path, 0, {**RAY, "pass_env": ["NO_SUCH_KEY"]})


def test_limits_on_services_are_meant_of_all_workers_together() -> None:
    settings = {
        "search": {"name": "serper", "rules": {"concurrency": 8, "per_second": 20, "attempts": 3}},
        "host_rules": {"concurrency": 2, "per_second": None},
        "models": [{"rules": {"concurrency": 9}}],
        "limits": {"concurrency": 8},
    }
    assert divided(settings, 4) == {
        "search": {"name": "serper", "rules": {"concurrency": 2, "per_second": 5.0, "attempts": 3}},
        "host_rules": {"concurrency": 1, "per_second": None},
        "models": [{"rules": {"concurrency": 2}}],
        "limits": {"concurrency": 8},
    }
    assert settings["search"]["rules"]["concurrency"] == 8, "what was given is left alone"


def test_reports_are_added_up() -> None:
    one = {"mode": "record", "usage": {"a": {"calls": 2}}, "failures": {"a": {"gap": 1}}, "services": {"s": {"cost": 0.5}}}
    other = {"mode": "record", "usage": {"a": {"calls": 3}, "b": {"calls": 1}}, "failures": {}, "services": {"s": {"cost": 0.25}}}
    assert summed([one, other]) == {
        "mode": "record",
        "usage": {"a": {"calls": 5}, "b": {"calls": 1}},
        "failures": {"a": {"gap": 1}},
        "services": {"s": {"cost": 0.75}},
    }


def test_several_machines_may_replay_one_file_but_not_write_it() -> None:
    def job(mode: str) -> Any:
        web = {"mode": mode, "store": "web.sqlite"}
        return SimpleNamespace(env={"web": web, "reward": {"judge": {"store": None}}}, agent=AGENT)

    def cluster(*addresses: str) -> Any:
        return SimpleNamespace(nodes=lambda: [{"NodeManagerAddress": one, "Alive": one != "dead"} for one in addresses])

    one_place(cluster("a", "a", "dead"), job("record"))
    one_place(cluster("a", "b"), job("replay"))
    with pytest.raises(
        ConfigError, match=r"env\.web\.store=web\.sqlite is written by every worker, and the cluster has 2 machines"
    ):
        one_place(cluster("a", "b"), job("record"))
    assert written_files({"models": [{"store": "x"}], "judge": {"mode": None, "store": "y"}}) == {
        "models[0].store": "x",
        "judge.store": "y",
    }


@pytest.mark.loopback
def test_an_address_without_a_cluster_is_told_at_once(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        executor = {**RAY, "address": f"127.0.0.1:{nobody.getsockname()[1]}"}
        with pytest.raises(InfrastructureError, match=r"executor\.address=127\.0\.0\.1:\d+: no Ray cluster answers there"):
            roll(AGENT, {"web": "miniweb", "world": {"events": 60}}, SETTINGS, tmp_path, 0, executor)
