from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from agents.runs import read_frozen
from tests.trainers.two_ranks import ROOT, environment, freeze_run, launcher
from trainers import launch
from trainers.launch import begin, enter, start_ranks
from wildenv.errors import ConfigError

PATIENCE_S = 100


def config(**settings: Any) -> dict[str, Any]:
    return {"launch": {"processes": 2, "freeze_only": False} | settings, "deepspeed": {"config": None}}


def start(run: Path, does: str, rank: int = 1) -> subprocess.Popen[str]:
    frozen = freeze_run(run, {"does": does, "rank": rank})
    return subprocess.Popen(
        launcher("tests.trainers.small_trainer", frozen),
        cwd=ROOT,
        env=environment(ACCELERATE_USE_CPU="true"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def running(pid: int) -> bool:
    """A process that has ended and that nobody waits for any more still has an entry: it counts as gone."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def until(condition: Any) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("refuse", "rank 1 of 2: ConfigError: trainer.learning_rate is for the birds"),
        ("crash", "rank 1 of 2: ZeroDivisionError: a rank divided by nothing"),
        ("die", "rank 1 of 2: killed; the system may have been out of memory"),
        ("exit", "rank 1 of 2: ended with code 7"),
    ],
)
def test_the_rank_that_fails_is_named_with_its_own_words(tmp_path: Path, does: str, said: str) -> None:
    parent = start(tmp_path / "run", does)
    printed, _ = parent.communicate(timeout=PATIENCE_S)
    assert parent.returncode == 1
    last = printed.rstrip().rpartition("error: ")[2].splitlines()
    assert last[0] == f"the run in {tmp_path / 'run'} failed"
    assert last[1].strip().startswith(said)
    assert len(last) == 2, "the other rank has done nothing wrong"
    # The other rank would sleep on.
    until(lambda: not running(int((tmp_path / "run/rank0.pid").read_text(encoding="utf-8"))))


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a killed launcher takes its ranks along on Linux only")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_no_rank_outlives_its_launcher(tmp_path: Path, number: signal.Signals, code: int) -> None:
    parent = start(tmp_path / "run", "wait")
    files = [tmp_path / f"run/rank{rank}.pid" for rank in range(2)]
    until(lambda: all(file.exists() and file.read_text(encoding="utf-8") for file in files))
    pids = [int(file.read_text(encoding="utf-8")) for file in files]
    assert all(running(pid) for pid in pids)
    parent.send_signal(number)
    printed, _ = parent.communicate(timeout=PATIENCE_S)
    assert parent.returncode == code, printed
    until(lambda: not any(running(pid) for pid in pids))
    if number != signal.SIGKILL:
        assert f"stopped by {number.name}, and the ranks with it" in printed
    assert "Traceback" not in printed


def test_a_run_is_prepared_once_and_frozen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[str, Path, int]] = []
    monkeypatch.setattr(launch, "start_ranks", lambda *arguments: started.append(arguments))
    prepared: list[Path] = []

    def prepare(settings: dict[str, Any], folder: Path) -> dict[str, Any]:
        prepared.append(folder)
        return {**settings, "rows": "made"}

    begin("trainers.x", config(), tmp_path, prepare, lambda *_: pytest.fail("the parent does not train"))
    assert (prepared, started) == ([tmp_path], [("trainers.x", tmp_path / "config.yaml", 2)])
    assert read_frozen(tmp_path / "config.yaml")["rows"] == "made"


def test_freezing_alone_starts_nothing_and_says_how(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(launch, "start_ranks", lambda *_: pytest.fail("nothing is to be started"))
    only = config(processes=8, freeze_only=True)
    begin("trainers.x", only, tmp_path, lambda c, _: c, lambda *_: pytest.fail("nothing is to be trained"))
    line = f"torchrun --standalone --nproc_per_node=8 -m trainers.x --frozen {tmp_path / 'config.yaml'}"
    assert line in capsys.readouterr().out.splitlines()
    # The ranks must not take themselves for the parent.
    assert read_frozen(tmp_path / "config.yaml")["launch"]["freeze_only"] is False


def test_one_process_without_deepspeed_trains_here(tmp_path: Path) -> None:
    trained: list[Path] = []
    begin(
        "trainers.x",
        config(processes=1),
        tmp_path,
        lambda *_: pytest.fail("what is prepared in the parent is for ranks"),
        lambda _, folder: trained.append(folder),
    )
    assert trained == [tmp_path]
    assert (tmp_path / "config.yaml").is_file()


def test_ranks_do_not_compose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ConfigError, match=r"launch\.freeze_only=true"):
        begin("trainers.x", config(), tmp_path, lambda c, _: c, lambda *_: pytest.fail("every rank has another directory"))


@pytest.mark.parametrize(
    ("arguments", "said"), [(["missing.yaml"], r"missing\.yaml is no file"), (["config.yaml", "seed=1"], "stands alone")]
)
def test_a_rank_refuses_what_it_cannot_follow(monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str) -> None:
    monkeypatch.setattr(sys, "argv", ["trainer", "--frozen", *arguments])
    with pytest.raises(SystemExit, match=said):
        enter(lambda: pytest.fail("a rank composes nothing"), lambda *_: pytest.fail("nothing to train from"))


def test_more_ranks_than_gpus_name_the_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.delenv("ACCELERATE_USE_CPU", raising=False)
    monkeypatch.delenv("DS_ACCELERATOR", raising=False)
    with pytest.raises(ConfigError, match=r"launch\.processes=2"):
        start_ranks("trainers.x", tmp_path / "config.yaml", 2)
