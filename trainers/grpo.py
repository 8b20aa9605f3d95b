"""Group-relative policy optimisation in the environment: ``python -m trainers.grpo experiment=gen_searcher``.

Composes the config, checks it (`trainers.preflight`), opens or warms up the model, rolls and trains, and leaves in the run
directory: ``config.yaml`` and ``environment.json``, ``metrics.parquet`` and its figures, ``alarms.jsonl`` if one sounded,
``rollouts`` (kept episodes, for `benchmarks.report`) and ``trajectories`` (the same as a table), ``last`` (a whole checkpoint
with processor and chat template) and ``checkpoints``. Rewards on training tasks are no evaluation: that is `benchmarks.evaluate`.
"""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path
from typing import Any

import hydra
from omegaconf import DictConfig
from rich.console import Console

from agents.runs import Config, plain, plain_errors, run_dir
from trainers.launch import begin, enter
from trainers.preflight import asked, preflight_or_stop, take
from trainers.scale import print_changes, scale_changes
from trainers.settings import check_settings
from wildenv.errors import ConfigError

# TRL reports its use otherwise; a run talks to nobody unless it is told to.
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
# Commands that are printed must survive being copied.
_CONSOLE = Console(soft_wrap=True, highlight=False)


@hydra.main(version_base="1.3", config_path="../conf", config_name="grpo")
def main(composed: DictConfig) -> None:
    """Composes the run and trains here, or in as many ranks as ``launch.processes`` says."""
    with plain_errors():
        config = plain(composed)
        check_settings(config)
        folder = run_dir()
        check_empty(folder, config["trainer"]["resume"])
        print_changes(scale_changes(config))
        preflight_or_stop(config, folder, "grpo", only=take(config))
        begin("trainers.grpo", config, folder, prepare_once, train)


def prepare_once(config: Config, folder: Path) -> Config:
    """Makes the model to start from, for which ranks must not race; returns the config that names it."""
    from trainers.warm_start import start_model

    return start_model(config, folder)


def train(config: Config, folder: Path) -> dict[str, float]:
    """Trains one model.

    Args:
        config: ``conf/grpo.yaml`` as plain values.
        folder: The run directory.

    Returns:
        The measures of the last record.

    Raises:
        ConfigError: Naming the setting that is wrong.
        InfrastructureError: If nothing could be scored for some batches in a row.
    """
    # Heavy imports wait until the config is known to be sound.
    from transformers import ProgressCallback, set_seed
    from transformers.integrations import get_reporting_integration_callbacks

    from agents.track import finish_wandb, start_wandb
    from trainers.arguments import last_checkpoint
    from trainers.export import LAST, export
    from trainers.figures import GRPO_FIGURES
    from trainers.finite import Finite
    from trainers.quiet import quiet
    from trainers.rl.alarms import Alarms
    from trainers.rl.lines import Lines
    from trainers.rl.opening import open_trainer
    from trainers.rl.watch import Watcher
    from trainers.track import LocalLog
    from trainers.trajectories import ROLLOUTS
    from trainers.warm_start import start_model

    quiet()
    settings = config["trainer"]
    folder.mkdir(parents=True, exist_ok=True)
    set_seed(config["seed"])
    config = start_model(config, folder)
    opened = open_trainer(config, folder)
    trainer, watcher = opened.trainer, None
    trainer.remove_callback(ProgressCallback)
    trainer.add_callback(Lines())
    trainer.add_callback(Finite())
    trainer.add_callback(Alarms(settings["alarms"], folder))
    trainer.add_callback(LocalLog(folder, GRPO_FIGURES))
    if trainer.is_world_process_zero():
        for callback in get_reporting_integration_callbacks(start_wandb(config["logger"], config, folder, settings["resume"])):
            trainer.add_callback(callback)
        planned = updates(settings, len(trainer.train_dataset))
        watcher = trainer.watch = Watcher(folder, settings["keep_rollouts"], settings["log_steps"], planned)
    trainer.train(resume_from_checkpoint=last_checkpoint(settings["resume"]))
    if watcher is not None:
        watcher.close()
        export(trainer.state, folder, config["model"], opened.loaded)
        finish_wandb()
        _CONSOLE.print(f"run directory: {folder}")
        _CONSOLE.print(f"what it rolled: python -m benchmarks.report run={folder / ROLLOUTS}")
        _CONSOLE.print(f"what it can do: python -m benchmarks.evaluate agent=local model.path={folder / LAST}")
    return last_record(trainer.state.log_history)


def check_empty(folder: Path, resume: str | None) -> None:
    """Refuses to mix two runs in one directory.

    Raises:
        ConfigError: If the directory holds a run, unless it is the one that goes on.
    """
    from trainers.arguments import CHECKPOINTS
    from trainers.track import METRICS

    begun = [] if resume is None else [Path(resume).resolve(), *Path(resume).resolve().parents]
    if ((folder / METRICS).exists() or (folder / CHECKPOINTS).exists()) and folder.resolve() not in begun:
        raise ConfigError(
            f"hydra.run.dir={folder} holds a run; name another directory, or go on with it by trainer.resume={folder}"
        )


def updates(settings: Config, tasks: int) -> int:
    """Returns the updates that a run over so many tasks makes."""
    return settings["max_steps"] if settings["max_steps"] > 0 else math.ceil(settings["epochs"] * tasks / settings["prompts"])


def last_record(history: list[dict[str, Any]]) -> dict[str, float]:
    """Returns the last record with a reward."""
    return next(record for record in reversed(history) if "reward" in record)


if __name__ == "__main__":
    sys.argv[1:] = asked(sys.argv[1:])
    enter(main, train)
