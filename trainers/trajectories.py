"""The trajectories of a training run, to be read by people: ``rollouts/``, ``trajectories/`` and, with W&B, a table.

``RUN/rollouts`` holds the rollouts that were kept, as episodes with their pictures: ``python -m benchmarks.report
run=RUN/rollouts`` shows them. ``RUN/trajectories`` holds a row for each, in one parquet file a step: texts, rewards and contact
sheets of thumbnails; pyarrow, pandas and datasets read the folder as one table. A W&B run that is active gets the same rows as an
incremental table.

A step is on disk when `TrajectoryLog.add` returns, and stays as it is: a killed run loses at most the step it was in. A step that
is rolled again, as after a resume, takes the place of the earlier one in the table; among the episodes both stay unless they are
alike, and readers that want the last record of each task and seed get the later. Offline, W&B keeps both.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from agents.track import active_run
from trainers.contact_sheet import encode_sheet
from trainers.trajectory_rows import FACTS, SCHEMA, SHEETS, Trajectory, choose, row_of, sheets_of
from wildenv.episode import ROWS, EpisodeWriter, read_episodes
from wildenv.errors import ConfigError
from wildenv.folders import make_folder

__all__ = ["FACTS", "ROLLOUTS", "TRAJECTORIES", "Trajectory", "TrajectoryLog"]

ROLLOUTS = "rollouts"
TRAJECTORIES = "trajectories"
TABLE = "trajectories"
"""Name of the W&B table."""

_BYTES = 2_000_000


class TrajectoryLog:
    """Keeps trajectories of a run; make one in the main process only.

    Args:
        folder: The run directory.
        keep: Rollouts of a step that are kept, see `trainers.trajectory_rows.choose`; None keeps all.
        thumbnail_px: Longest side of a thumbnail.
        max_bytes_per_step: Of the contact sheets of a step, over all rollouts kept; they are made smaller to fit.
        steps_per_increment: Steps that W&B gets at a time. Its pages show the last 100 increments of a table; more steps than
            that should come several at a time. A killed run loses those that wait, in W&B only.

    Raises:
        ConfigError: If the folder cannot be written.
    """

    def __init__(
        self,
        folder: Path,
        keep: int | None,
        thumbnail_px: int = 96,
        max_bytes_per_step: int = _BYTES,
        steps_per_increment: int = 1,
    ) -> None:
        self._parts = Path(folder) / TRAJECTORIES
        make_folder(self._parts, "the run directory")
        self._writer = EpisodeWriter(Path(folder) / ROLLOUTS)
        there = (self._writer.folder / ROWS).exists()
        self._written = {one.digest() for one in read_episodes(self._writer.folder)} if there else set()
        self._keep = keep
        self._side = thumbnail_px
        self._bytes = max_bytes_per_step
        self._increment = max(1, steps_per_increment)
        self._added: dict[int, int] = {}
        self._table: Any = None
        self._waiting: list[list[Any]] = []
        self._waiting_steps = 0

    def add(self, step: int, rollouts: Sequence[Trajectory]) -> None:
        """Keeps some of the rollouts of a step; what is added to one step in several calls stays together.

        Args:
            step: The update they were rolled for.
            rollouts: Of whole groups, since what is kept depends on the group.

        Raises:
            ValueError: If two rollouts have the same task and seed: readers would take one for a repetition of the other.
            ConfigError: If the folder cannot be written.
            DataError: If a picture is missing, or an episode does not hold together.
        """
        keys = [(one.episode.task_id, one.episode.seed) for one in rollouts]
        twice = sorted({key for key in keys if keys.count(key) > 1})
        if twice:
            raise ValueError(
                f"two rollouts of step {step} have task {twice[0][0]!r} and seed {twice[0][1]}; give each its own seed"
            )
        chosen = choose(rollouts, self._keep, step)
        rows, sheets = [], []
        for place, kept in chosen:
            trajectory = rollouts[place]
            rows.append(row_of(step, trajectory, kept))
            sheets.append(sheets_of(trajectory, self._side, self._bytes // len(chosen)))
            if rows[-1]["episode"] not in self._written:
                self._writer.append(trajectory.episode, trajectory.images)
                self._written.add(rows[-1]["episode"])
        self._write_part(step, rows, sheets)
        self._show(step, rows, sheets)

    def close(self) -> None:
        """Hands over to W&B what still waits."""
        if self._waiting:
            self._log(self._waiting[-1][0])

    def _write_part(
        self, step: int, rows: Sequence[Mapping[str, Any]], sheets: Sequence[Mapping[str, Image.Image | None]]
    ) -> None:
        encoded = [{name: None if (one := found[name]) is None else encode_sheet(one) for name in SHEETS} for found in sheets]
        table = pa.Table.from_pylist([{**row, **pictures} for row, pictures in zip(rows, encoded, strict=True)], schema=SCHEMA)
        number = self._added.get(step, 0)
        path = self._parts / f"{step:08d}-{number}.parquet"
        # A name that readers of the folder pass over until the file is whole.
        part = self._parts / f".{path.name}"
        try:
            if number == 0:
                for earlier in self._parts.glob(f"{step:08d}-*.parquet"):
                    earlier.unlink()
            pq.write_table(table, part)
            with part.open("rb") as written:
                os.fsync(written.fileno())
            part.replace(path)
        except OSError as error:
            raise ConfigError(
                f"{self._parts} cannot be written ({error.strerror or error}); make room, and resume the run"
            ) from error
        self._added[step] = number + 1

    def _show(self, step: int, rows: Sequence[Mapping[str, Any]], sheets: Sequence[Mapping[str, Image.Image | None]]) -> None:
        if active_run() is None:
            return
        import wandb

        for row, found in zip(rows, sheets, strict=True):
            pictures = [None if (one := found[name]) is None else wandb.Image(one, file_type="jpg") for name in SHEETS]
            texts = [_cell(name, value) for name, value in row.items()]
            self._waiting.append([*texts, *pictures])
        self._waiting_steps += 1
        if self._waiting_steps >= self._increment:
            self._log(step)

    def _log(self, step: int) -> None:
        import wandb

        run = active_run()
        if run is None:
            return
        if self._table is None:
            self._table = wandb.Table(columns=list(SCHEMA.names), log_mode="INCREMENTAL")
        logged = len(self._table.data)
        for row in self._waiting:
            self._table.add_data(*row)
        self._waiting, self._waiting_steps = [], 0
        # The trainer's callback counts in the same steps.
        run.log({TABLE: self._table, "train/global_step": step})
        # The table keeps its rows although it hands on each only once; their pictures need not stay in memory.
        for row in self._table.data[logged:]:
            row[:] = [None] * len(row)


def _cell(name: str, value: Any) -> Any:
    if name == "chosen":
        return " ".join(value)
    if name == "rewards":
        return ", ".join(f"{part} {'unscored' if one is None else format(one, '.3g')}" for part, one in sorted(value.items()))
    return value
