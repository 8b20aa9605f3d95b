"""Scores of a set of episodes: the search score by domain and by retrieval confusion, and why the rest failed.

Failed and missing references count as failures; episodes that a judge or the infrastructure left unscored leave the
denominator and are counted apart (Savanna, appendix D).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.intervals import Interval, bootstrap
from benchmarks.kscore import COMPONENT as KSCORE
from benchmarks.kscore import axes_of, kscore
from wildenv.episode import Episode
from wildenv.rewards.search import COMPONENT

KAPPA_EDGES = (0.0, 0.5, 0.75, 1.0)
"""Lower ends of the κ buckets; the last holds κ = 1 alone. The paper's own edges (figure 6) are not in its text."""

FAILURES = (
    "wrong version",
    "older version",
    "namesake",
    "rumour",
    "unrelated",
    "too small",
    "misleading set",
    "judged wrong",
    "no references",
    "no answer: calls used up",
    "no answer: turns used up",
    "no answer: context used up",
)
"""Kinds of failure that are the agent's, most specific first."""

_BY_ROLE = {"sibling": "wrong version", "older": "older version", "namesake": "namesake", "rumour": "rumour"}
_BY_END = {"budget": "no answer: calls used up", "turns": "no answer: turns used up", "context": "no answer: context used up"}


@dataclass(frozen=True, slots=True)
class Scores:
    """What a set of episodes scored.

    Attributes:
        episodes: How many there are.
        search: The search score; None if nothing was scored.
        components: Mean of every component of the reward and of its parts, by name; each over the episodes that have it scored;
            the K-Score as `benchmarks.kscore.kscore` has it.
        by_domain: By domain, alphabetically.
        by_kappa: By κ bucket; empty if κ is not known.
        unscored: How many episodes have no valid reward, by end reason.
        failures: How many failed, by kind, in the order of `FAILURES`.
        clean: Share of the references that show the target and nothing else; None if the judge does not say.
        answered: Share of the episodes that were answered.
        readable: Share of the assistant turns that could be read as a call.
        calls: Mean number of tool calls.
        passed: Search score by task id, scored episodes only.
    """

    episodes: int
    search: Interval | None
    components: dict[str, Interval | None]
    by_domain: dict[str, Interval]
    by_kappa: dict[str, Interval]
    unscored: dict[str, int]
    failures: dict[str, int]
    clean: float | None
    answered: float
    readable: float
    calls: float
    passed: dict[str, float]


def score(episodes: Sequence[Episode], kappa: Callable[[str], float] | None = None) -> Scores:
    """Scores episodes, one a task.

    Args:
        episodes: The last record of each task.
        kappa: Retrieval confusion of a task id, in 0..1; None leaves the buckets out.

    Raises:
        ValueError: If there are no episodes.
    """
    if not episodes:
        raise ValueError("there are no episodes to score")
    # A component counts by itself: the search score stands where another component has no verdict.
    scored = {e.task_id: (e, value) for e in episodes if (value := e.rewards.get(COMPONENT)) is not None}
    names = sorted({name for e in episodes for name in e.rewards})
    values = {task_id: value for task_id, (_, value) in scored.items()}
    domains = _grouped(((e.task["domain"], value) for e, value in scored.values()), sorted)
    buckets: dict[str, list[float]] = {}
    if kappa is not None:
        order = [bucket_name(index) for index in range(len(KAPPA_EDGES))]
        pairs = ((bucket_of(kappa(task_id)), value) for task_id, value in values.items())
        buckets = _grouped(pairs, lambda keys: [name for name in order if name in keys])

    def lacking(episode: Episode) -> bool:
        # A reward may have no search component at all.
        return COMPONENT in names or not names or not episode.reward_valid

    components = {name: bootstrap([v for e in episodes if (v := e.rewards.get(name)) is not None]) for name in names}
    graded = [axes_of(e) for e in episodes if e.rewards.get(KSCORE) is not None]
    whole = kscore([[axes] for axes in graded if axes is not None])
    # Not the mean over the pictures, if the grades are known: see `benchmarks.kscore`.
    if whole is not None and whole.value.n == len(graded):
        components[KSCORE] = whole.value
    turns = sum(e.usage.get("turns", 0) for e in episodes)
    unread = sum(step["name"] == "" for e in episodes for step in e.steps)
    kinds = Counter(kind_of_failure(e) for e, value in scored.values() if value < 1)
    return Scores(
        episodes=len(episodes),
        search=bootstrap(list(values.values())),
        components=components,
        by_domain=_intervals(domains),
        by_kappa=_intervals(buckets),
        unscored=dict(sorted(Counter(e.end_reason for e in episodes if e.task_id not in scored and lacking(e)).items())),
        failures={kind: kinds[kind] for kind in FAILURES if kinds[kind]},
        clean=_clean(episodes),
        answered=sum(e.answer is not None for e in episodes) / len(episodes),
        readable=1 - unread / turns if turns else 0.0,
        calls=sum(e.usage.get("tool_calls", 0) for e in episodes) / len(episodes),
        passed=dict(sorted(values.items())),
    )


def kind_of_failure(episode: Episode) -> str:
    """Names why a scored episode did not pass, from the record alone; one of `FAILURES`."""
    if episode.answer is None:
        return _BY_END[episode.end_reason]
    if not episode.answer["references"]:
        return "no references"
    rows = _evidence(episode)
    if not rows:
        return "judged wrong"
    if any(row["legible"] for row in rows):
        return "misleading set"
    if any(row["target"] for row in rows):
        return "too small"
    roles = Counter(_BY_ROLE[thing["role"]] for row in rows for thing in row["shown"] if thing["role"] in _BY_ROLE)
    return next((kind for kind in FAILURES if roles[kind]), "unrelated")


def bucket_of(kappa: float) -> str:
    """Names the bucket of a κ."""
    return bucket_name(max(index for index, edge in enumerate(KAPPA_EDGES) if kappa >= edge))


def bucket_name(index: int) -> str:
    """Names a bucket by its ends."""
    if index == len(KAPPA_EDGES) - 1:
        return f"κ = {KAPPA_EDGES[index]:g}"
    return f"{KAPPA_EDGES[index]:g} ≤ κ < {KAPPA_EDGES[index + 1]:g}"


def _evidence(episode: Episode) -> list[Mapping[str, Any]]:
    return [row for verdict in episode.verdicts for row in verdict["evidence"].get("references", []) if "only_target" in row]


def _clean(episodes: Iterable[Episode]) -> float | None:
    flags = [row["only_target"] for episode in episodes for row in _evidence(episode)]
    return sum(flags) / len(flags) if flags else None


def _grouped(pairs: Iterable[tuple[str, float]], order: Callable[[Iterable[str]], list[str]]) -> dict[str, list[float]]:
    groups: dict[str, list[float]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return {key: groups[key] for key in order(groups)}


def _intervals(groups: Mapping[str, list[float]]) -> dict[str, Interval]:
    return {key: interval for key, values in groups.items() if (interval := bootstrap(values)) is not None}
