"""What ``python -m benchmarks.evaluate`` says by its exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
POLICY = """
class Broken:
    def reset(self, task_prompt, tools, seed=0):
        pass

    async def act(self, observation):
        raise RuntimeError("not today")


class Silent(Broken):
    async def act(self, observation):
        return "nothing"
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "reward", "code"),
    [("Broken", "", 1), ("Broken", "env.reward=null", 1), ("Silent", "", 0), ("Silent", "env.reward=null", 0)],
)
def test_a_run_that_scored_nothing_fails(tmp_path: Path, name: str, reward: str, code: int) -> None:
    (tmp_path / "mine_evaluate.py").write_text(POLICY)
    small = ["+env.world={events: 60, seed: 3}", "benchmark.limit=2", "benchmark.kappa=null", *filter(None, [reward])]
    agent = ["agent=custom", f"agent._target_=mine_evaluate.{name}"]
    where = [f"folder={tmp_path / 'episodes'}", f"hydra.run.dir={tmp_path / 'run'}"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "WILDENV_CACHE": str(tmp_path / "worlds")}
    command = [sys.executable, "-m", "benchmarks.evaluate", *small, *agent, *where]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    assert ("error: no episode was scored; the reasons are above" in done.stderr) == bool(code)
