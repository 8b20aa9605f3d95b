"""The cutoff study as a table, for a terminal, as Markdown and as CSV; the paper's figures stand in a column of their own."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from rich.table import Table

from benchmarks.savanna.tables import MINIWEB_NOTE
from benchmarks.studies.hit_rate import COMPARED, CONDITIONS, HitRates

PAPER = "paper's Hit@8, % (table 7; not ours)"
_COUNTS = slice(3, 5)
"""Columns of counts in `rows`."""


def headings(rates: HitRates) -> tuple[str, ...]:
    """Returns the headings of `rows`."""
    return ("condition", "asked", "cutoff", "targets", "repetitions", f"Hit@{rates.k}, % [95 % interval]", PAPER)


def rows(rates: HitRates, seed: int) -> list[tuple[str, ...]]:
    """Returns one line a condition, then one a difference over the same targets."""
    by_name = {condition.name: condition for condition in CONDITIONS}
    lines: list[tuple[str, ...]] = []
    for one in CONDITIONS:
        found = rates.interval(one.name, seed)
        title = f"{one.name}: {one.title}"
        counts = (str(found.n), str(rates.repetitions(one.name)))
        lines.append((title, one.asked, one.hidden, *counts, found.percent(), f"{one.paper:.1f}"))
    for first, second in COMPARED:
        gap = rates.difference(first, second, seed)
        said = f"{100 * gap.mean:+.1f} [{100 * gap.low:+.1f}, {100 * gap.high:+.1f}]"
        theirs = f"{by_name[first].paper - by_name[second].paper:+.1f}"
        lines.append((f"{first} − {second}", "", "", str(gap.n), "", said, theirs))
    return lines


def notes(miniweb: bool, undated: str) -> list[str]:
    """Returns what a reader must know before comparing."""
    said = [f"Intervals: bootstrap over targets. Undated results: {undated}."]
    if miniweb:
        said.append("Simulated web: a repetition gives the same results, since nothing in the miniweb is left to chance.")
        said.append("Its dates are true where they are given, so that D can differ from B only by what carries no date.")
        said.append(MINIWEB_NOTE)
    return said


def terminal_table(rates: HitRates, seed: int, title: str) -> Table:
    """Returns the table for a terminal, without the columns of counts."""
    lines = rows(rates, seed)
    table = Table(title=f"{title}: {lines[0][_COUNTS.start]} targets, {lines[0][_COUNTS.start + 1]} repetitions")
    names = (*headings(rates)[: _COUNTS.start], f"Hit@{rates.k}, %\n[95 % interval]", "paper's, %\n(not ours)")
    for number, name in enumerate(names):
        table.add_column(name, justify="left" if number < _COUNTS.start else "right", no_wrap=True)
    for number, line in enumerate(lines, 1):
        table.add_row(*line[: _COUNTS.start], *line[_COUNTS.stop :], end_section=number == len(CONDITIONS))
    return table


def markdown(rates: HitRates, seed: int, title: str, said: Sequence[str]) -> str:
    """Returns the table as Markdown, notes below it."""
    lines = [headings(rates), tuple("---" for _ in headings(rates)), *rows(rates, seed)]
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"# {title}\n\n{body}\n\n" + "\n".join(f"{note}\n" for note in said)


def csv_text(heads: Sequence[str], lines: Sequence[Sequence[object]]) -> str:
    """Returns lines as CSV."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows(lines)
    return buffer.getvalue()
