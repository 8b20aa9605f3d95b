"""WISE, the legacy edition: WiScore, of three scores in 0..2 (``WISE_legacy/Calculate.py`` and ``gpt_eval.py``)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchmarks.metrics import wise
from benchmarks.metrics.outcome import Outcome
from benchmarks.metrics.wise import Category, Edition, Official, Row

SCORES = ("consistency", "realism", "aesthetic_quality")
WEIGHTS = (0.7, 0.2, 0.1)
TOP = 2

_LABEL = re.compile(r"(consistency|realism|aesthetic quality)\*{0,2}\s*:?\s*(\d)", re.IGNORECASE)
_BARE = re.compile(r"\s*([012])\s*")


def value(row: Row) -> float | None:
    """Returns the WiScore of a row, 0..1 on the scale of the judge; None if a score is no number."""
    scores = [row.get(name) for name in SCORES]
    if not all(isinstance(one, int | float) for one in scores):
        return None
    return sum(weight * float(one) for weight, one in zip(WEIGHTS, scores, strict=True) if one is not None) / TOP


def strict_value(row: Row) -> float | None:
    """Returns the WiScore of a row; None unless all three scores are whole numbers in 0..2."""
    whole = all(isinstance(row.get(name), int) and not isinstance(row[name], bool) and 0 <= row[name] <= TOP for name in SCORES)
    return value(row) if whole else None


EDITION = Edition(
    name="WISE legacy (WiScore)",
    categories={
        "CULTURE": Category(1, 400, 0.4),
        "TIME": Category(401, 567, 0.167),
        "SPACE": Category(568, 700, 0.133),
        "BIOLOGY": Category(701, 800, 0.1),
        "PHYSICS": Category(801, 900, 0.1),
        "CHEMISTRY": Category(901, 1000, 0.1),
    },
    parts={"culture": (1, 400), "space-time": (401, 700), "science": (701, 1000)},
    official=value,
    strict=strict_value,
)


def official(files: Sequence[Sequence[str]], option: str = "all") -> Official:
    """Aggregates result files as the official program does; see `benchmarks.metrics.wise.official`."""
    return wise.official(EDITION, files, option)


def score(rows: Sequence[Row]) -> Outcome:
    """Returns official and strict figures; see `benchmarks.metrics.wise.score`."""
    return wise.score(EDITION, rows)


def official_reply(reply: str) -> dict[str, float] | None:
    """Reads one reply as the official program does: labelled digits or, without any label, lines that are a bare 0, 1 or 2."""
    found = {name.lower().replace(" ", "_"): float(digit) for name, digit in _LABEL.findall(reply)}
    if found:
        return found if len(found) == len(SCORES) else None
    bare = [float(match.group(1)) for line in reply.splitlines() if (match := _BARE.fullmatch(line))]
    return dict(zip(SCORES, bare, strict=False)) if len(bare) >= len(SCORES) else None
