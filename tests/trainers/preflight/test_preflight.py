"""The whole of it: what it returns, prints and stops."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.trainers.preflight.conftest import ROOT, SMALL
from trainers.checks.all import CHECKS
from trainers.checks.finding import Status
from trainers.preflight import asked, preflight, preflight_or_stop, take
from wildenv.errors import ConfigError

Compose = Callable[..., dict[str, Any]]
BAD = ("trainer.micro_batch=5", "trainer.max_length=900", "trainer.peft=lora", "trainer.lora.target_modules=[nothing]")


@pytest.mark.parametrize("kind", ["grpo", "sft"])
def test_the_defaults_are_refused_nothing(compose: Compose, kind: str, tmp_path: Path) -> None:
    findings = preflight(compose(kind), kind, tmp_path / "run")
    assert [finding.check for finding in findings] == list(CHECKS)
    assert {finding.status for finding in findings} == {Status.PASSED, Status.NOT_APPLICABLE}
    assert not (tmp_path / "run").exists()


def test_one_refusal_hides_no_other(compose: Compose, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refusal:
        preflight_or_stop(compose("grpo", *BAD), tmp_path, "grpo")
    said = str(refusal.value)
    assert len(said.splitlines()) == 4
    assert all(setting in said for setting in ("trainer.micro_batch", "trainer.max_length", "trainer.lora.target_modules"))


def test_the_config_is_left_alone(compose: Compose, tmp_path: Path) -> None:
    config = compose("grpo")
    preflight_or_stop(config, tmp_path, "grpo")
    assert config == compose("grpo")


@pytest.mark.parametrize(("overrides", "code"), [((), 0), (BAD, 1)])
def test_alone_it_prints_a_table_and_ends(
    compose: Compose, tmp_path: Path, capsys: pytest.CaptureFixture[str], overrides: tuple[str, ...], code: int
) -> None:
    with pytest.raises(SystemExit) as ended:
        preflight_or_stop(compose("grpo", *overrides), tmp_path, "grpo", only=True)
    assert ended.value.code == code
    shown = capsys.readouterr().out
    assert "preflight of grpo" in shown
    assert "image token" in shown
    assert ("3 refused" in shown) == bool(code)


def test_a_run_says_what_was_not_checked(compose: Compose, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    preflight_or_stop(compose("grpo", "judge=local"), tmp_path, "grpo")
    assert "not checked: judge" in capsys.readouterr().out


def test_the_flag_becomes_a_setting_that_is_taken_out() -> None:
    assert asked(["trainer.group=4", "--preflight"]) == ["trainer.group=4", "+preflight=true"]
    config = {"preflight": True, "seed": 0}
    assert take(config) is True
    assert config == {"seed": 0}
    assert take(config) is False


@pytest.mark.slow
@pytest.mark.parametrize(
    ("overrides", "code", "said"), [((), 0, "preflight of sft"), (("trainer.effective_batch=3",), 1, "refused")]
)
def test_the_command_line(tmp_path: Path, overrides: tuple[str, ...], code: int, said: str) -> None:
    command = [sys.executable, "-m", "trainers.sft", *SMALL, *overrides, f"hydra.run.dir={tmp_path / 'run'}", "--preflight"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert said in done.stdout
    assert not (tmp_path / "run" / "config.yaml").exists()


@pytest.mark.slow
def test_a_real_run_stops_at_a_refusal(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "trainers.sft", *SMALL, "trainer.effective_batch=3", f"hydra.run.dir={tmp_path / 'run'}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "error: the preflight refuses this run:" in done.stderr
    assert "trainer.effective_batch" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_the_families_are_shown() -> None:
    command = [sys.executable, "-m", "trainers.preflight"]
    shown = subprocess.run([*command, "families"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "qwen3_vl" in shown
    wrong = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert wrong.returncode == 1
    assert "families" in wrong.stderr
