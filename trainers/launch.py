"""Starts the ranks of a run: one composed config, one run directory.

The config is composed once and frozen; the ranks read the frozen file, so that they cannot disagree about anything. What must
happen once, such as collecting rows, happens before they start. On one machine the ranks are started here, by torch's elastic
agent; several machines need a launcher of their own around ``-m trainers.X --frozen FILE``, which ``launch.freeze_only=true``
prepares (``docs/cluster.md``). Ranks are not restarted: a run that died goes on from its last checkpoint, by ``trainer.resume``.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from agents.runs import ROOT, Config, fix_spelling, freeze, one_of_several, plain_errors, read_frozen
from trainers.offspring import child_environment, end_with_parent, follow_parent
from wildenv.errors import ConfigError, WildenvError
from wildenv.lock import only_writer

_FLAG = "--frozen"
_YES = ("1", "true", "yes")
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)

Train = Callable[[Config, Path], Any]


class RankError(WildenvError):
    """A rank of a run failed; the message says which one and how."""


def ranks() -> int:
    """Returns the number of ranks of this run: 1 without a launcher."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def enter(main: Callable[[], None], train: Train) -> None:
    """Runs a trainer's module: as a rank with ``--frozen FILE``, else its command line.

    Args:
        main: Composes the config and calls `begin`.
        train: Trains from a config, with the run directory.
    """
    follow_parent()
    if _FLAG not in sys.argv[1:]:
        sys.argv[1:] = fix_spelling(sys.argv[1:])
        main()
        return
    if "TORCHELASTIC_RUN_ID" in os.environ:
        _end_with_launcher()
    from torch.distributed.elastic.multiprocessing.errors import record

    with plain_errors():
        if len(sys.argv) != 3:
            raise ConfigError(f"{_FLAG} FILE stands alone: settings are changed where the run is composed, not in its ranks")
        frozen = Path(sys.argv[2])
        if not frozen.is_file():
            raise ConfigError(f"{_FLAG} {frozen} is no file; every node must see the run directory at the same place")
        # What goes wrong reaches the launcher too, which says it once more at the end.
        record(train)(read_frozen(frozen), frozen.parent)


def begin(module: str, config: Config, folder: Path, prepare: Callable[[Config, Path], Config], train: Train) -> None:
    """Trains here, in ranks on this machine, or writes down what ranks elsewhere need.

    Args:
        module: The trainer.
        config: The whole config; ``launch`` decides.
        folder: The run directory.
        prepare: Does what must happen once; returns the config that the ranks read.
        train: As in `enter`.

    Raises:
        ConfigError: If several processes compose the config, or as `start_ranks`.
        RankError: If a rank failed.
    """
    if ranks() > 1:
        raise ConfigError(
            f"{ranks()} ranks compose a config each and would not agree on the run directory; compose it once with "
            f"launch.freeze_only=true and let the launcher start -m {module} {_FLAG} FILE"
        )
    with only_writer(folder, "hydra.run.dir"):
        _begin(module, config, folder, prepare, train)


def _begin(module: str, config: Config, folder: Path, prepare: Callable[[Config, Path], Config], train: Train) -> None:
    processes = config["launch"]["processes"]
    freeze_only = config["launch"]["freeze_only"]
    config = {**config, "launch": {**config["launch"], "freeze_only": False}}
    # DeepSpeed wants a launcher for a single rank too.
    if not freeze_only and (_launched() or (processes == 1 and config["deepspeed"]["config"] is None)):
        frozen = freeze(config, folder)
        if one_of_several():
            _start_alone(module, frozen)
        else:
            train(config, folder)
        return
    frozen = freeze(prepare(config, folder), folder)
    if freeze_only:
        line = f"torchrun --standalone --nproc_per_node={processes} -m {module} {_FLAG} {frozen}"
        Console(soft_wrap=True).print(f"start it on one node with\n{line}\nand on several as docs/cluster.md says", markup=False)
    else:
        start_ranks(module, frozen, processes)


def check_devices(processes: int) -> None:
    """Checks that this machine has a device for every rank.

    Raises:
        ConfigError: If it has fewer GPUs than ranks and is not told to train on the CPU.
    """
    import torch

    on_cpu = os.environ.get("ACCELERATE_USE_CPU", "").lower() in _YES or os.environ.get("DS_ACCELERATOR") == "cpu"
    if not on_cpu and torch.cuda.device_count() < processes:
        raise ConfigError(
            f"launch.processes={processes}, but this machine has {torch.cuda.device_count()} GPUs; lower launch.processes, "
            "choose another scale, or set ACCELERATE_USE_CPU=true (with DeepSpeed: DS_ACCELERATOR=cpu) in the environment to "
            "train on the CPU"
        )


def start_ranks(module: str, frozen: Path, processes: int) -> None:
    """Runs ``python -m MODULE --frozen FILE`` in several ranks on this machine and waits for them.

    Ctrl-C and termination are passed on to the ranks; on Linux they also end when this process is killed.

    Args:
        module: The trainer.
        frozen: The config that `agents.runs.freeze` wrote.
        processes: Ranks.

    Raises:
        ConfigError: If this machine has fewer GPUs than ranks and is not told to train on the CPU (``ACCELERATE_USE_CPU=true``,
            or ``DS_ACCELERATOR=cpu`` under DeepSpeed).
        RankError: If a rank failed; its whole traceback is above.
    """
    from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    check_devices(processes)
    with _environment(), _handlers_restored(), tempfile.TemporaryDirectory(prefix="ranks-") as reports:
        # The ranks share the cores; torchrun would warn and choose this itself.
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        agent = LaunchConfig(
            min_nodes=1,
            max_nodes=1,
            nproc_per_node=processes,
            run_id="ranks",
            rdzv_backend="c10d",
            rdzv_endpoint="localhost:0",
            # The host's own name, which is the default, need not resolve.
            local_addr="localhost",
            max_restarts=0,
            logs_specs=DefaultLogsSpecs(log_dir=reports),
        )
        try:
            elastic_launch(agent, sys.executable)("-u", "-m", module, _FLAG, str(frozen))
        except SignalException as stopped:
            print(f"stopped by {stopped.sigval.name}, and the ranks with it", file=sys.stderr)  # noqa: T201
            raise SystemExit(128 + stopped.sigval) from stopped
        except ChildFailedError as error:
            raise RankError(_reasons(error, frozen.parent, processes)) from error


def _start_alone(module: str, frozen: Path) -> None:
    """Trains in a process of its own: what torch, accelerate and W&B keep must not reach the next run of a sweep."""
    with _environment(), tempfile.TemporaryDirectory(prefix="run-") as reports:
        # Where `record` writes down what went wrong.
        report = Path(reports) / "error.json"
        os.environ["TORCHELASTIC_ERROR_FILE"] = str(report)
        done = subprocess.run([sys.executable, "-m", module, _FLAG, str(frozen)], check=False, env=child_environment())
        said = (
            json.loads(report.read_text(encoding="utf-8"))["message"]["message"]
            if report.is_file()
            else "its own words are above"
        )
    if done.returncode:
        raise RankError(f"the run in {frozen.parent} ended with code {done.returncode}: {said}")


def _launched() -> bool:
    return "LOCAL_RANK" in os.environ


def _end_with_launcher() -> None:
    # The launcher answers for Ctrl-C; a traceback from every rank would say nothing.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # A killed launcher can tell nobody, and its ranks would train on.
    end_with_parent(signal.SIGKILL)


def _reasons(error: Any, folder: Path, processes: int) -> str:
    lines = [f"the run in {folder} failed"]
    # A rank that fails takes others along, whose connections break: the first one comes first.
    for rank, failure in sorted(error.failures.items(), key=lambda item: item[1].timestamp):
        said = failure.message
        if isinstance(said, dict):
            said = said["message"]
        elif failure.exitcode == -signal.SIGTERM and len(error.failures) > 1:
            # Ended by the launcher, because another one had failed.
            continue
        elif failure.exitcode == -signal.SIGKILL:
            said = "killed; the system may have been out of memory"
        else:
            said = f"ended with code {failure.exitcode}; its own words are above"
        lines.append(f"rank {rank} of {processes}: {said}")
    return "\n  ".join(lines)


@contextmanager
def _environment() -> Iterator[None]:
    """What the processes inherit: the repository's modules, and the programs beside this Python (DeepSpeed looks for ninja)."""
    before = dict(os.environ)
    for name, first in (("PYTHONPATH", ROOT), ("PATH", Path(sys.executable).parent)):
        os.environ[name] = os.pathsep.join([str(first), os.environ.get(name, "")]).rstrip(os.pathsep)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _handlers_restored() -> Iterator[None]:
    """The agent installs handlers of its own and leaves them; a sweep goes on in this process."""
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
