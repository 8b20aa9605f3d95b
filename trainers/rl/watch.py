"""Hands the rollouts of a run on to its table of trajectories."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trainers.rl.trace import Trace
from trainers.trajectories import TrajectoryLog
from trainers.trajectory_rows import FACTS, Trajectory


class Watcher:
    """Keeps rollouts of every record; the main process only, which sees the rollouts of its own rank.

    Args:
        folder: The run directory.
        keep: Rollouts of a record; None is all, 0 none.
        every: Updates between records.
        updates: Of the whole run; W&B shows the last 100 increments of a table, so that long runs hand over several at a time.
    """

    def __init__(self, folder: Path, keep: int | None, every: int, updates: int) -> None:
        self._log = TrajectoryLog(folder, keep, steps_per_increment=math.ceil(updates / every / 100)) if keep != 0 else None
        self._every = every
        self._last: int | None = None

    def __call__(self, step: int, traces: Sequence[Trace], known: Sequence[Mapping[str, Any]]) -> None:
        """Takes the rollouts of an update, and what else is known of each."""
        if self._log is None or (self._last is not None and step - self._last < self._every):
            return
        self._last = step
        rollouts = [
            Trajectory(
                trace.session.episode,
                trace.session.store,
                {name: _plain(value) for name, value in facts.items() if name in FACTS},
            )
            for trace, facts in zip(traces, known, strict=True)
        ]
        self._log.add(step, rollouts)

    def close(self) -> None:
        """Hands over what still waits."""
        if self._log is not None:
            self._log.close()


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
