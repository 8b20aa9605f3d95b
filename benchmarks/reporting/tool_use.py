"""How tools were used: calls, errors, repeated calls, and what the date cutoff removed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from benchmarks.reporting.run import Run
from benchmarks.reporting.table import Cell, Column, Table

_LISTED = 8
_CHARS = 160


def tool_table(runs: Sequence[Run]) -> Table:
    """Returns calls and errors by tool."""
    columns = [
        Column("run"),
        Column("tool"),
        Column("calls", "count"),
        Column("calls an episode", "number"),
        Column("errors", "count"),
        Column("errors, % of calls", "percent"),
    ]
    rows: list[list[Cell]] = []
    for run in runs:
        calls, errors = Counter[str](), Counter[str]()
        for one in run.facts:
            calls.update(one.calls)
            errors.update(one.errors)
        for tool, count in [*sorted(calls.items()), ("all", calls.total())]:
            wrong = errors.total() if tool == "all" else errors[tool]
            rows.append([run.label, tool, count, count / len(run.facts), wrong, wrong / count if count else None])
    repeated = ", ".join(f"{run.label} {sum(one.repeated for one in run.facts)}" for run in runs)
    notes = [
        f"Calls repeated word for word within an episode: {repeated}. The answer itself is not counted unless it was refused."
    ]
    return Table("tools", "Tool use", columns, rows, notes)


def error_table(runs: Sequence[Run]) -> Table | None:
    """Returns the most frequent errors; None if there are none."""
    rows: list[list[Cell]] = []
    for run in runs:
        found = Counter[tuple[str, str]]()
        for one in run.facts:
            found.update(one.messages)
        often = sorted(found.items(), key=lambda item: (-item[1], item[0]))[:_LISTED]
        rows.extend([run.label, tool, text if len(text) <= _CHARS else f"{text[:_CHARS]} …", n] for (tool, text), n in often)
    columns = [Column("run"), Column("tool"), Column("error"), Column("times", "count")]
    return Table("errors", "Most frequent errors", columns, rows) if rows else None


def cutoff_table(runs: Sequence[Run]) -> Table:
    """Returns what the date cutoff decided."""
    columns = [
        Column("run"),
        Column("results", "count"),
        Column("removed", "count"),
        Column("removed, %", "percent"),
        Column("undated and kept", "count"),
        Column("episodes with a removal", "count"),
    ]
    rows: list[list[Cell]] = []
    for run in runs:
        decided = sum(one.decided for one in run.facts)
        removed = sum(one.removed for one in run.facts)
        undated = sum(one.undated for one in run.facts)
        some = sum(one.removed > 0 for one in run.facts)
        rows.append([run.label, decided, removed, removed / decided if decided else None, undated, some])
    return Table("cutoff", "Date cutoff", columns, rows, ["Removed: dated after the cutoff, or undated where env.undated=drop."])
