from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHILD = (
    "import pathlib, sys, time; from trainers.offspring import follow_parent\n"
    "follow_parent(); pathlib.Path(sys.argv[1]).touch(); time.sleep(60)"
)
PARENT = (
    "import subprocess, sys; from trainers.offspring import child_environment\n"
    "child = subprocess.Popen([sys.executable, '-c', sys.argv[1], sys.argv[2]], env=child_environment())\n"
    "print(child.pid, flush=True); child.wait()"
)


@pytest.mark.skipif(sys.platform != "linux", reason="the system signals the death of a parent on Linux only")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_child_ends_with_its_parent(tmp_path: Path, number: signal.Signals) -> None:
    started = tmp_path / "started"
    command = [sys.executable, "-c", PARENT, CHILD, str(started)]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        deadline = time.monotonic() + 30
        while not started.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        parent.send_signal(number)
        parent.wait()
    while _runs(child) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _runs(child)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
