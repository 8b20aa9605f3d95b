"""Scores printed in the paper, to be read beside ours and never as ours.

From Savanna (Image Generation in the Wild), table 1, table 2, figures 6 and 7, and from Gen-Searcher's ablation. They were had
with other webs, judges and generators than any run here; a score of the miniweb cannot be compared with them at all.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.reporting.run import Run
from benchmarks.savanna.tables import MINIWEB_NOTE

NOTE = (
    "Columns headed 'paper:' hold scores as printed in the paper: another web, another judge, other generators. They are not "
    "ours, and nothing was computed from them."
)

ALL = "All"
DOMAINS = ("Entertainment", "Sports", "Fashion", "Products", "Culture")

RANGER_SEARCH = dict(zip((*DOMAINS, ALL), (71.3, 66.7, 71.3, 61.7, 64.9, 67.2), strict=True))
RANGER_QWEN = dict(zip((*DOMAINS, ALL), (50.0, 39.6, 48.8, 45.3, 50.3, 46.8), strict=True))
RANGER_NANO = dict(zip((*DOMAINS, ALL), (58.6, 59.1, 65.5, 52.6, 58.7, 58.9), strict=True))
BEST_BASELINE_SEARCH = dict(zip((*DOMAINS, ALL), (55.9, 48.3, 39.4, 59.6, 54.4, 51.5), strict=True))
"""The baseline with the best search score over all domains, with GPT-6-Astra."""

_COMPONENTS = {
    "search": "Savanna: Ranger-8B 67.2; best baseline 51.5",
    "generation": "Savanna: Ranger-8B 46.8 (Qwen-Image-Edit-2511), 58.9 (Nano Banana Pro)",
}
KNOWGEN = "knowgen"
"""Name of the benchmark that the K-Scores below are of."""
_KSCORE = "KnowGen: Ranger-8B 27.75; Gen-Searcher's ablation 14.98 → 22.91 → 28.15 → 29.59 / 29.36 → 31.52"
TOP_KAPPA = "Ranger-8B 56.4; baselines 39.7, 40.4"
"""Search score in the most confusing group; the edges of the groups are not in the paper's text."""
RECALL = "Ranger-8B 71.7; direct queries 54.4 (Qwen3-VL-8B), 66.0 (GPT-5.1)"
CROPPING = {
    "identity": "+6.3 (Qwen-Image-Edit-2511), +3.8 (Nano Banana Pro)",
    "context": "+1.4 (Qwen-Image-Edit-2511), +1.3 (Nano Banana Pro)",
}


def comparable(runs: Sequence[Run]) -> bool:
    """Whether the tasks of runs may stand beside Savanna's: they are of its domains and of no other."""
    domains = {one.domain for run in runs for one in run.facts}
    return bool(domains) and domains <= set(DOMAINS)


def components(runs: Sequence[Run]) -> dict[str, str]:
    """Returns the paper's scores that may stand beside ours, by component; the K-Score only beside KnowGen's."""
    of_knowgen = all(run.benchmark == KNOWGEN for run in runs)
    return (_COMPONENTS if comparable(runs) else {}) | ({"kscore": _KSCORE} if of_knowgen else {})


def notes(runs: Sequence[Run], shown: bool | None = None) -> list[str]:
    """Returns what must stand under a table that shows the paper's scores; nothing if none are shown.

    Args:
        runs: The runs.
        shown: Whether it shows some; None if it does where the runs are `comparable`.
    """
    if not (comparable(runs) if shown is None else shown):
        return []
    return [NOTE, *([MINIWEB_NOTE] if any(run.miniweb for run in runs) else [])]
