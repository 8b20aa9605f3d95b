"""What a batch of rollouts looks like, as numbers that are added up over ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from trainers.rl.trace import Trace
from wildenv.episode import INFRASTRUCTURE

FAILURES = sorted(INFRASTRUCTURE)


def tally(traces: Sequence[Trace]) -> Tensor:
    """Returns counts of one rank's rollouts; the counts of several ranks may be added."""
    episodes = [trace.session.episode for trace in traces]
    searches = [trace.searches() for trace in traces]
    answers = [len(episode.answer["prompt"]) for episode in episodes if episode.answer is not None]
    ends = [episode.end_reason for episode in episodes]
    counts = [
        len(traces),
        sum(trace.truncated for trace in traces),
        sum(trace.repeated for trace in traces),
        sum(asked for asked, _ in searches),
        sum(again for _, again in searches),
        len(answers),
        sum(answers),
        sum(len(trace.turns) for trace in traces),
        sum(sum(trace.drawn) for trace in traces),
        sum(len(trace) for trace in traces),
        sum(len(trace.pictures) for trace in traces),
        sum(int(episode.usage.get("unreadable", 0)) for episode in episodes),
        *(ends.count(reason) for reason in FAILURES),
    ]
    return torch.tensor(counts, dtype=torch.float64)


def measures(counts: Tensor) -> dict[str, float]:
    """Names the summed counts; a share of nothing is left out."""
    total, truncated, repeated, searches, again, answers, chars, *rest = counts.tolist()
    turns, drawn, tokens, pictures, unreadable, *failed = rest
    named = {
        "rollouts/truncated": truncated / total,
        "rollouts/repeated": repeated / total,
        "rollouts/answered": answers / total,
        "rollouts/turns": turns / total,
        "rollouts/pictures": pictures / total,
        "rollouts/unreadable": unreadable / max(1.0, turns),
        "tokens/drawn": drawn / total,
        "tokens/chat": tokens / total,
    }
    if searches:
        named["searches/repeated"] = again / searches
    if answers:
        named["answer/chars"] = chars / answers
    return named | {f"rollouts/failed_{reason}": count / total for reason, count in zip(FAILURES, failed, strict=True) if count}


def lengths(values: Sequence[int], gather: Callable[[Tensor], Tensor], device: torch.device) -> tuple[float, float, float]:
    """Returns mean, least and most over all ranks."""
    every = gather(torch.tensor(values, device=device)).float()
    return every.mean().item(), every.min().item(), every.max().item()
