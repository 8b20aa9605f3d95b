"""What the command prints: plain lines and aligned tables on standard output, JSON where it is asked for."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

MORE = "..."


def say(text: str = "") -> None:
    """Prints a line; what the terminal cannot show is replaced."""
    stream = sys.stdout
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, "replace").decode(encoding) + "\n")


def say_json(value: Any) -> None:
    """Prints a value as indented JSON."""
    say(json.dumps(value, indent=1, ensure_ascii=True, default=str))


def say_table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Prints rows under headings, columns of numbers to the right; prints nothing if there is no row."""
    if not rows:
        return
    cells = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows]
    right = [all(isinstance(row[column], int) for row in rows) for column in range(len(headings))]
    widths = [max(len(row[column]) for row in (headings, *cells)) for column in range(len(headings))]
    for row in (headings, *cells):
        aligned = [
            cell.rjust(width) if to_right else cell.ljust(width) for cell, width, to_right in zip(row, widths, right, strict=True)
        ]
        say("  ".join(aligned).rstrip())


def shortened(text: str, width: int) -> str:
    """Returns a text on one line, cut to a width."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - len(MORE)] + MORE


def size(count: int) -> str:
    """Returns a number of bytes for people."""
    if count < 1_000:
        return f"{count} B"
    value, unit = count / 1_000, "kB"
    for larger in ("MB", "GB", "TB"):
        if value >= 999.5:
            value, unit = value / 1_000, larger
    return f"{value:.3g} {unit}"


def counted(number: int, noun: str, plural: str = "") -> str:
    """Returns ``1 gap``, ``1,234 gaps``, ``2 entries``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
