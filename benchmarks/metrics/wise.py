"""WISE's two editions: what their aggregation programs share (commit eb51174).

The same id is another category in each edition, so an `Edition` is named with every number. Rows are lines of result files: JSON
objects with ``prompt_id`` and the edition's scores.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.metrics.outcome import Figure, Outcome, Tally, check_unique, weighted
from wildenv.errors import DataError

Row = Mapping[str, Any]
State = Literal["overall", "categories_only", "no_overall_empty_category", "stopped_ids_absent", "no_file_usable"]

TRIES = 3
"""How often the judge is asked before an image is left out."""


@dataclass(frozen=True, slots=True)
class Category:
    """A category: its ids, first and last, and its weight in the overall value."""

    first: int
    last: int
    weight: float

    def __contains__(self, number: int) -> bool:
        return self.first <= number <= self.last


@dataclass(frozen=True, slots=True)
class Edition:
    """What the editions differ in.

    Attributes:
        name: Goes with every number.
        categories: By name, in order.
        parts: Names of the option for a part of the ids, and the ids.
        official: The official value of a row, None if it leaves the row out.
        strict: Our value of a row, None for unscored.
    """

    name: str
    categories: Mapping[str, Category]
    parts: Mapping[str, tuple[int, int]]
    official: Callable[[Row], float | None]
    strict: Callable[[Row], float | None]


@dataclass(frozen=True, slots=True)
class Official:
    """What an official program reports.

    Attributes:
        state: How it ends.
        absent: Ids without a row, where it looks for them and finds some.
        categories: Mean and number of rows of each category that has one; None if it stops before.
        overall: The overall value, None if it gives none.
    """

    state: State
    absent: tuple[int, ...] | None = None
    categories: Mapping[str, tuple[float, int]] | None = None
    overall: float | None = None

    def printed(self) -> list[str] | None:
        """Returns the row it prints: the categories and the overall value, with two decimals."""
        if self.overall is None or self.categories is None:
            return None
        return [f"{value:.2f}" for value in (*(mean for mean, _ in self.categories.values()), self.overall)]


def official(edition: Edition, files: Sequence[Sequence[str]], option: str = "all") -> Official:
    """Aggregates result files as the official program of an edition does.

    Args:
        edition: The edition.
        files: Lines of each file.
        option: ``all`` or one of `Edition.parts`.

    Raises:
        DataError: If there is no such option.
    """
    if option != "all" and option not in edition.parts:
        raise DataError(f"{edition.name} has no part {option!r}; there are all, {', '.join(edition.parts)}")
    usable = [rows for lines in files if (rows := _rows(lines)) is not None]
    if not usable:
        return Official("no_file_usable")
    rows = [row for found in usable for row in found]
    if option == "all" or len(files) == 1:
        ids = {row["prompt_id"] for row in rows if isinstance(row.get("prompt_id"), int)}
        first, last = (1, _last(edition)) if option == "all" else edition.parts[option]
        absent = tuple(number for number in range(first, last + 1) if number not in ids)
        if absent:
            return Official("stopped_ids_absent" if option == "all" else "no_file_usable", absent)
    values: dict[str, list[float]] = {name: [] for name in edition.categories}
    for row in rows:
        name, value = _category(edition, row.get("prompt_id")), edition.official(row)
        if name is not None and value is not None:
            values[name].append(value)
    categories = {name: (sum(found) / len(found), len(found)) for name, found in values.items() if found}
    if option != "all":
        return Official("categories_only", None, categories)
    if len(categories) < len(edition.categories):
        return Official("no_overall_empty_category", None, categories)
    overall = sum(edition.categories[name].weight * mean for name, (mean, _) in categories.items())
    return Official("overall", None, categories, overall)


def official_reading(
    read: Callable[[str], dict[str, float] | None], tries: Sequence[str | None]
) -> tuple[dict[str, float] | None, int]:
    """Reads replies as an official judging program does: the first usable one of three tries, None if there is none.

    Args:
        read: Reads one reply.
        tries: The replies, None for a failed call; the last is repeated if there are too few.

    Returns:
        The scores, and how many calls were made.
    """
    for number in range(TRIES):
        reply = tries[min(number, len(tries) - 1)]
        scores = None if reply is None else read(reply)
        if scores is not None:
            return scores, number + 1
    return None, TRIES


def score(edition: Edition, rows: Sequence[Row]) -> Outcome:
    """Returns official and strict figures, overall and by category.

    Args:
        edition: The edition.
        rows: At most one an id; ids without a row are missing.

    Raises:
        DataError: If an id is no whole number of the edition, or is there twice.
    """
    ids = [row.get("prompt_id") for row in rows]
    check_unique(ids, "row")
    for one in ids:
        if isinstance(one, bool) or not isinstance(one, int) or _category(edition, one) is None:
            raise DataError(f"prompt_id {one!r} is no whole number in 1..{_last(edition)}")
    found = official(edition, [[json.dumps(row) for row in rows]])
    by_id = {row["prompt_id"]: row for row in rows}
    figures: list[Figure] = []
    for name, category in edition.categories.items():
        numbers = range(category.first, category.last + 1)
        values = [edition.strict(by_id[number]) if number in by_id else 0.0 for number in numbers]
        tally = Tally.of(values, sum(number not in by_id for number in numbers))
        figures.append(
            tally.figure(name, None if found.categories is None or name not in found.categories else found.categories[name][0])
        )
    overall = weighted([one.strict for one in figures], [category.weight for category in edition.categories.values()])
    missing, unscored = sum(one.missing for one in figures), sum(one.unscored for one in figures)
    whole = Figure("overall", found.overall, overall, _last(edition), missing, unscored)
    notes = ("the official program prints no number while an id has no row",) if found.absent else ()
    return Outcome(edition.name, (whole, *figures), notes)


def _rows(lines: Sequence[str]) -> list[Row] | None:
    """Reads a file: broken lines are passed over, one that is no object makes the whole file unusable (None)."""
    rows: list[Row] = []
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if not isinstance(row, dict):
            return None
        rows.append(row)
    return rows


def _category(edition: Edition, number: Any) -> str | None:
    if not isinstance(number, int):
        return None
    return next((name for name, category in edition.categories.items() if number in category), None)


def _last(edition: Edition) -> int:
    return max(category.last for category in edition.categories.values())
