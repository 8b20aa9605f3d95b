"""Supervised fine-tuning on trajectories: ``python -m trainers.sft experiment=ranger``.

Composes the config, finds or collects the rows, opens or builds the model, trains, and leaves in the run directory:
``config.yaml`` and ``environment.json``, ``fit.json`` (rows cut and dropped), ``metrics.parquet`` and ``loss.png``, ``best``
and ``last`` (whole checkpoints with processor and chat template), ``initial`` (the nano model before training, where one was
built) and ``checkpoints``. Nothing here measures what the model can do with its tools: that is `benchmarks.evaluate`.
"""

from __future__ import annotations

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

# TRL reports its use otherwise; a run talks to nobody unless it is told to.
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
# Commands that are printed must survive being copied.
_CONSOLE = Console(soft_wrap=True, highlight=False)


@hydra.main(version_base="1.3", config_path="../conf", config_name="sft")
def main(composed: DictConfig) -> None:
    """Composes the run and trains here, or in as many ranks as ``launch.processes`` says."""
    with plain_errors():
        config = plain(composed)
        check_settings(config)
        folder = run_dir()
        print_changes(scale_changes(config))
        preflight_or_stop(config, folder, "sft", only=take(config))
        begin("trainers.sft", config, folder, prepare_once, train)


def prepare_once(config: Config, folder: Path) -> Config:
    """Makes the rows and the nano model, for which ranks must not race; returns the config that names them."""
    from trainers.data import RowFolder
    from trainers.model import provide_model
    from trainers.source import prepare

    rows = prepare(config, folder).resolve()
    return {
        **config,
        "data": {**config["data"], "path": str(rows), "source": "rows"},
        "model": provide_model(config["model"], RowFolder(rows), folder),
    }


def train(config: Config, folder: Path) -> dict[str, float]:
    """Trains one model.

    Args:
        config: ``conf/sft.yaml`` as plain values.
        folder: The run directory.

    Returns:
        The final training and evaluation measures.

    Raises:
        ConfigError: Naming the setting that is wrong.
    """
    # Heavy imports wait until the config is known to be sound.
    from transformers import set_seed

    from agents import checkpoint
    from agents.track import finish_wandb, start_wandb
    from trainers.arguments import last_checkpoint, lora, must_use_deepspeed, training_arguments
    from trainers.collate import TrajectoryCollator
    from trainers.data import RowFolder, split
    from trainers.export import export
    from trainers.finite import Finite
    from trainers.fit import fit_rows, write_report
    from trainers.model import provide_model
    from trainers.quiet import quiet
    from trainers.source import prepare
    from trainers.track import LocalLog
    from trainers.trainer import TrajectoryTrainer, as_dataset

    quiet()
    settings = config["trainer"]
    folder.mkdir(parents=True, exist_ok=True)
    set_seed(config["seed"])
    # Before the model: under ZeRO-3 its weights are partitioned as they are created.
    arguments = training_arguments(config, folder)
    rows = RowFolder(prepare(config, folder))
    config = {**config, "model": provide_model(config["model"], rows, folder)}
    loaded = checkpoint.from_config(config["model"])
    chosen, held = split(rows, config["data"]["validation_share"])
    rank, ranks = arguments.process_index, arguments.world_size
    fitted = {
        name: fit_rows(rows, indices, loaded.encoder, settings, name, rank, ranks)
        for name, indices in (("training", chosen), ("validation", held))
    }
    main_process = rank == 0
    if main_process:
        counts = write_report(folder / "fit.json", fitted)
        for name, count in counts.items():
            _CONSOLE.print(f"{name}: " + ", ".join(f"{value} {key}" for key, value in count.items()))
        arguments.report_to = start_wandb(config["logger"], config, folder, settings["resume"])
    trainer = TrajectoryTrainer(
        chunk=settings["loss_chunk"],
        model=loaded.model,
        args=arguments,
        data_collator=TrajectoryCollator(
            rows, loaded.encoder, settings["token_weights"], settings["assistant_turns"], settings["dummy_image"]
        ),
        train_dataset=as_dataset(fitted["training"]),
        eval_dataset=as_dataset(fitted["validation"]) if fitted["validation"] else None,
        processing_class=loaded.processor or loaded.tokenizer,
        peft_config=lora(settings),
        callbacks=[Finite(), LocalLog(folder)],
    )
    must_use_deepspeed(config, trainer.is_deepspeed_enabled)
    trainer.train(resume_from_checkpoint=last_checkpoint(settings["resume"]))
    if main_process:
        export(trainer.state, folder, config["model"], loaded)
        finish_wandb()
        _CONSOLE.print(f"run directory: {folder}")
        _CONSOLE.print(f"what it learned: python -m benchmarks.compare run={folder}")
    return summary(trainer.state.log_history)


def summary(history: list[dict[str, Any]]) -> dict[str, float]:
    """Returns first and last training loss and the last evaluation loss of a run."""
    losses = [record["loss"] for record in history if "loss" in record]
    evaluated = [record["eval_loss"] for record in history if "eval_loss" in record]
    return {"first_loss": losses[0], "last_loss": losses[-1]} | ({"eval_loss": evaluated[-1]} if evaluated else {})


if __name__ == "__main__":
    sys.argv[1:] = asked(sys.argv[1:])
    enter(main, train)
