"""A sweep file gives the same runs with W&B and here.

``wandb_grids.json`` is what W&B's own package makes of the files in conf/sweep (``sweeps`` 0.3.0; it needs a numpy below 2, so an
environment of its own): for each, ``{"parameters": file["parameters"], "runs": [run.config for run in sweeps.next_runs(file, [],
validate=True, n=1000) if run]}``. How its agent writes a run on a command line is asked of the wandb that is installed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hydra
import pyarrow.parquet as pq
import pytest
import yaml
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf
from wandb.sdk.launch.sweeps.utils import create_sweep_command, create_sweep_command_args

from agents.runs import plain
from tests.trainers.sample_rows import write_rows
from tests.wandb_file import of_kind
from trainers.grid import local_name, read_sweep
from trainers.outcome import OUTCOME
from trainers.sweep import main, read_results, write_results
from trainers.track import write_metrics
from wildenv.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "conf" / "sweep").glob("*.yaml"))
GRIDS = json.loads(Path(__file__).with_name("wandb_grids.json").read_text(encoding="utf-8"))
COMMAND = ["${env}", "${interpreter}", "-m", "${program}", "logger.group=tiny", "logger.mode=online", "${args_no_hyphens}"]


def sweep_file(folder: Path, **changes: Any) -> Path:
    raw: dict[str, Any] = {"name": "tiny", "program": "trainers.sft", "method": "grid", "command": COMMAND}
    raw["parameters"] = {"seed": {"values": [0, 1]}}
    path = folder / "tiny.yaml"
    path.write_text(yaml.safe_dump(raw | changes), encoding="utf-8")
    return path


def agent_line(file: dict[str, Any], config: dict[str, Any]) -> list[str]:
    """Writes a run on a command line as W&B's agent does."""
    macros: dict[str, Any] = create_sweep_command_args({"args": config})
    macros |= {"env": ["/usr/bin/env"], "interpreter": ["python"], "program": [file["program"]]}
    line = []
    for part in create_sweep_command(list(file["command"])):
        line += macros[part[2:-1]] if str(part).startswith("${") else [str(part)]
    return line


def hydra_runs(line: list[str]) -> list[list[str]]:
    """Expands a command line as ``--multirun`` does."""
    (batch,) = BasicSweeper.split_arguments(OverridesParser.create().parse_overrides(line), None)
    return batch


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_wandb_and_hydra_give_the_same_runs(path: Path) -> None:
    file, sweep = yaml.safe_load(path.read_text(encoding="utf-8")), read_sweep(path)
    assert GRIDS[path.stem]["parameters"] == file["parameters"], "make wandb_grids.json again, see above"
    theirs = [agent_line(file, config) for config in GRIDS[path.stem]["runs"]]
    ours = hydra_runs(sweep.multirun())
    assert [line[:4] for line in theirs] == [["/usr/bin/env", "python", "-m", sweep.program]] * len(ours)
    assert all("logger.mode=online" in line for line in theirs)

    def read(line: list[str]) -> dict[str, Any]:
        found = {one.get_key_element(): one.value() for one in OverridesParser.create().parse_overrides(line)}
        return {name: value for name, value in found.items() if name != "logger.mode"}

    assert [read(line) for line in ours] == [read(line[4:]) for line in theirs]
    assert [read([*sweep.fixed, *run]) for run in sweep.runs()] == [read(line) for line in ours]
    assert len({json.dumps(line) for line in ours}) == len(ours) > 1


@pytest.fixture
def configs() -> Iterator[None]:
    GlobalHydra.instance().clear()
    with hydra.initialize_config_dir(version_base="1.3", config_dir=str(ROOT / "conf")):
        yield


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_run_of_the_files_composes(path: Path, configs: None) -> None:
    sweep = read_sweep(path)
    for run in sweep.runs():
        config = hydra.compose(sweep.program.partition(".")[2], overrides=[*sweep.fixed, *run])
        for one in run:
            name, value = one.split("=", 1)
            found = OmegaConf.select(config, name)
            assert found == (value if isinstance(found, str) else float(value))
        assert config.logger.group == path.stem
        assert config.logger.enabled


def test_a_sweep_file_is_no_group_of_settings(configs: None) -> None:
    config = hydra.compose("collect", overrides=["+sweep=alpha"])
    with pytest.raises(ConfigError, match=r"python -m trainers\.sweep"):
        plain(config)


def test_the_runs_can_be_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(sweep_file(tmp_path)), "--list", "trainer.max_steps=2"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "python -m trainers.sft logger.group=tiny seed=0 trainer.max_steps=2",
        "python -m trainers.sft logger.group=tiny seed=1 trainer.max_steps=2",
    ]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"method": "bayes"}, r"method='bayes' needs W&B's server"),
        ({"program": None}, "program must name"),
        ({"command": ["python", "${args}"]}, r"command must run -m \$\{program\}"),
        ({"name": "other"}, r"command must hold logger\.group=other"),
        ({"parameters": {}}, "parameters must name"),
        ({"parameters": {"seed": {"min": 0, "max": 3}}}, r"parameters\.seed must have either value or values"),
        ({"parameters": {"seed": {"values": []}}}, r"parameters\.seed\.values is empty"),
        # Python's None is a text to Hydra, and a comma in a text would be a sweep of its own.
        ({"parameters": {"data.path": {"values": [None]}}}, r"data\.path=None, which Hydra reads as"),
        ({"parameters": {"trainer.lora": {"values": [{"r": 4}]}}}, r"trainer\.lora=\{'r': 4\}, which Hydra reads as"),
        ({"parameters": {"data.path": {"values": ["a,b"]}}}, r"data\.path=a,b, which Hydra reads as"),
    ],
)
def test_what_the_two_would_not_read_alike_is_refused(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        read_sweep(sweep_file(tmp_path, **changes))


def test_values_of_all_kinds_are_read_alike(tmp_path: Path) -> None:
    values = [True, "null", 0.5, 1.0e-6, "cosine", [1, 2], "{r: 4}"]
    sweep = read_sweep(sweep_file(tmp_path, parameters={"x": {"values": values}, "a": {"value": 3}}))
    runs = [OverridesParser.create().parse_overrides(line) for line in hydra_runs(sweep.multirun())]
    assert [run[-1].value() for run in runs] == [True, None, 0.5, 1.0e-6, "cosine", [1, 2], {"r": 4}]
    assert {run[-2].input_line for run in runs} == {"a=3"}


@pytest.mark.parametrize("setting", ["seed=3", "trainer.max_steps=1,2", "trainer.max_steps", "a=["])
def test_settings_that_do_not_fit_are_refused(tmp_path: Path, setting: str) -> None:
    with pytest.raises(SystemExit, match=r"error: .*(seed|trainer.max_steps|a=)"):
        main([str(sweep_file(tmp_path)), setting])


def test_a_directory_with_runs_is_not_written_again(tmp_path: Path) -> None:
    (tmp_path / "runs" / "0").mkdir(parents=True)
    with pytest.raises(SystemExit, match="holds runs already"):
        main([str(sweep_file(tmp_path)), f"hydra.sweep.dir={tmp_path / 'runs'}"])


def test_results_say_what_was_measured_and_what_failed(tmp_path: Path) -> None:
    sweep = read_sweep(sweep_file(tmp_path, parameters={"learning_rate": {"values": [1, 2, 3]}}))
    for number, error in ((0, None), (1, "out of memory")):
        (tmp_path / str(number)).mkdir()
        outcome = {"number": number, "settings": [], "done": error is None, "error": error}
        (tmp_path / str(number) / OUTCOME).write_text(json.dumps(outcome), encoding="utf-8")
    write_metrics(tmp_path / "0" / "metrics.parquet", [{"step": 1, "loss": 2.0, "learning_rate": 0.5}, {"step": 2, "loss": 1.5}])
    write_results(tmp_path, sweep, read_results(tmp_path, sweep))
    rows = pq.read_table(tmp_path / "sweep.parquet").to_pylist()
    assert [(row["learning_rate"], row["done"], row["error"], row["loss"]) for row in rows] == [
        ("1", True, None, 1.5),
        ("2", False, "out of memory", None),
        ("3", False, "not run to its end", None),
    ]
    assert rows[0]["learning_rate (measured)"] == 0.5
    assert len((tmp_path / "sweep.csv").read_text(encoding="utf-8").splitlines()) == 4


def test_measures_have_two_names() -> None:
    assert (local_name("train/reward"), local_name("eval/loss"), local_name("loss")) == ("reward", "eval_loss", "loss")


@pytest.mark.slow
def test_a_run_that_fails_does_not_stop_the_next(nano_folder: Path, tmp_path: Path) -> None:
    write_rows(tmp_path / "rows", 8)
    parameters = {"trainer.resume": {"values": ["nowhere", "null"]}}
    path = sweep_file(tmp_path, parameters=parameters, metric={"name": "eval/loss", "goal": "minimize"})
    settings = [f"model.path={nano_folder}", f"data.path={tmp_path / 'rows'}", "data.validation_share=0.5"]
    settings += ["trainer.max_steps=1", "trainer.eval_steps=1"]
    settings += ["trainer.max_length=512", "trainer.min_turns=1", f"hydra.sweep.dir={tmp_path / 'runs'}"]
    variables = {name: value for name, value in os.environ.items() if not name.startswith("WANDB_")}
    variables |= {"OMP_NUM_THREADS": "1", "WANDB_SILENT": "true"}
    command = [sys.executable, "-m", "trainers.sweep", str(path), *settings]
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1, done.stdout[-2000:] + done.stderr[-4000:]
    rows = pq.read_table(tmp_path / "runs" / "sweep.parquet").to_pylist()
    assert [(row["run"], row["trainer.resume"], row["done"]) for row in rows] == [(0, "nowhere", False), (1, "null", True)]
    assert "trainer.resume=nowhere is neither a checkpoint" in rows[0]["error"]
    assert rows[1]["eval_loss"] > 0
    assert "run 0: " in done.stdout
    run = tmp_path / "runs" / "1"
    assert (run / "last").is_dir()
    (started,) = of_kind(run, "run")
    assert (started.run_group, started.job_type) == ("tiny", "sft")
    assert [one.exit_code for one in of_kind(run, "exit")] == [0]
