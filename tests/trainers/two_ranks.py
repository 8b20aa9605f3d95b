"""Runs a trainer in several CPU ranks, as the command line would start them.

Starting ranks costs some fifteen seconds, nearly all of it imports: `train_in_ranks` trains several configs in one start.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]


def freeze_run(folder: Path, config: Mapping[str, Any]) -> Path:
    """Writes a config where a run directory keeps it."""
    folder.mkdir(parents=True)
    frozen = folder / "config.yaml"
    frozen.write_text(yaml.safe_dump(dict(config), sort_keys=False), encoding="utf-8")
    return frozen


def environment(**variables: str) -> dict[str, str]:
    """Returns the environment of a launcher: no GPU, one thread a rank, the repository on the path."""
    return {**os.environ, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), **variables}


def launcher(module: str, frozen: Path, ranks: int = 2) -> list[str]:
    """Returns a command that starts ``-m MODULE --frozen FILE`` in ranks through `trainers.launch.start_ranks`."""
    program = (
        "import sys; from pathlib import Path; from agents.runs import plain_errors; from trainers.launch import start_ranks\n"
        "with plain_errors(): start_ranks(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))"
    )
    return [sys.executable, "-c", program, module, str(frozen), str(ranks)]


def train_in_ranks(
    runs: Mapping[Path, Mapping[str, Any]],
    trainer: str = "trainers.sft",
    *,
    ranks: int = 2,
    timeout: float = 900,
    **variables: str,
) -> str:
    """Trains one config after the other in the same ranks.

    Args:
        runs: Run directory (which must not exist) to config.
        trainer: Module whose ``train(config, folder)`` a rank calls. A single run goes through the module's own ``--frozen``.
        ranks: Processes.
        timeout: Seconds for all of it.
        **variables: Environment, such as ``ACCELERATE_USE_CPU="true"`` or ``DS_ACCELERATOR="cpu"``.

    Returns:
        What was printed.
    """
    frozen = [freeze_run(folder, config) for folder, config in runs.items()]
    module, given = trainer, frozen[0]
    if len(frozen) > 1:
        module, given = "tests.trainers.two_ranks", frozen[0].parent / "runs.json"
        given.write_text(json.dumps({"trainer": trainer, "frozen": [str(file) for file in frozen]}), encoding="utf-8")
    done = subprocess.run(
        launcher(module, given, ranks), cwd=ROOT, env=environment(**variables), capture_output=True, text=True, timeout=timeout
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    return done.stdout + done.stderr


def _train_all(listed: Path) -> None:
    from agents.runs import read_frozen

    runs = json.loads(listed.read_text(encoding="utf-8"))
    train = importlib.import_module(runs["trainer"]).train
    for frozen in map(Path, runs["frozen"]):
        train(read_frozen(frozen), frozen.parent)
        import torch.distributed as dist

        # The first rank writes the models out while the others are done.
        dist.barrier()


if __name__ == "__main__":
    _train_all(Path(sys.argv[sys.argv.index("--frozen") + 1]))
