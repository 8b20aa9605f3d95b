"""What a training run leaves behind to look at: ``metrics.parquet`` and its figures, always.

They are rewritten from the trainer's own history at every evaluation and checkpoint and at the end, so that a resumed run
has the whole curve and a killed one has all but the last steps. What goes to W&B is `agents.track`'s business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from trainers.figures import SFT_FIGURES, Panel, draw

METRICS = "metrics.parquet"


class LocalLog(TrainerCallback):
    """Keeps the local files up to date; the main process only.

    Args:
        folder: The run directory.
        figures: What is drawn, by file name: `trainers.figures.SFT_FIGURES` or ``GRPO_FIGURES``.
    """

    def __init__(self, folder: Path, figures: Mapping[str, Sequence[Panel]] = SFT_FIGURES) -> None:
        self._folder = folder
        self._figures = figures

    def _write(self, state: TrainerState) -> None:
        if state.is_world_process_zero and state.log_history:
            write_metrics(self._folder / METRICS, state.log_history)
            for name, panels in self._figures.items():
                draw(self._folder / name, state.log_history, panels)

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
    part = path.with_name(f".{path.name}.part")
    pq.write_table(pa.table({name: pa.array(values, pa.float64()) for name, values in columns.items()}), part)
    part.replace(path)


def read_metrics(path: Path) -> dict[str, float]:
    """Returns the last value of every measure that `write_metrics` wrote."""
    table = pq.read_table(path)
    last = {name: [value for value in table.column(name).to_pylist() if value is not None] for name in table.column_names}
    return {name: values[-1] for name, values in last.items() if values}
