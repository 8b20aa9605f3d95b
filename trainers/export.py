"""Turns the trainer's checkpoints into models one can open: adapters merged, processor and chat template beside the weights."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from peft import PeftModel
from transformers import TrainerState
from transformers.integrations.deepspeed import unset_hf_deepspeed_config

from agents import checkpoint
from agents.checkpoint import Loaded
from trainers.arguments import CHECKPOINTS
from wildenv.errors import DataError

BEST, LAST = "best", "last"
_ADAPTER = "adapter_config.json"


def export(state: TrainerState, folder: Path, model: Mapping[str, Any], loaded: Loaded) -> None:
    """Writes ``last`` and, when there was an evaluation, ``best`` into the run directory.

    Both are read back from the trainer's checkpoints, so that partitioned weights have been gathered and an adapter is merged
    into the very weights it was trained on.

    Args:
        state: The trainer's, after training.
        folder: The run directory.
        model: The ``model`` config, with the path of the base model.
        loaded: The trained model's processor and tokenizer.

    Raises:
        DataError: If a checkpoint is missing or what was written is not whole.
    """
    # Under ZeRO-3 a model would be partitioned as it is opened, and the other ranks have left.
    unset_hf_deepspeed_config()
    last = folder / CHECKPOINTS / f"checkpoint-{state.global_step}"
    if not last.is_dir():
        raise DataError(f"{last} is missing; the trainer writes it at its last step")
    write_whole(last, folder / LAST, model, loaded)
    if state.best_model_checkpoint is None:
        return
    best = Path(state.best_model_checkpoint)
    if best.resolve() == last.resolve():
        shutil.rmtree(folder / BEST, ignore_errors=True)
        shutil.copytree(folder / LAST, folder / BEST)
    else:
        write_whole(best, folder / BEST, model, loaded)


def write_whole(source: Path, target: Path, model: Mapping[str, Any], loaded: Loaded) -> None:
    """Writes one checkpoint as a model that `agents.checkpoint.load` opens, with its adapter merged if it has one."""
    kwargs = model.get("model_kwargs")
    if (source / _ADAPTER).is_file():
        base = checkpoint.load(model["path"], model["dtype"], gguf_file=model.get("gguf_file"), model_kwargs=kwargs).model
        whole: Any = PeftModel.from_pretrained(base, source).merge_and_unload()
    else:
        whole = checkpoint.load(source, model["dtype"], model_kwargs=kwargs).model
    checkpoint.save(target, whole, loaded.processor or loaded.tokenizer)
