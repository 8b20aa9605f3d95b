"""KnowGen-Bench: the K-Score in two groups (Gen-Searcher, ``KnowGen_Eval/gpt_eval_knowgen.py`` at e5078d3).

A row is that of `benchmarks.metrics.kscore_rows` with a ``category``. Published numbers are 100 times these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.metrics.kscore_rows import (
    AXES,
    Row,
    Scored,
    component_means,
    official_records,
    read_json,
    strict_mean,
    strict_row,
)
from benchmarks.metrics.outcome import Figure, Outcome, StoppedError, check_unique
from wildenv.errors import DataError

GROUPS: dict[str, frozenset[str]] = {
    "science_and_knowledge": frozenset(
        "astronomy biology chemistry physics engineering medicine industry architecture history geography religion politics "
        "culture art sports".split()
    ),
    "pop_culture_and_news": frozenset(
        "anime game film celebrities posters multi-subject-anime multi-subject-celebrities multi-subject-game news".split()
    ),
}
OVERALL = "overall_avg"


@dataclass(frozen=True, slots=True)
class Official:
    """What the official program writes.

    Attributes:
        rows: The rows, in order.
        summary: The two groups and their average: the four axes, ``overall`` and ``count``.
    """

    rows: list[Scored]
    summary: dict[str, dict[str, float]]


def official(rows: Sequence[Row]) -> Official:
    """Aggregates as the official program does.

    Raises:
        StoppedError: If a category is neither text nor empty.
    """
    records = official_records(rows, lambda row: bool(row.get("ok")), read_json)
    grouped: dict[str, list[Scored]] = {name: [] for name in GROUPS}
    for record in records:
        if record.state == "scored":
            group = group_of(record.row.get("category"))
            if group is not None:
                grouped[group].append(record)
    summary = {name: component_means(found) for name, found in grouped.items()}
    science, pop = summary.values()
    average = {key: round((science[key] + pop[key]) / 2, 4) for key in (*AXES, "overall")}
    return Official(records, {**summary, OVERALL: {**average, "count": science["count"] + pop["count"]}})


def group_of(category: Any) -> str | None:
    """Returns the group of a category, None for an unknown one.

    Raises:
        StoppedError: If it is neither text nor empty.
    """
    if category and not isinstance(category, str):
        raise StoppedError("AttributeError", f"a category is {category!r}, not text")
    name = (category or "").strip().lower()
    return next((group for group, names in GROUPS.items() if name in names), None)


def score(rows: Sequence[Row]) -> Outcome:
    """Returns official and strict figures.

    Args:
        rows: One a task of the benchmark, whatever became of it.

    Raises:
        DataError: If ids are missing or there twice, or a category is unknown.
    """
    found = official(rows)
    check_unique([row.get("id") for row in rows], "row")
    grouped: dict[str, list[Row]] = {name: [] for name in GROUPS}
    for row in rows:
        group = group_of(row.get("category"))
        if group is None:
            raise DataError(f"row {row['id']!r}: category {row.get('category')!r} is in neither group")
        grouped[group].append(row)
    figures = [_figure(name, found.summary[name]["overall"], grouped[name]) for name in GROUPS]
    means = [one.strict for one in figures if one.strict is not None]
    whole = Figure(
        OVERALL,
        found.summary[OVERALL]["overall"],
        sum(means) / len(means) if len(means) == len(figures) else None,
        len(rows),
        sum(one.missing for one in figures),
        sum(one.unscored for one in figures),
    )
    notes = ("the official average takes a group without a scored row as zero; the strict one is then not given",)
    return Outcome("KnowGen-Bench (K-Score)", (whole, *figures), notes)


def _figure(name: str, number: float, rows: Sequence[Row]) -> Figure:
    read = [strict_row(row) for row in rows]
    missing, unscored = sum(one.missing for one in read), sum(one.axes is None for one in read)
    return Figure(name, number, strict_mean(read), len(rows), missing, unscored)
