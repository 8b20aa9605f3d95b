"""The K-Score and its four axes, over all pictures of a run."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.kscore import COMPONENT, NOTHING, Axes, KScore, kscore
from benchmarks.metrics.kscore_rows import AXES, TEXT
from benchmarks.reporting.facts import Facts
from benchmarks.reporting.run import Run
from benchmarks.reporting.table import Cell, Column, Table

NOTE = (
    "K-Score: weights 0.1, 0.4, 0.4, 0.1 on the means of faithfulness, visual correctness, text accuracy and aesthetics, as "
    "Gen-Searcher's summary; pictures that need no text are left out of the mean of the text. Differences task by task are of "
    "the K-Scores of single pictures, where such text counts 0.5."
)


def knows_axes(facts: Sequence[Facts]) -> bool:
    """Whether the grades of every picture with a K-Score are in the record, and there is one at all."""
    scored = [one.axes is not None for one in facts if one.rewards.get(COMPONENT) is not None]
    return bool(scored) and all(scored)


def kscore_of(facts: Sequence[Facts], seed: int, missing: Axes | None = None) -> KScore | None:
    """Returns the K-Score of episodes; None if there are none.

    Args:
        facts: The episodes.
        seed: Of the bootstrap.
        missing: What an unscored episode counts as; None leaves it out.
    """
    tasks: dict[str, list[Axes]] = {}
    for one in facts:
        axes = missing if one.axes is None else one.axes
        if axes is not None:
            tasks.setdefault(one.task_id, []).append(axes)
    return kscore([pictures for _, pictures in sorted(tasks.items())], seed)


def kscore_table(runs: Sequence[Run], seed: int) -> Table | None:
    """Returns the axes with both denominators; None if no run has the grades of its pictures."""
    known = [run for run in runs if knows_axes(run.facts)]
    if not known:
        return None
    columns = [Column("run"), Column("axis")]
    columns += [Column(name, "percent", interval=True) for name in ("official, %", "missing as 0, %")]
    columns += [Column("scored tasks", "count")]
    rows: list[list[Cell]] = []
    for run in known:
        scored, whole = kscore_of(run.facts, seed), kscore_of(run.facts, seed, NOTHING)
        assert scored is not None
        assert whole is not None
        for axis in AXES:
            found, every = scored.axes[axis] or "not applicable", whole.axes[axis] or "not applicable"
            rows.append([run.label, axis.replace("_", " "), found, every, 0 if isinstance(found, str) else found.n])
        rows.append([run.label, "K-Score", scored.value, whole.value, scored.value.n])
    notes = [NOTE, f"The mean of the {TEXT.replace('_', ' ')} is over tasks that need text."]
    return Table("kscore", "K-Score by axis", columns, rows, notes)
