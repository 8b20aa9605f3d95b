"""Runs a sweep file on this machine, one run after another: ``python -m trainers.sweep conf/sweep/alpha.yaml [NAME=VALUE ...]``.

The same file gives the same runs with ``wandb sweep``; here no server takes part. The runs are Hydra's ``--multirun`` of the
module that the file names: each has a directory of its own in the sweep's, is a process of its own, and stands in W&B under the
sweep's name as its group. A run that fails does not stop the others. What the runs measured in the end is printed and left in
``sweep.csv`` and ``sweep.parquet``. Runs are not repeated, compared by statistics, or spread over machines: for the last there is
``wandb agent``.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from rich.console import Console
from rich.table import Table

from agents.runs import ROOT, plain_errors
from trainers.grid import Sweep, read_sweep
from trainers.offspring import child_environment
from trainers.outcome import OUTCOME
from trainers.track import METRICS, read_metrics
from wildenv.errors import ConfigError

_DIRECTORY = "hydra.sweep.dir="
_SHOWN = ("eval_loss", "loss", "reward", "rewards/image_reward/mean", "rewards/text_reward/mean", "entropy")
"""Measures that are printed, if a run has them; the files hold all."""


@dataclass(frozen=True, slots=True)
class Result:
    """How a run ended.

    Attributes:
        number: Of the run, and the name of its directory.
        settings: The parameters of the sweep it was run with.
        done: Whether it came to its end.
        error: What went wrong; None if nothing did.
        measures: Last value of each measure.
    """

    number: int
    settings: dict[str, str]
    done: bool
    error: str | None
    measures: dict[str, float] = field(default_factory=dict)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns how many runs failed."""
    parser = argparse.ArgumentParser(prog="python -m trainers.sweep", description="Run every point of a sweep file's grid here.")
    parser.add_argument("sweep", help="the file, such as conf/sweep/alpha.yaml")
    parser.add_argument("settings", nargs="*", metavar="NAME=VALUE", help="settings for all runs; they win over the file's")
    parser.add_argument("--list", action="store_true", help="print the command of each run, and run nothing")
    asked = parser.parse_intermixed_args(arguments)
    with plain_errors():
        sweep = read_sweep(asked.sweep)
        _check(asked.settings, sweep)
        if asked.list:
            for run in sweep.runs():
                line = shlex.join(["python", "-m", sweep.program, *sweep.fixed, *run, *asked.settings])
                Console(soft_wrap=True).print(line, markup=False, highlight=False)
            return 0
        folder = run_sweep(sweep, asked.settings)
        results = read_results(folder, sweep)
        write_results(folder, sweep, results)
        print_results(folder, sweep, results)
    return sum(not result.done for result in results)


def run_sweep(sweep: Sweep, settings: Sequence[str]) -> Path:
    """Runs all points of the grid.

    Args:
        sweep: The sweep.
        settings: Of all runs; they win over those of the file.

    Returns:
        The directory that holds theirs.

    Raises:
        ConfigError: If no run could be started: the settings do not compose.
    """
    named = [one.removeprefix(_DIRECTORY) for one in settings if one.startswith(_DIRECTORY)]
    now = datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
    folder = Path(named[-1] if named else f"outputs/sweep/{sweep.name}-{now}").resolve()
    if folder.exists() and any(folder.iterdir()):
        raise ConfigError(f"{_DIRECTORY}{folder} holds runs already; name another one")
    line = [*sweep.multirun(), *(one for one in settings if not one.startswith(_DIRECTORY))]
    own = [f"{_DIRECTORY}{folder}", "hydra.sweep.subdir=${hydra.job.num}"]
    callback = "+hydra.callbacks.outcome._target_=trainers.outcome.Outcome"
    command = [sys.executable, "-m", sweep.program, "--multirun", *line, *own, callback]
    subprocess.run(command, cwd=ROOT, check=False, env=child_environment())
    if not any(folder.glob(f"*/{OUTCOME}")):
        raise ConfigError("no run was started; what Hydra has against the settings stands above")
    return folder


def read_results(folder: Path, sweep: Sweep) -> list[Result]:
    """Reads how each run of the grid ended, in their order; one that left no outcome did not come to its end."""
    results = []
    for number, run in enumerate(sweep.runs()):
        settings = dict(one.split("=", 1) for one in run)
        path = folder / str(number) / OUTCOME
        if not path.is_file():
            results.append(Result(number, settings, False, "not run to its end"))
            continue
        outcome = json.loads(path.read_text(encoding="utf-8"))
        metrics = folder / str(number) / METRICS
        measures = read_metrics(metrics) if metrics.is_file() else {}
        results.append(Result(number, settings, outcome["done"], outcome["error"], measures))
    return results


def write_results(folder: Path, sweep: Sweep, results: Sequence[Result]) -> None:
    """Writes ``sweep.parquet`` and ``sweep.csv``: a row a run, a column a parameter and a measure."""
    measures = list(dict.fromkeys(name for result in results for name in result.measures))
    columns: dict[str, Any] = {
        "run": [result.number for result in results],
        **{name: [result.settings[name] for result in results] for name in sweep.parameters},
        "done": [result.done for result in results],
        "error": pa.array([result.error for result in results], pa.string()),
    }
    # A parameter may be a measure as well: the trainer records its learning rate.
    columns |= {_free(name, columns): [result.measures.get(name) for result in results] for name in measures}
    table = pa.table(columns)
    pq.write_table(table, folder / "sweep.parquet")
    pyarrow.csv.write_csv(table, folder / "sweep.csv")


def print_results(folder: Path, sweep: Sweep, results: Sequence[Result]) -> None:
    """Prints the parameters that differ, some measures, and what went wrong."""
    there = {name for result in results for name in result.measures}
    shown = [name for name in dict.fromkeys([*([sweep.metric] if sweep.metric else []), *_SHOWN]) if name in there]
    varied = [name for name, values in sweep.parameters.items() if len(values) > 1]
    labels = [name.removeprefix("rewards/").removesuffix("/mean") for name in shown]
    table = Table("run", *varied, *labels, "", title=f"sweep {sweep.name}")
    for result in results:
        values = [f"{result.measures[name]:.4g}" if name in result.measures else "" for name in shown]
        table.add_row(str(result.number), *(result.settings[name] for name in varied), *values, "" if result.done else "failed")
    console = Console()
    console.print(table)
    for result in results:
        if not result.done:
            console.print(f"run {result.number}: {result.error}", markup=False, soft_wrap=True)
    console.print(f"runs: {folder}; all measures: sweep.csv", markup=False, soft_wrap=True)


def _check(settings: Sequence[str], sweep: Sweep) -> None:
    for one in settings:
        name = one.split("=", 1)[0].lstrip("+~")
        if "=" not in one:
            raise ConfigError(f"{one!r} is no setting; give NAME=VALUE")
        if name in sweep.parameters:
            raise ConfigError(f"{name} is a parameter of this sweep; change its values in the file")
        try:
            several = OverridesParser.create().parse_override(one).is_sweep_override()
        except HydraException as error:
            raise ConfigError(f"{one!r} is no setting: {str(error).splitlines()[0]}") from error
        if several:
            raise ConfigError(f"{one!r} has several values; make {name} a parameter of the sweep file")


def _free(name: str, taken: Any) -> str:
    return name if name not in taken else f"{name} (measured)"


if __name__ == "__main__":
    raise SystemExit(min(main(), 1))
