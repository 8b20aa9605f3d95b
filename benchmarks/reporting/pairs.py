"""Two runs compared task by task: differences, intervals, and a sign test.

Pairs are episodes of the same task and seed that both runs scored. The sign test asks only which of the two is ahead; it does not
correct for how many components are tested.
"""

from __future__ import annotations

from math import comb

from benchmarks.intervals import paired
from benchmarks.reporting.means import REWARD, ordered, value_of
from benchmarks.reporting.run import Run
from benchmarks.reporting.table import Cell, Column, Table


def paired_table(first: Run, second: Run, seed: int) -> Table:
    """Returns the comparison of all components that both runs have."""
    columns = [
        Column("component"),
        Column("pairs", "count"),
        Column(f"{first.label}, %", "percent"),
        Column(f"{second.label}, %", "percent"),
        Column(f"{first.label} minus {second.label}, points", "points", interval=True),
        Column(f"{first.label} ahead", "count"),
        Column("equal", "count"),
        Column(f"{second.label} ahead", "count"),
        Column("sign test, p", "p"),
    ]
    rows: list[list[Cell]] = []
    for name in [*ordered(first.components & second.components), REWARD]:
        ours, theirs = _values(first, name), _values(second, name)
        common = sorted(ours.keys() & theirs.keys())
        difference = paired(ours, theirs, seed)
        if difference is None:
            continue
        better = sum(ours[key] > theirs[key] for key in common)
        worse = sum(ours[key] < theirs[key] for key in common)
        means: list[Cell] = [sum(side[key] for key in common) / len(common) for side in (ours, theirs)]
        equal = len(common) - better - worse
        rows.append([name, len(common), *means, difference, better, equal, worse, sign_test(better, worse)])
    pairs = len({one.key for one in first.facts} & {one.key for one in second.facts})
    notes = [
        f"{pairs} episodes of the same task and seed; a pair counts where both are scored. Interval: bootstrap 95 % of the mean "
        "difference. Sign test: exact, two-sided, ties left out.",
    ]
    if not pairs:
        notes.append("The runs share no task and seed: nothing can be paired. Evaluate both with the same tasks and seed.")
    return Table("paired", f"{first.label} and {second.label}, task by task", columns, rows, notes)


def sign_test(better: int, worse: int) -> float:
    """Returns the two-sided p of a split at least as uneven, were both sides equally likely; 1 without any."""
    n = better + worse
    tail = sum(comb(n, k) for k in range(min(better, worse) + 1))
    return min(1.0, float(2 * tail / 2**n))


def _values(run: Run, component: str) -> dict[str, float]:
    found = {f"{one.task_id} {one.seed}": value_of(one, component) for one in run.facts}
    return {key: value for key, value in found.items() if value is not None}
