"""Starts the ranks of a run: one launcher, one composed config.

The config is composed once and frozen; the ranks read the frozen file, so that they cannot disagree about the run directory.
Ranks are started by torchrun, which accelerate and DeepSpeed take up from there; several machines need a launcher of their own
(torchrun, ``accelerate launch``, srun) around ``-m trainers.sft --frozen FILE``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from agents.runs import ROOT
from wildenv.errors import ConfigError

_LAUNCHED = "LOCAL_RANK"
_YES = ("1", "true", "yes")


def launched() -> bool:
    """Returns whether a launcher has started this process."""
    return _LAUNCHED in os.environ


def ranks() -> int:
    """Returns the number of ranks of this run: 1 without a launcher."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def start_ranks(module: str, frozen: Path, processes: int) -> None:
    """Runs ``python -m MODULE --frozen FILE`` in several ranks on this machine and waits for them.

    Args:
        module: The trainer.
        frozen: The config that `agents.runs.freeze` wrote.
        processes: Ranks.

    Raises:
        ConfigError: If this machine has fewer GPUs than ranks and is not told to train on the CPU (``ACCELERATE_USE_CPU=true``,
            or ``DS_ACCELERATOR=cpu`` under DeepSpeed), or if a rank failed; its own message is above.
    """
    import torch

    on_cpu = os.environ.get("ACCELERATE_USE_CPU", "").lower() in _YES or os.environ.get("DS_ACCELERATOR") == "cpu"
    if not on_cpu and torch.cuda.device_count() < processes:
        raise ConfigError(
            f"launch.processes={processes}, but this machine has {torch.cuda.device_count()} GPUs; lower launch.processes, "
            "choose scale=laptop, or set ACCELERATE_USE_CPU=true (with DeepSpeed: DS_ACCELERATOR=cpu) in the environment to "
            "train on the CPU"
        )
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={processes}"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)}
    # The ranks share the cores; torchrun would warn and choose this itself.
    environment.setdefault("OMP_NUM_THREADS", "1")
    done = subprocess.run([*command, "--module", module, "--frozen", str(frozen)], check=False, env=environment)
    if done.returncode:
        raise ConfigError(
            f"the run in {frozen.parent} ended with code {done.returncode}; the first rank that failed says why above"
        )
