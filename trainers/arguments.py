"""Our settings as TRL's and PEFT's."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from accelerate import PartialState
from accelerate.state import AcceleratorState
from peft import LoraConfig
from trl import SFTConfig

from agents.runs import Config
from trainers.launch import ranks
from wildenv.errors import ConfigError

CHECKPOINTS = "checkpoints"


def training_arguments(config: Config, folder: Path) -> SFTConfig:
    """Returns TRL's arguments for supervised training.

    Args:
        config: The whole config.
        folder: The run directory.

    Raises:
        ConfigError: If the effective batch is not a whole number of micro-batches over the ranks, or a value is not one we know.
    """
    settings = config["trainer"]
    per_pass = settings["micro_batch"] * ranks()
    if settings["effective_batch"] % per_pass:
        raise ConfigError(
            f"trainer.effective_batch={settings['effective_batch']} is not a multiple of "
            f"trainer.micro_batch={settings['micro_batch']} x {ranks()} ranks; change one of them"
        )
    return SFTConfig(
        **shared_arguments(config, folder),
        gradient_accumulation_steps=settings["effective_batch"] // per_pass,
        per_device_eval_batch_size=settings["eval_batch"],
        train_sampling_strategy="group_by_length" if settings["group_by_length"] else "random",
        length_column_name="length",
        dataloader_num_workers=settings["workers"],
        eval_strategy="steps" if config["data"]["validation_share"] else "no",
        eval_steps=settings["eval_steps"],
        save_steps=settings["eval_steps"],
        metric_for_best_model="eval_loss" if config["data"]["validation_share"] else None,
        greater_is_better=False,
        prediction_loss_only=True,
        max_length=None,
        dataset_kwargs={"skip_prepare_dataset": True},
    )


def shared_arguments(config: Config, folder: Path) -> dict[str, Any]:
    """Returns the arguments that all trainers have in common.

    Raises:
        ConfigError: If ``trainer.precision`` is not one we know.
    """
    settings = config["trainer"]
    if settings["precision"] not in ("bf16", "float32"):
        raise ConfigError(f"trainer.precision={settings['precision']!r} is neither bf16 nor float32")
    on_cpu = config["deepspeed"]["config"] is not None and os.environ.get("DS_ACCELERATOR") == "cpu"
    if on_cpu:
        join_on_cpu()
    return {
        "accelerator_config": {"use_configured_state": on_cpu},
        "output_dir": str(folder / CHECKPOINTS),
        "seed": config["seed"],
        "learning_rate": settings["learning_rate"],
        "lr_scheduler_type": settings["schedule"],
        "warmup_steps": settings["warmup_steps"],
        "weight_decay": settings["weight_decay"],
        "max_grad_norm": settings["max_grad_norm"],
        "per_device_train_batch_size": settings["micro_batch"],
        "num_train_epochs": settings["epochs"],
        "max_steps": settings["max_steps"],
        "bf16": settings["precision"] == "bf16",
        # The new name of gradient_checkpointing.
        "activation_checkpointing": settings["gradient_checkpointing"],
        "activation_checkpointing_kwargs": {"use_reentrant": False} if settings["gradient_checkpointing"] else None,
        "dataloader_pin_memory": settings["precision"] == "bf16",
        "logging_steps": settings["log_steps"],
        "logging_first_step": True,
        "save_strategy": "steps",
        "save_total_limit": 2,
        "deepspeed": config["deepspeed"]["config"],
        "report_to": [],
        # The rows are ours, and no inputs of the model.
        "remove_unused_columns": False,
    }


def must_use_deepspeed(config: Config, enabled: bool) -> None:
    """Refuses a run that asks for DeepSpeed and would train without it.

    Args:
        config: The whole config.
        enabled: Whether the trainer has it.

    Raises:
        ConfigError: If the two do not agree.
    """
    if config["deepspeed"]["config"] is not None and not enabled:
        raise ConfigError(
            "deepspeed: accelerate does not use it in this process; leave ACCELERATE_USE_CPU unset (DS_ACCELERATOR=cpu trains on "
            "the CPU) or set deepspeed=none"
        )


def join_on_cpu() -> None:
    """Joins the other ranks for DeepSpeed without a GPU; accelerate 1.15 names no backend there and would count one rank."""
    import deepspeed

    # DeepSpeed would compile an all-reduce over shared memory here, for half a minute; only its inference calls it.
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    AcceleratorState._reset_state(reset_partial_state=True)
    os.environ["ACCELERATE_USE_DEEPSPEED"] = "true"
    PartialState(backend="gloo")
    del os.environ["ACCELERATE_USE_DEEPSPEED"]


def lora(settings: dict[str, Any]) -> LoraConfig | None:
    """Returns the adapter that ``trainer.peft`` asks for.

    Raises:
        ConfigError: If it is neither ``none`` nor ``lora``.
    """
    if settings["peft"] in (None, "none"):
        return None
    if settings["peft"] != "lora":
        raise ConfigError(f"trainer.peft={settings['peft']!r} is neither none nor lora")
    chosen = settings["lora"]
    return LoraConfig(
        r=chosen["r"],
        lora_alpha=chosen["alpha"],
        lora_dropout=chosen["dropout"],
        target_modules=chosen["target_modules"],
        task_type="CAUSAL_LM",
    )


def last_checkpoint(resume: str | None) -> str | None:
    """Returns the checkpoint to go on from: the folder itself, or the last one of a run directory.

    Raises:
        ConfigError: If there is none.
    """
    if resume is None:
        return None
    folder = Path(resume)
    if (folder / "trainer_state.json").is_file():
        return str(folder)
    # A killed run may leave its last checkpoint unfinished; the state is written after the weights.
    whole = [state.parent for state in (folder / CHECKPOINTS).glob("checkpoint-*/trainer_state.json") if _readable(state)]
    if not whole:
        raise ConfigError(f"trainer.resume={resume} is neither a checkpoint nor a run directory with one in {CHECKPOINTS}/")
    return str(max(whole, key=lambda checkpoint: int(checkpoint.name.rpartition("-")[2])))


def _readable(state: Path) -> bool:
    try:
        return isinstance(json.loads(state.read_text(encoding="utf-8")), dict)
    except ValueError:
        return False
