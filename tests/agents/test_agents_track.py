"""W&B runs are real ones, offline: what they wrote is read back from their files."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra

from agents.runs import ROOT, plain_errors
from agents.track import RUN_ID, active_run, finish_wandb, log_summary, log_table, start_wandb
from tests.wandb_file import of_kind, values
from wildenv.errors import ConfigError
from wildenv.secrets import Secret

SETTINGS = {"enabled": True, "mode": "offline", "project": "greenhouse", "group": "ferns", "job_type": "eval"}
SETTINGS |= {"name": None, "tags": ["a", "b"], "id": None, "resume": True}


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("WANDB_DATA_DIR", "WANDB_DISABLE_WEAVE"):
        # So that what is set in the test is taken back after it.
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv("WANDB_SILENT", "true")
    yield
    finish_wandb()


def run_of(folder: Path) -> Any:
    (run,) = of_kind(folder, "run")
    return run


def id_in(folder: Path) -> str:
    return str(json.loads((folder / RUN_ID).read_text(encoding="utf-8"))["id"])


def test_a_run_has_its_group_job_type_and_config_without_secrets(tmp_path: Path) -> None:
    Secret("hunter2-hunter2")
    config = {"seed": 3, "url": "https://x/?key=hunter2-hunter2"}
    assert start_wandb(SETTINGS, config, tmp_path) == ["wandb"]
    log_summary({"search": 0.5, "unknown": None})
    log_table("scores", ["of", "mean"], [("all", 0.5), ("Sports", 0.25)])
    finish_wandb()
    run = run_of(tmp_path)
    assert (run.project, run.run_group, run.job_type, list(run.tags)) == ("greenhouse", "ferns", "eval", ["a", "b"])
    assert run.run_id == id_in(tmp_path)
    told = {item.key: item.value_json for item in run.config.update}
    assert told["seed"] == "3"
    assert "hunter2" not in next(tmp_path.glob("wandb/offline-run-*/*.wandb")).read_bytes().decode("latin-1")
    last = {name: value for one in of_kind(tmp_path, "summary") for name, value in values(one.update).items()}
    assert float(last["search"]) == 0.5
    assert "unknown" not in last
    (table,) = tmp_path.glob("wandb/offline-run-*/files/media/table/scores*.json")
    assert json.loads(table.read_text(encoding="utf-8"))["data"] == [["all", 0.5], ["Sports", 0.25]]
    assert [one.exit_code for one in of_kind(tmp_path, "exit")] == [0]
    # Nothing waits for its upload elsewhere.
    assert any((tmp_path / "wandb" / "artifacts").rglob("tmp*"))


def test_without_a_logger_nothing_is_loaded_or_written(tmp_path: Path) -> None:
    assert start_wandb({"enabled": False}, {}, tmp_path) == []
    assert active_run() is None
    log_summary({"search": 0.5})
    log_table("scores", ["of"], [["all"]])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("resume", [".", "checkpoints/checkpoint-3"])
def test_a_resumed_run_goes_on_in_the_same_wandb_run(tmp_path: Path, resume: str) -> None:
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    start_wandb(SETTINGS, {}, first)
    finish_wandb()
    (first / resume).mkdir(parents=True, exist_ok=True)
    start_wandb(SETTINGS, {}, second, first / resume)
    finish_wandb()
    start_wandb({**SETTINGS, "resume": False}, {}, third, first / resume)
    finish_wandb()
    assert run_of(second).run_id == id_in(second) == id_in(first)
    assert id_in(third) != id_in(first)


def test_an_id_that_is_given_wins(tmp_path: Path) -> None:
    start_wandb({**SETTINGS, "id": "fern0001"}, {}, tmp_path)
    finish_wandb()
    assert run_of(tmp_path).run_id == id_in(tmp_path) == "fern0001"


def test_an_agent_of_a_sweep_decides_on_id_and_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import wandb

    asked: dict[str, Any] = {}

    def init(**arguments: Any) -> Any:
        asked.update(arguments)
        raise wandb.errors.UsageError("no key")

    monkeypatch.setattr(wandb, "init", init)
    monkeypatch.setenv("WANDB_SWEEP_ID", "sweep001")
    with pytest.raises(ConfigError, match=r"logger\.mode=online.*wandb login"):
        start_wandb({**SETTINGS, "mode": "online", "id": "fern0001"}, {}, tmp_path)
    assert (asked["id"], asked["project"], asked["resume"], asked["group"]) == (None, None, None, "ferns")


def test_a_failed_run_is_not_called_finished(tmp_path: Path) -> None:
    @plain_errors()
    def fail() -> None:
        start_wandb(SETTINGS, {}, tmp_path)
        raise ConfigError("too few seeds")

    with pytest.raises(SystemExit, match="error: too few seeds"):
        fail()
    assert active_run() is None
    assert [one.exit_code for one in of_kind(tmp_path, "exit")] == [1]


def test_a_second_run_ends_the_first(tmp_path: Path) -> None:
    start_wandb(SETTINGS, {}, tmp_path / "first")
    start_wandb({**SETTINGS, "group": "mosses"}, {}, tmp_path / "second")
    finish_wandb()
    assert (run_of(tmp_path / "first").run_group, run_of(tmp_path / "second").run_group) == ("ferns", "mosses")


def test_what_is_wrong_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"logger\.mode='onlime'.*WANDB_MODE"):
        start_wandb({**SETTINGS, "mode": "onlime"}, {}, tmp_path)
    (tmp_path / RUN_ID).write_text("{", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"wandb\.json is damaged.*logger\.resume=false"):
        start_wandb(SETTINGS, {}, tmp_path)
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(ConfigError, match=r"pip install 'wandb.*logger=none"):
        start_wandb(SETTINGS, {}, tmp_path)


@pytest.mark.parametrize(("entry", "job"), [("collect", "collect"), ("sft", "sft"), ("grpo", "grpo"), ("evaluate", "eval")])
def test_every_entry_point_has_its_job_type_and_heeds_the_environment(
    entry: str, job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WANDB_MODE", raising=False)
    monkeypatch.setenv("WANDB_PROJECT", "ours")
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        logger = compose(entry, ["logger=wandb", "logger.group=g"]).logger
        assert (logger.job_type, logger.mode, logger.project) == (job, "offline", "ours")
        monkeypatch.setenv("WANDB_MODE", "online")
        assert compose(entry, ["logger=wandb"]).logger.mode == "online"
        assert compose(entry, ["logger=wandb", "logger.mode=offline"]).logger.mode == "offline"
        assert compose(entry).logger.enabled is (entry in ("sft", "grpo"))
