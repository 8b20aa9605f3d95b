"""Whether what a run writes fits on the disk of its run directory: an estimate, and rather too large than too small."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from math import ceil
from pathlib import Path

from trainers.checks.finding import Finding, Status
from trainers.checks.subject import GRPO, Subject
from wildenv.errors import ConfigError

DISK = "disk space"
_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
_KEPT = 3
"""Checkpoints at once: the two that are kept, and one that is being written."""
_EXPORTS = 2
_COLOURS = 3
_TOKEN_BYTES = 8
_GB = 1e9


def disk(subject: Subject) -> Iterator[Finding]:
    """Whether there is room for checkpoints, exports and rollouts."""
    # The run directory of a run that is started elsewhere is here as well: every node must see it.
    place = next(path for path in (subject.folder.absolute(), *subject.folder.absolute().parents) if path.exists())
    free = free_bytes(place)
    weights = subject.parameters * _BYTES.get(subject.model["dtype"], 4)
    checkpoints = _KEPT * _checkpoint(subject, weights)
    exports = (_EXPORTS + subject.unbuilt) * weights
    rollouts = _rollouts(subject)
    needed = checkpoints + exports + rollouts
    parts = f"checkpoints {_gb(checkpoints)}, models {_gb(exports)}" + (f", rollouts {_gb(rollouts)}" if rollouts else "")
    if needed > free:
        less = " or lower trainer.keep_rollouts" if subject.kind == GRPO else ""
        raise ConfigError(
            f"the run may write {_gb(needed)} ({parts}) and {place} has {_gb(free)} left; set hydra.run.dir to a larger "
            f"disk{less}"
        )
    yield Finding(DISK, Status.PASSED, f"at most {_gb(needed)} ({parts}) of {_gb(free)} that are free")


def free_bytes(place: Path) -> int:
    """Returns the bytes that are free on the file system of a folder."""
    return shutil.disk_usage(place).free


def _checkpoint(subject: Subject, weights: int) -> int:
    """Bytes of a checkpoint: weights, and two states of the optimiser for each weight that is trained."""
    trained = subject.parameters
    if subject.trainer["peft"] == "lora" or subject.trainer.get("adapter"):
        trained = _adapter(subject)
        # Under DeepSpeed the frozen weights are in every checkpoint as well.
        base = weights if subject.zero_stage else 0
        return base + 3 * 4 * trained
    if subject.zero_stage:
        # The weights for opening, those of the engine, and in float32 the weights and both states.
        return 2 * weights + 12 * trained
    return 3 * weights


def _adapter(subject: Subject) -> int:
    """Weights of an adapter on every linear module; less on fewer."""
    linear = (p.shape for name, p in subject.skeleton.named_parameters() if name.endswith("weight") and p.dim() == 2)
    return int(subject.trainer["lora"]["r"]) * sum(sum(shape) for shape in linear)


def _rollouts(subject: Subject) -> int:
    if subject.kind != GRPO:
        return 0
    settings, limits = subject.trainer, subject.limits
    steps = settings["max_steps"]
    if steps < 1:
        steps = ceil(subject.task_count / settings["prompts"] * settings["epochs"])
    records = ceil(steps / settings["log_steps"])
    every = settings["group"] * settings["prompts"] * settings["log_steps"]
    kept = every if settings["keep_rollouts"] is None else min(every, settings["keep_rollouts"])
    pictures = min(limits.images, limits.tool_calls * limits.images_per_search) * subject.pixels.max_pixels * _COLOURS
    size: int = records * kept * (pictures + settings["max_length"] * _TOKEN_BYTES)
    return size


def _gb(size: float) -> str:
    return f"{size / _GB:.1f} GB" if size >= _GB / 10 else f"{size / 1e6:.0f} MB"
