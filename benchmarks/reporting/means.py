"""Means over tasks, with both denominators.

A task played with several seeds counts once, with the mean of its scored episodes: seeds of one task are no independent samples.
The official denominator leaves out what is unscored (Savanna, appendix D: judge errors); missing-as-zero counts it as 0, so that
a run cannot gain by failing. A component of an episode counts by itself: one that was scored stays in even if another one of the
same episode was not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from benchmarks.intervals import Interval, bootstrap
from benchmarks.reporting.facts import Facts

COMPONENTS = ("search", "generation", "identity", "context", "kscore", "sufficiency", "format", "cost")
"""The order components are told in; others follow by name."""

REWARD = "reward"
"""The combined number, told like a component."""


def ordered(components: Iterable[str]) -> list[str]:
    """Returns components in the order they are told in."""
    names = set(components)
    return [name for name in COMPONENTS if name in names] + sorted(names - set(COMPONENTS))


def value_of(facts: Facts, component: str) -> float | None:
    """Returns a component of an episode, or its reward; None if it is unscored."""
    return facts.reward if component == REWARD else facts.rewards.get(component)


def by_task(facts: Iterable[Facts], component: str, missing: float | None = None) -> dict[str, float]:
    """Returns the mean of a component by task.

    Args:
        facts: The episodes.
        component: Its name, or `REWARD`.
        missing: What an unscored episode counts as; None leaves it out.
    """
    values: dict[str, list[float]] = {}
    for one in facts:
        value = value_of(one, component)
        if value is None:
            value = missing
        if value is not None:
            values.setdefault(one.task_id, []).append(value)
    return {task_id: sum(some) / len(some) for task_id, some in sorted(values.items())}


def official(facts: Iterable[Facts], component: str, seed: int) -> Interval | None:
    """Returns the mean over scored tasks; None if there are none."""
    return bootstrap(list(by_task(facts, component).values()), seed)


def missing_as_zero(facts: Iterable[Facts], component: str, seed: int) -> Interval | None:
    """Returns the mean over all tasks; None if there are none."""
    return bootstrap(list(by_task(facts, component, 0.0).values()), seed)


def grouped(facts: Sequence[Facts], group: Callable[[Facts], str | None]) -> dict[str, list[Facts]]:
    """Returns the episodes by group, in alphabetical order; those of the group None are left out."""
    groups: dict[str, list[Facts]] = {}
    for one in facts:
        name = group(one)
        if name is not None:
            groups.setdefault(name, []).append(one)
    return dict(sorted(groups.items()))
