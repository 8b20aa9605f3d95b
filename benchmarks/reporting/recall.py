"""Recall@4 of the first image search: whether locating first makes the query find the target (Savanna, figure 6)."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.intervals import bootstrap
from benchmarks.reporting import paper
from benchmarks.reporting.facts import FIRST
from benchmarks.reporting.run import Run
from benchmarks.reporting.table import Cell, Column, Table


def recall_table(runs: Sequence[Run], seed: int) -> Table:
    """Returns the share of tasks whose first image search shows the target among its first candidates."""
    beside = paper.comparable(runs)
    columns = [
        Column("run"),
        Column(f"Recall@{FIRST}, %", "percent", interval=True),
        Column("tasks known", "count"),
        Column("tasks not known", "count"),
        Column("episodes without an image search", "count"),
    ]
    columns += [Column(f"Recall@{FIRST}, %", paper=True)] * beside
    rows: list[list[Cell]] = []
    for run in runs:
        flags: dict[str, list[float]] = {}
        for one in run.facts:
            if one.first_search is not None:
                flags.setdefault(one.task_id, []).append(float(one.first_search))
        found = bootstrap([sum(some) / len(some) for _, some in sorted(flags.items())], seed)
        unknown = len({one.task_id for one in run.facts} - flags.keys())
        row: list[Cell] = [run.label, found or "not known", len(flags), unknown, sum(not one.searched for one in run.facts)]
        rows.append([*row, paper.RECALL] if beside else row)
    notes = [
        "A picture shows the target if the miniweb drew it there, however small, or if labels=FILE says so. An answer without "
        "any image search counts as a miss; a task is not known if a candidate is unlabelled and none is labelled right, or if "
        "the infrastructure failed before the first image search.",
    ]
    return Table("recall", f"Recall@{FIRST} of the first image search", columns, rows, [*notes, *paper.notes(runs)])
