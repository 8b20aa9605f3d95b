"""Wall time of tool calls. The one part of a report that no replay repeats: it is made only if ``timings=true`` asks for it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.reporting.run import Run
from benchmarks.reporting.table import Cell, Column, Table


def timing_table(runs: Sequence[Run]) -> Table:
    """Returns the seconds that tool calls took, by tool, and by episode."""
    columns = [
        Column("run"),
        Column("tool"),
        Column("calls", "count"),
        Column("median, ms", "number"),
        Column("95th percentile, ms", "number"),
        Column("sum, s", "number"),
    ]
    rows: list[list[Cell]] = []
    for run in runs:
        by_tool: dict[str, list[float]] = {}
        for one in run.facts:
            for name, seconds in one.seconds:
                by_tool.setdefault(name, []).append(seconds)
        whole = [sum(seconds for _, seconds in one.seconds) for one in run.facts]
        for name, values in [*sorted(by_tool.items()), ("(all calls of an episode)", whole)]:
            median, late = np.percentile(values, [50, 95])
            rows.append([run.label, name, len(values), 1000 * float(median), 1000 * float(late), sum(values)])
    notes = ["Time in tools only, on the machine that rolled; that of judges, generators and the agent's model is not recorded."]
    return Table("timings", "Wall time of tool calls", columns, rows, notes)
