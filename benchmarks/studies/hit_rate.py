"""Hit@k of one fixed image query a target, under several conditions of time and cutoff (Savanna, appendix E).

A target counts as hit if at least one of the first k results shows it. What shows it is for a `Shows` to say: labels of people,
or the provenance of a generated world. Whether a search was really made when it is said to have been is not checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from tqdm import tqdm

from benchmarks.intervals import Interval, bootstrap, paired
from wildenv.web.client import WebClient
from wildenv.web.results import ImageHit

K = 8


@dataclass(frozen=True, slots=True)
class Condition:
    """When the web is asked, and what is hidden.

    Attributes:
        name: Its letter.
        title: What it is called.
        days: Days after the issue day on which the web is asked.
        cutoff_days: Days after the issue day that may be seen; None hides nothing.
        paper: Hit@8 in table 7 of the paper, in percent; not ours.
    """

    name: str
    title: str
    days: int
    cutoff_days: int | None
    paper: float

    def cutoff(self, issued: date) -> date | None:
        """Returns the last visible day for a target issued on a day."""
        return None if self.cutoff_days is None else issued + timedelta(days=self.cutoff_days)

    @property
    def asked(self) -> str:
        """When the web is asked, in words."""
        return "within 24 h" if self.days == 0 else f"τ+{self.days}"

    @property
    def hidden(self) -> str:
        """The cutoff, in words."""
        return "none" if self.cutoff_days is None else f"τ+{self.cutoff_days}"


CONDITIONS = (
    Condition("A", "initial release", 0, None, 68.0),
    Condition("B", "day 3", 3, None, 76.0),
    Condition("C", "day 7", 7, None, 80.0),
    Condition("D", "with a cutoff", 7, 3, 78.0),
)
COMPARED = (("B", "A"), ("C", "B"), ("D", "B"), ("D", "C"))
"""Differences that are reported; ``D - B`` is the one the cutoff rests on."""


@dataclass(frozen=True, slots=True)
class Query:
    """A target and the words it is looked for with, fixed when it was enrolled.

    Attributes:
        task_id: Of the target.
        text: The words.
        issued: Its release day τ.
    """

    task_id: str
    text: str
    issued: date


Web = Callable[[Condition, Query, int], WebClient]
"""Returns the web to ask for a target under a condition, by the number of the repetition from 0."""

Shows = Callable[[Query, ImageHit, WebClient], bool]
"""Says whether a result shows the target."""


@dataclass(frozen=True, slots=True)
class HitRates:
    """What was found.

    Attributes:
        k: How many results were looked at.
        hits: By condition and task id: one entry a repetition, whether the target was hit.
    """

    k: int
    hits: dict[str, dict[str, tuple[bool, ...]]]

    def values(self, condition: str) -> dict[str, float]:
        """Returns the share of repetitions with a hit by task id."""
        return {task_id: sum(found) / len(found) for task_id, found in self.hits[condition].items()}

    def interval(self, condition: str, seed: int) -> Interval:
        """Returns Hit@k of a condition with its interval over targets."""
        found = bootstrap(list(self.values(condition).values()), seed)
        assert found is not None
        return found

    def difference(self, first: str, second: str, seed: int) -> Interval:
        """Returns the mean difference of two conditions over the same targets, with its interval."""
        found = paired(self.values(first), self.values(second), seed)
        assert found is not None
        return found

    def repetitions(self, condition: str) -> int:
        """How often each target was asked for under a condition."""
        return len(next(iter(self.hits[condition].values())))

    def rows(self) -> list[dict[str, Any]]:
        """Returns one row a condition, target and repetition."""
        return [
            {"condition": condition, "task_id": task_id, "repetition": number, "hit": int(hit)}
            for condition, targets in self.hits.items()
            for task_id, found in targets.items()
            for number, hit in enumerate(found, 1)
        ]


def hit_rates(queries: Sequence[Query], web: Web, shows: Shows, repetitions: Callable[[Condition], int], k: int = K) -> HitRates:
    """Asks for every target under every condition.

    Args:
        queries: The targets, at least one.
        web: Whom to ask.
        shows: What shows a target.
        repetitions: How often to ask under a condition.
        k: Results to look at.
    """
    hits: dict[str, dict[str, tuple[bool, ...]]] = {}
    with tqdm(desc="cutoff study", total=len(CONDITIONS) * len(queries), unit="target", disable=None) as bar:
        for condition in CONDITIONS:
            found = hits.setdefault(condition.name, {})
            for query in queries:
                tries = range(repetitions(condition))
                found[query.task_id] = tuple(_hit(query, condition, web(condition, query, number), shows, k) for number in tries)
                bar.update()
    return HitRates(k, hits)


def _hit(query: Query, condition: Condition, client: WebClient, shows: Shows, k: int) -> bool:
    results = client.image_search(query.text, k, condition.cutoff(query.issued)).results
    return any(shows(query, hit, client) for hit in results)
