"""A table of the report, and its forms: Markdown, CSV, and text cells for the page.

Numbers are written with fixed decimals, so that equal results give equal bytes. A CSV file holds the ends of an interval in
columns of their own.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.intervals import Interval
from benchmarks.spreadsheet import guarded

Cell = str | int | float | Interval | None
Kind = Literal["text", "count", "percent", "points", "number", "cost", "p"]
"""``percent`` and ``points`` are shares times 100; ``points`` is a difference and has a sign."""

_ENDS = ("low", "high", "n")


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        name: Its heading, with the unit.
        kind: How its cells are written.
        paper: Whether it holds the paper's scores instead of ours.
        interval: Whether its cells are intervals.
    """

    name: str
    kind: Kind = "text"
    paper: bool = False
    interval: bool = False

    @property
    def heading(self) -> str:
        """What stands above it; the paper's scores are marked."""
        return f"paper: {self.name}" if self.paper else self.name


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        name: Of its file, without ending.
        title: Above it.
        columns: The columns.
        rows: One cell for each column; None is left empty, because there is nothing to say.
        notes: Below it: what counts, what does not, what it must not be taken for.
    """

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"table {self.name}: a row of {len(row)} cells under {len(self.columns)} columns")

    def cells(self) -> list[list[str]]:
        """Returns the rows as text."""
        return [[_written(cell, column.kind) for cell, column in zip(row, self.columns, strict=True)] for row in self.rows]

    def markdown(self) -> str:
        """Returns the table as Markdown, with its title and notes."""
        lines = [f"## {self.title}", "", _line(column.heading for column in self.columns)]
        lines.append(_line("---" if column.kind == "text" else "---:" for column in self.columns))
        lines.extend(_line(row) for row in self.cells())
        for note in self.notes:
            lines.extend(("", f"*{_inert(note)}*"))
        return "\n".join(lines) + "\n"

    def csv(self) -> str:
        """Returns the table as CSV."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        heads: list[str] = []
        for column in self.columns:
            heads.append(column.heading)
            if column.interval:
                heads.extend(f"{column.heading} {end}" for end in _ENDS)
        writer.writerow(heads)
        for row in self.rows:
            cells: list[str] = []
            for cell, column in zip(row, self.columns, strict=True):
                cells.extend(_plain(cell, column))
            writer.writerow(cells)
        return out.getvalue()

    def page(self) -> dict[str, Any]:
        """Returns JSON values for the page."""
        return {
            "name": self.name,
            "title": self.title,
            "columns": [{"name": c.heading, "paper": c.paper, "number": c.kind != "text"} for c in self.columns],
            "rows": self.cells(),
            "notes": list(self.notes),
        }


def _written(cell: Cell, kind: Kind) -> str:
    if cell is None:
        return ""
    if isinstance(cell, Interval):
        form = _FORMS[kind]
        return f"{form(cell.mean)} [{form(cell.low)}, {form(cell.high)}]"
    if isinstance(cell, str):
        return cell
    return _FORMS[kind](cell)


def _plain(cell: Cell, column: Column) -> list[str]:
    form = _FORMS[column.kind]
    if isinstance(cell, Interval):
        return [form(cell.mean), form(cell.low), form(cell.high), str(cell.n)]
    written = "" if cell is None else guarded(cell) if isinstance(cell, str) else form(cell)
    return [written, *([""] * len(_ENDS) if column.interval else [])]


def _signed(value: float) -> str:
    written = f"{100 * value:+.1f}"
    return "0.0" if written in ("+0.0", "-0.0") else written


_FORMS: dict[Kind, Callable[[Any], str]] = {
    "text": str,
    "count": lambda value: f"{value:.0f}",
    "percent": lambda value: f"{100 * value:.1f}",
    "points": _signed,
    "number": lambda value: f"{value:.2f}",
    "cost": lambda value: f"{value:.4f}",
    "p": lambda value: f"{value:.4f}" if value >= 0.0001 else "< 0.0001",
}


def _line(cells: Any) -> str:
    return f"| {' | '.join(_inert(cell) for cell in cells)} |"


def _inert(text: str) -> str:
    """Returns text that Markdown shows as it is and loads nothing for: error messages quote what strangers wrote."""
    flat = " ".join(text.split())
    for mark, written in (("\\", "\\\\"), ("|", "\\|"), ("`", "\\`"), ("](", "]\\("), ("<", "&lt;"), (">", "&gt;")):
        flat = flat.replace(mark, written)
    return flat
