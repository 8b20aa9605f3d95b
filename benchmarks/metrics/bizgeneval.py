"""BizGenEval: scores that fall with the number of wrong answers, by domain and dimension (``evaluation/`` at 39e1bdc).

An item is ``{"id", "domain", "dimension", "questions", "easy", "hard", "result"}``: the number of its questions, the numbers of
the easy and the hard ones (from 1; the lists may be absent), and what its result file holds, None if there is none to read:
``{"meta_info": {"1": {"result": true}, ...}}``. Answers are made of a judge's reply by `benchmarks.metrics.bizgeneval_reply`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.metrics.outcome import Figure, Outcome, StoppedError, check_unique
from wildenv.errors import DataError

Item = Mapping[str, Any]

ALPHA = 0.1
"""What one wrong answer costs on all questions; on the easy and on the hard ones it costs twice that."""

SPLITS = ("easy", "hard", "all")
DOMAINS = ("slides", "webpage", "poster", "chart", "scientific_figure")
DIMENSIONS = ("layout", "attribute", "text", "knowledge")
GROUPS = {"domain": DOMAINS, "dimension": DIMENSIONS}


@dataclass(frozen=True, slots=True)
class Record:
    """An item on one split of its questions."""

    item: Item
    errors: int
    questions: int
    score: float

    @property
    def accuracy(self) -> float:
        """Share of right answers."""
        return (self.questions - self.errors) / self.questions


@dataclass(frozen=True, slots=True)
class Official:
    """What the official summary holds.

    Attributes:
        records: The items that are scored, by split.
        groups: By split and by ``domain`` or ``dimension``: count, accuracy and score of each group.
        averages: By split and by ``domain`` or ``dimension``: the mean over the groups of the fixed list that are there.
    """

    records: dict[str, list[Record]]
    groups: dict[str, dict[str, dict[str, dict[str, float]]]]
    averages: dict[str, dict[str, float]]

    def table(self, by: str) -> list[list[str]]:
        """Returns the official table by domain or dimension, headings included; a split without an item has no line."""
        rows = [["Split", *(name.replace("_", " ").title() for name in GROUPS[by]), "Average"]]
        for split in SPLITS:
            if not self.records[split] and split != "all":
                continue
            groups = self.groups[split][by]
            cells = [f"{groups[name]['error_score']:.4f}" if name in groups else "" for name in GROUPS[by]]
            average = self.averages.get(split, {}).get(by)
            rows.append([split, *cells, "" if average is None else f"{average:.4f}"])
        return rows


def official(items: Sequence[Item], alpha: float = ALPHA) -> Official:
    """Aggregates as the official program does.

    Raises:
        StoppedError: If a result is a list, or an answer is no record.
    """
    records: dict[str, list[Record]] = {split: [] for split in SPLITS}
    for item in items:
        answers = _answers(item.get("result"))
        if not answers or not item["questions"]:
            continue
        for split in SPLITS:
            record = _record(item, split, answers, alpha)
            if record is not None:
                records[split].append(record)
    groups = {split: {by: _grouped(records[split], by) for by in GROUPS} for split in SPLITS}
    averages: dict[str, dict[str, float]] = {}
    for split in SPLITS:
        for by, names in GROUPS.items():
            there = [groups[split][by][name]["error_score"] for name in names if name in groups[split][by]]
            if there:
                averages.setdefault(split, {})[by] = sum(there) / len(there)
    return Official(records, groups, averages)


def score(items: Sequence[Item], alpha: float = ALPHA) -> Outcome:
    """Returns official and strict figures by split: the mean over the domains, and over the dimensions.

    Strict: an item without a result scores 0; one whose result does not answer every question with a boolean is unscored.

    Args:
        items: All items of the benchmark; a ``result`` of None is a missing picture, ``{}`` a judge that failed.
        alpha: See `ALPHA`.

    Raises:
        DataError: If ids are missing or there twice, a group is unknown, or the lists do not split the questions.
    """
    check_unique([item.get("id") for item in items], "item")
    for item in items:
        _check(item)
    found = official(items, alpha)
    figures: list[Figure] = []
    read = [(item, strict_answers(item)) for item in items]
    missing, unscored = sum(item["result"] is None for item in items), sum(answers is None for _, answers in read)
    for by, names in GROUPS.items():
        for split in reversed(SPLITS):
            means: list[float] = []
            for name in names:
                scores = [
                    _strict_score(item, split, answers, alpha)
                    for item, answers in read
                    if item[by] == name and answers is not None
                ]
                if scores:
                    means.append(sum(scores) / len(scores))
            strict = sum(means) / len(means) if means else None
            number = found.averages.get(split, {}).get(by)
            figures.append(Figure(f"{split} questions, mean over {by}s", number, strict, len(items), missing, unscored))
    notes = ("items with a failed judge call are zero in the official numbers and unscored in the strict ones",)
    return Outcome("BizGenEval", tuple(figures), notes)


def strict_answers(item: Item) -> dict[int, bool] | None:
    """Returns the answer to each question, none for a missing picture; None if the judge did not answer each by a boolean."""
    if item["result"] is None:
        return {}
    given = item["result"].get("meta_info") if isinstance(item["result"], Mapping) else None
    if not isinstance(given, Mapping):
        return None
    answers: dict[int, bool] = {}
    for number in range(1, item["questions"] + 1):
        record = given.get(str(number))
        value = record.get("result") if isinstance(record, Mapping) else None
        if not isinstance(value, bool):
            return None
        answers[number] = value
    return answers


def _answers(result: Any) -> Mapping[str, Any] | None:
    if isinstance(result, list):
        raise StoppedError("AttributeError", "a result file holds a list, not an object")
    found: Mapping[str, Any] | None = result.get("meta_info") if result else None
    return found


def _record(item: Item, split: str, answers: Mapping[str, Any], alpha: float) -> Record | None:
    numbers = _numbers(item, split)
    if not numbers:
        return None
    right = 0
    for number in numbers:
        answer = answers.get(str(number), {})
        if not isinstance(answer, Mapping):
            raise StoppedError("AttributeError", f"an answer is {answer!r}, not a record")
        right += answer.get("result") is True and number <= item["questions"]
    errors = len(numbers) - right
    return Record(item, errors, len(numbers), _penalised(errors, split, alpha))


def _numbers(item: Item, split: str) -> Sequence[int]:
    return range(1, item["questions"] + 1) if split == "all" else item.get(split) or ()


def _penalised(errors: int, split: str, alpha: float) -> float:
    return max(0.0, 1.0 - (alpha if split == "all" else 2 * alpha) * errors)


def _grouped(records: Sequence[Record], by: str) -> dict[str, dict[str, float]]:
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(record.item[by], []).append(record)
    return {
        name: {
            "count": len(found),
            "accuracy": sum(record.accuracy for record in found) / len(found),
            "error_score": sum(record.score for record in found) / len(found),
        }
        for name, found in sorted(groups.items())
    }


def _strict_score(item: Item, split: str, answers: Mapping[int, bool], alpha: float) -> float:
    if not answers:
        return 0.0
    return _penalised(sum(not answers[number] for number in _numbers(item, split)), split, alpha)


def _check(item: Item) -> None:
    for by, names in GROUPS.items():
        if item[by] not in names:
            raise DataError(f"item {item['id']!r}: {by} {item[by]!r} is none of {', '.join(names)}")
    listed = sorted([*(item.get("easy") or ()), *(item.get("hard") or ())])
    if listed != list(range(1, item["questions"] + 1)):
        raise DataError(f"item {item['id']!r}: its easy and hard lists do not split its {item['questions']} questions")
