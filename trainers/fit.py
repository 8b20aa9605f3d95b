"""Fits trajectories to the context length by whole turns, before training starts.

A trajectory that is too long is cut behind the last assistant turn that fits, with all that follows; if too few trained turns are
left it is dropped. Tokens are never cut. What was cut and dropped is counted and named, and too many drops stop the run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from accelerate.utils import gather_object
from tqdm import tqdm

from agents.encode import TrajectoryEncoder
from trainers.data import Row, Rows
from wildenv.errors import ConfigError
from wildenv.images import ImageStore


@dataclass(frozen=True, slots=True)
class Fitted:
    """How a row goes into training.

    Attributes:
        row: Index of the row in its source.
        id: Its id.
        kept: Messages kept, counted from the start; 0 if the row is dropped.
        messages: Messages it has.
        tokens: Tokens of what is kept, or of the whole row if it is dropped.
        reason: Why it was cut or dropped; empty if it was taken whole.
    """

    row: int
    id: str
    kept: int
    messages: int
    tokens: int
    reason: str = ""


def fit_row(
    index: int, row: Row, images: ImageStore, encoder: TrajectoryEncoder, max_length: int, min_turns: int, turns: str = "all"
) -> Fitted:
    """Finds how much of a row fits.

    Args:
        index: Index of the row in its source.
        row: The row.
        images: Its pictures.
        encoder: Counts the tokens.
        max_length: Tokens that fit.
        min_turns: A cut row with fewer assistant turns is dropped.
        turns: Which assistant turns are trained; if only the ``last`` is, a row that does not fit whole is dropped.

    Returns:
        The verdict; nothing is raised for a row that does not fit.
    """
    total = len(row.messages)
    ends = [number for number, message in enumerate(row.messages, 1) if message["role"] == "assistant"]
    last = ends[-1]
    tokens = len(encoder.encode(row.messages[:last], row.tools, images))
    if tokens <= max_length:
        return Fitted(index, row.id, last, total, tokens)
    if turns == "last":
        return Fitted(index, row.id, 0, total, tokens, f"dropped: {tokens} tokens, and its last turn does not fit")
    for kept in range(len(ends) - 1, max(1, min_turns) - 1, -1):
        short = len(encoder.encode(row.messages[: ends[kept - 1]], row.tools, images))
        if short <= max_length:
            reason = f"cut from {tokens} tokens and {len(ends)} turns to {kept} turns"
            return Fitted(index, row.id, ends[kept - 1], total, short, reason)
    reason = f"dropped: {tokens} tokens, and fewer than {min_turns} turns fit"
    return Fitted(index, row.id, 0, total, tokens, reason)


def fit_rows(
    rows: Rows, indices: Sequence[int], encoder: TrajectoryEncoder, settings: Mapping[str, Any], name: str, rank: int, ranks: int
) -> list[Fitted]:
    """Fits many rows; each rank takes its share and all ranks get the whole answer.

    Args:
        rows: Where rows are read from.
        indices: The rows to fit.
        encoder: Counts the tokens.
        settings: ``max_length``, ``min_turns``, ``assistant_turns``, and ``max_dropped``, the share of rows that may be dropped.
        name: For the progress bar and messages.
        rank: This process.
        ranks: All processes.

    Returns:
        One verdict a row, dropped ones included, in the order of `indices`.

    Raises:
        ConfigError: If the share of dropped rows is above ``max_dropped``.
    """
    limits = settings["max_length"], settings["min_turns"], settings["assistant_turns"]
    mine = [
        fit_row(i, rows[i], rows.images, encoder, *limits)
        for i in tqdm(indices[rank::ranks], desc=f"fitting {name} rows", unit="row", disable=rank > 0)
    ]
    place = {row: at for at, row in enumerate(indices)}
    fitted = sorted(gather_object(mine) if ranks > 1 else mine, key=lambda verdict: place[verdict.row])
    dropped = [verdict for verdict in fitted if not verdict.kept]
    share = len(dropped) / max(1, len(fitted))
    if share > settings["max_dropped"]:
        raise ConfigError(
            f"{len(dropped)} of {len(fitted)} {name} rows do not fit into trainer.max_length={settings['max_length']}, more than "
            f"trainer.max_dropped={settings['max_dropped']:g} allows; the first is {dropped[0].id} ({dropped[0].reason}). Raise "
            "one of the two, or lower trainer.min_turns"
        )
    return fitted


def write_report(path: Path, fitted: Mapping[str, Sequence[Fitted]]) -> dict[str, dict[str, int]]:
    """Writes what was cut and dropped, row by row, and returns the counts."""
    counts = {
        name: {
            "rows": len(verdicts),
            "whole": sum(not v.reason for v in verdicts),
            "cut": sum(bool(v.reason and v.kept) for v in verdicts),
            "dropped": sum(not v.kept for v in verdicts),
            "longest": max((v.tokens for v in verdicts if v.kept), default=0),
        }
        for name, verdicts in fitted.items()
    }
    touched = {name: [asdict(v) for v in verdicts if v.reason] for name, verdicts in fitted.items()}
    path.write_text(json.dumps({"counts": counts, "touched": touched}, indent=1), encoding="utf-8")
    return counts
