"""What cropping is worth: identity and context with and without it (Savanna, figure 7).

The paper draws each cropped reference a second time uncropped. With two runs of the same tasks and seeds, pairs are looked for in
which one run hands on a crop and the other the same downloaded pictures whole (``agent=lci agent.isolate=false`` is such a twin):
their difference is what cropping is worth. Without pairs the episodes are only grouped; groups hold different tasks, and their
difference says nothing of cause.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.intervals import bootstrap
from benchmarks.reporting import paper
from benchmarks.reporting.facts import Facts
from benchmarks.reporting.means import official
from benchmarks.reporting.run import Run
from benchmarks.reporting.table import Cell, Column, Table

LOOKED_AT = ("search", "generation", "identity", "context")


def crop_tables(runs: Sequence[Run], seed: int) -> list[Table]:
    """Returns the paired comparison, if there are pairs, and the grouped one of each run that has crops."""
    tables = []
    if len(runs) == 2:
        pairs = [*_pairs(runs[0], runs[1]), *_pairs(runs[1], runs[0])]
        if pairs:
            tables.append(_paired_table(runs, pairs, seed))
    if any(one.cropped for run in runs for one in run.facts):
        tables.append(_grouped_table(runs, seed))
    return tables


def _pairs(cropping: Run, whole: Run) -> list[tuple[Facts, Facts]]:
    others = {one.key: one for one in whole.facts if one.cropped is False}
    return [
        (one, other)
        for one in cropping.facts
        if one.cropped and (other := others.get(one.key)) is not None and other.roots == one.roots
    ]


def _paired_table(runs: Sequence[Run], pairs: Sequence[tuple[Facts, Facts]], seed: int) -> Table:
    beside = paper.comparable(runs)
    columns = [
        Column("component"),
        Column("pairs", "count"),
        Column("cropped, %", "percent", interval=True),
        Column("the same uncropped, %", "percent", interval=True),
        Column("difference, points", "points", interval=True),
        *[Column("difference, points", paper=True)] * beside,
    ]
    rows: list[list[Cell]] = []
    for name in LOOKED_AT:
        both = [
            (first, second)
            for one, other in pairs
            if (first := one.rewards.get(name)) is not None and (second := other.rewards.get(name)) is not None
        ]
        if not both:
            continue
        row: list[Cell] = [
            name,
            len(both),
            bootstrap([first for first, _ in both], seed),
            bootstrap([second for _, second in both], seed),
            bootstrap([first - second for first, second in both], seed),
        ]
        rows.append([*row, paper.CROPPING.get(name)] if beside else row)
    notes = ["Pairs: the same task and seed, the same downloaded pictures handed on, by one run cropped and by the other whole."]
    return Table("cropping", "With and without crop, the same references", columns, rows, [*notes, *paper.notes(runs)])


def _grouped_table(runs: Sequence[Run], seed: int) -> Table:
    columns = [
        Column("run"),
        Column("references"),
        Column("episodes", "count"),
        *(Column(f"{name}, %", "percent", interval=True) for name in LOOKED_AT),
    ]
    rows: list[list[Cell]] = []
    for run in runs:
        for cropped, title in ((True, "a crop among them"), (False, "none cropped")):
            some = [one for one in run.facts if one.cropped is cropped]
            rows.append([run.label, title, len(some), *(official(some, name, seed) for name in LOOKED_AT)])
    # Without a generation judge there is no identity, and no column for it.
    kept = [index for index, column in enumerate(columns) if not column.interval or any(row[index] is not None for row in rows)]
    notes = [
        "The groups hold different tasks: their difference is not what cropping does. For that, give as run2 the same run "
        "without cropping."
    ]
    return Table(
        "crop_groups",
        "Episodes with and without cropped references",
        [columns[i] for i in kept],
        [[row[i] for i in kept] for row in rows],
        notes,
    )
