"""What a run leaves behind to look at: ``metrics.parquet`` and ``loss.png`` always, W&B when asked.

Both files are rewritten from the trainer's own history at every evaluation and checkpoint and at the end, so that a resumed run
has the whole curve and a killed one has all but the last steps. W&B needs no login in its default mode, offline; nothing is
uploaded then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.figure
import pyarrow as pa
import pyarrow.parquet as pq
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

METRICS = "metrics.parquet"
CURVE = "loss.png"


class LocalLog(TrainerCallback):
    """Keeps the local files up to date; the main process only.

    Args:
        folder: The run directory.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _write(self, state: TrainerState) -> None:
        if state.is_world_process_zero and state.log_history:
            write_metrics(self._folder / METRICS, state.log_history)
            draw_loss(self._folder / CURVE, state.log_history)

    def on_evaluate(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Writes the files."""
        self._write(state)

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Writes the files."""
        self._write(state)

    def on_train_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Writes the files."""
        self._write(state)


def write_metrics(path: Path, history: Sequence[Mapping[str, Any]]) -> None:
    """Writes one row a record, one column a measure; a measure that a record lacks is null."""
    names = list(dict.fromkeys(name for record in history for name in record))
    columns = {name: [None if record.get(name) is None else float(record[name]) for record in history] for name in names}
    pq.write_table(pa.table({name: pa.array(values, pa.float64()) for name, values in columns.items()}), path)


def draw_loss(path: Path, history: Sequence[Mapping[str, Any]]) -> None:
    """Draws the training and evaluation loss over the steps."""
    figure = matplotlib.figure.Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for name, label in (("loss", "training"), ("eval_loss", "validation")):
        points = [(record["step"], record[name]) for record in history if name in record]
        if points:
            axes.plot(*zip(*points, strict=True), label=label, marker="o" if len(points) < 20 else None, markersize=3)
    axes.set(xlabel="step", ylabel="loss per trained token (nats)")
    axes.set_ylim(0, axes.get_ylim()[1] * 1.05)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120)


def start_wandb(settings: Mapping[str, Any], config: Mapping[str, Any], folder: Path) -> list[str]:
    """Starts a W&B run if the config asks for one; call it on the main process only.

    Returns:
        The trainer's ``report_to``.
    """
    if not settings["enabled"]:
        return []
    import wandb

    wandb.init(
        project=settings["project"],
        group=settings["group"],
        job_type=settings["job_type"],
        name=settings["name"],
        tags=list(settings["tags"]),
        mode=settings["mode"],
        dir=str(folder),
        config=dict(config),
    )
    return ["wandb"]
