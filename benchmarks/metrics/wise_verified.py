"""WISE Verified: one binary score an image (``calculate_verified.py`` and ``vllm_eval.py``)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchmarks.metrics import wise
from benchmarks.metrics.outcome import Outcome
from benchmarks.metrics.wise import Category, Edition, Official, Row

_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)
_LABEL = re.compile(r"score\*{0,2}\s*:?\s*([01])\b", re.IGNORECASE)
_BARE = re.compile(r"\s*([01])\s*")


def value(row: Row) -> float | None:
    """Returns the score of a row; None unless it is a number equal to 0 or 1."""
    found = row.get("score")
    return float(found) if isinstance(found, int | float) and found in (0, 1) else None


def strict_value(row: Row) -> float | None:
    """Returns the score of a row; None unless it is the whole number 0 or 1."""
    found = row.get("score")
    return float(found) if isinstance(found, int) and not isinstance(found, bool) and found in (0, 1) else None


EDITION = Edition(
    name="WISE Verified",
    categories={
        "CULTURE": Category(1, 400, 0.4),
        "TIME": Category(401, 520, 0.12),
        "SPACE": Category(521, 640, 0.12),
        "BIOLOGY": Category(641, 760, 0.12),
        "PHYSICS": Category(761, 880, 0.12),
        "CHEMISTRY": Category(881, 1000, 0.12),
    },
    parts={"culture": (1, 400), "space-time": (401, 640), "science": (641, 1000)},
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
    """Reads one reply as the official program does: the first labelled digit, else the only line that is a bare 0 or 1."""
    said = _THOUGHT.sub("", reply)
    labelled = _LABEL.search(said)
    if labelled is not None:
        return {"score": float(labelled.group(1))}
    bare = [match.group(1) for line in said.splitlines() if (match := _BARE.fullmatch(line))]
    return {"score": float(bare[0])} if len(bare) == 1 else None
