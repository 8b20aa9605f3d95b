"""The scores of an evaluation in W&B, if a run of it is active: a summary to sort runs by, and the intervals as a table.

Means go to the summary, so that runs of one benchmark can be compared there; a score on the miniweb is marked as one.
"""

from __future__ import annotations

from agents.track import log_summary, log_table
from benchmarks.intervals import Interval
from benchmarks.savanna.scores import Scores

COLUMNS = ("of", "what", "mean", "low", "high", "n")


def track_scores(scores: Scores, miniweb: bool) -> None:
    """Hands scores over.

    Args:
        scores: What was scored.
        miniweb: Whether tasks or web are the miniweb's.
    """
    rows: list[tuple[str, str, Interval]] = [] if scores.search is None else [("search", "all", scores.search)]
    rows += [("component", name, found) for name, found in scores.components.items() if found is not None]
    rows += [("domain", name, found) for name, found in scores.by_domain.items()]
    rows += [("κ", name, found) for name, found in scores.by_kappa.items()]
    log_table("scores", COLUMNS, [(of, what, one.mean, one.low, one.high, one.n) for of, what, one in rows])
    log_summary(
        {
            "miniweb": miniweb,
            "episodes": scores.episodes,
            "search": None if scores.search is None else scores.search.mean,
            **{f"component/{name}": None if found is None else found.mean for name, found in scores.components.items()},
            **{f"unscored/{reason}": count for reason, count in scores.unscored.items()},
            **{f"failure/{kind}": count for kind, count in scores.failures.items()},
            "clean": scores.clean,
            "answered": scores.answered,
            "readable": scores.readable,
            "calls": scores.calls,
        }
    )
