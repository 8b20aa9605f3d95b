"""IGenBench: question accuracy (``igenbench/cli/score_cli.py`` at f4b253a) and item accuracy, which no released code computes.

An item is the content of its result file: a parsed object, the text of a file that is no JSON, or None for a file that is not
there: ``{"id", "evaluation": [{"source", "question_type", "judgments": [{"gen_model", "eval_model", "answer"}]}]}``.
A `Pair` is a generator and a judge; every pair is scored on its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from benchmarks.metrics.outcome import Figure, Outcome, StoppedError, Tally, check_unique
from wildenv.errors import DataError

Pair = tuple[str, str]

_FENCE = re.compile(r"```(?:json)?\s*(.*?)\s*```", re.DOTALL)
NO_FILES = 2
"""Exit code of the official command when there is no file at all."""


@dataclass(frozen=True, slots=True)
class Official:
    """What the official command counts.

    Attributes:
        exit: Its exit code.
        items: Items with a judgment that matches.
        skipped: Files it cannot use.
        pairs: By generator and judge: ``correct``, ``total``, ``acc``, ``by_source``, ``by_type``.
    """

    exit: int
    items: int
    skipped: int
    pairs: dict[Pair, dict[str, Any]]

    def lines(self) -> list[list[str]]:
        """Returns the words of the lines it prints."""
        shares = ((pair, found["acc"], f"({found['correct']}/{found['total']})") for pair, found in self.pairs.items())
        return [[*filter(None, pair), f"{100 * share:.1f}%", counted] for pair, share, counted in shares]


def official(items: Sequence[Any], generator: str | None = None, judge: str | None = None) -> Official:
    """Counts as the official command does.

    Args:
        items: See the module.
        generator: Only judgments of its pictures.
        judge: Only judgments by it.

    Raises:
        StoppedError: If questions are given as an object, or a name is null beside a text.
    """
    if all(item is None for item in items):
        return Official(NO_FILES, 0, 0, {})
    skipped = matched = 0
    counts: dict[Pair, _Counts] = {}
    for item in items:
        if item is None:
            continue
        try:
            questions = _questions(item)
        except (ValueError, KeyError, TypeError):
            skipped += 1
            continue
        before = sum(found.total for found in counts.values())
        for question, judgments in questions:
            for judgment in judgments:
                pair = (judgment.get("gen_model", ""), judgment.get("eval_model", ""))
                if generator in (None, pair[0]) and judge in (None, pair[1]):
                    counts.setdefault(pair, _Counts()).add(question, str(judgment.get("answer")) == "1")
        matched += sum(found.total for found in counts.values()) > before
    try:
        return Official(0, matched, skipped, {pair: counts[pair].to_dict() for pair in sorted(counts)})
    except TypeError as error:
        raise StoppedError("TypeError", "a model name is null beside a text") from error


def official_answer(reply: str | None) -> Any:
    """Returns what the official judge stores of a reply: the answer in a JSON object, alone or in a fence, or an empty text."""
    if reply is None:
        return ""
    fenced = _FENCE.search(reply)
    try:
        found = json.loads(fenced.group(1) if fenced else reply)
    except ValueError:
        return ""
    return found.get("answer", "") if isinstance(found, dict) else ""


def items_passed(items: Sequence[Any], pair: Pair) -> dict[str, Any]:
    """Returns item accuracy by the rule of the README: every question judged, every answer right; over all items."""
    passed = 0
    for item in items:
        try:
            questions = [] if item is None else _questions(item)
        except (ValueError, KeyError, TypeError, StoppedError):
            continue
        answers = [[one.get("answer") for one in judgments if _is_of(one, pair)] for _, judgments in questions]
        passed += bool(answers) and all(found and all(str(answer) == "1" for answer in found) for found in answers)
    return {"passed": passed, "items": len(items), "i_acc": passed / len(items) if items else None}


def sensenova(items: Sequence[Any], pair: Pair) -> dict[str, Any]:
    """Returns accuracies as OpenSenseNova's evaluation has them: unjudged questions, and items without a judgment, left out; the
    first judgment of a question counts; ``score`` is the mean over items.

    Raises:
        StoppedError: If questions are given as an object, or a judgment is none.
    """
    by_item: list[tuple[int, int]] = []
    by_type: dict[str, list[bool]] = {}
    for item in items:
        if not isinstance(item, Mapping):
            continue
        right: list[bool] = []
        for question in item.get("evaluation") or ():
            if not isinstance(question, Mapping):
                raise StoppedError("AttributeError", "questions are given as an object")
            answer = _first_answer(question.get("judgments") or (), pair)
            if answer is not None:
                right.append(answer)
                by_type.setdefault(str(question.get("question_type") or "unknown").strip(), []).append(answer)
        if right:
            by_item.append((sum(right), len(right)))
    correct, total = sum(one for one, _ in by_item), sum(one for _, one in by_item)
    return {
        "items": len(by_item),
        "score": sum(one / of for one, of in by_item) / len(by_item) if by_item else None,
        "q_acc": correct / total if total else None,
        "i_acc_strict": sum(one == of for one, of in by_item) / len(by_item) if by_item else None,
        "correct_questions": correct,
        "total_questions": total,
        "question_type_acc": {kind: sum(found) / len(found) for kind, found in sorted(by_type.items())},
    }


def score(items: Sequence[Mapping[str, Any]], pair: Pair) -> Outcome:
    """Returns Q-ACC (over questions), I-ACC (every question right) and the mean over items, for one generator and judge.

    Strict: a question without a judgment is wrong; one whose answer is neither 0 nor 1 is unscored, and leaves its item unscored
    unless another answer of it is wrong.

    Args:
        items: All items of the benchmark, with their questions, judged or not.
        pair: The generator and the judge.

    Raises:
        DataError: If ids are missing or there twice, an item has no question, or a question is judged twice by the pair.
    """
    check_unique([item.get("id") for item in items], "item")
    found = official(items, *pair)
    given = [_given(item, pair) for item in items]
    questions = [one for answers in given for one in answers]
    asked = Tally.of(_values(questions), questions.count(_Given.UNJUDGED))
    missing = sum(set(answers) == {_Given.UNJUDGED} for answers in given)
    whole = Tally.of(map(_passed, given), missing)
    macro = Tally.of((_mean(_values(answers)) for answers in given), missing)
    counted = found.pairs.get(pair)
    rule = items_passed(items, pair)["i_acc"]
    other = sensenova(items, pair)
    unscored = questions.count(_Given.UNSCORED)
    accuracy = counted["acc"] if counted else None
    figures = (
        Figure("Q-ACC (of questions)", accuracy, asked.mean, len(questions), asked.missing, unscored),
        whole.figure("I-ACC (README's rule)", rule),
        whole.figure("I-ACC (SenseNova's code)", other["i_acc_strict"]),
        macro.figure("Q-ACC, mean over items (SenseNova's code)", other["score"]),
    )
    notes = ("the released command computes Q-ACC only; both I-ACC columns are readings of others, not official",)
    return Outcome(f"IGenBench ({pair[0]}, judged by {pair[1]})", figures, notes)


class _Given(Enum):
    """What became of a question, strictly."""

    RIGHT = auto()
    WRONG = auto()
    UNJUDGED = auto()
    UNSCORED = auto()


def _given(item: Mapping[str, Any], pair: Pair) -> list[_Given]:
    questions = item.get("evaluation")
    if not isinstance(questions, list) or not questions:
        raise DataError(f"item {item['id']!r} has no questions under 'evaluation'")
    given: list[_Given] = []
    for number, question in enumerate(questions, 1):
        found = [one for one in question.get("judgments") or () if isinstance(one, Mapping) and _is_of(one, pair)]
        if len(found) > 1:
            raise DataError(f"item {item['id']!r}, question {number}: judged {len(found)} times by {pair[1]}")
        given.append(_read(found[0].get("answer")) if found else _Given.UNJUDGED)
    return given


def _read(answer: Any) -> _Given:
    if isinstance(answer, bool | float) or answer not in ("0", "1", 0, 1):
        return _Given.UNSCORED
    return _Given.RIGHT if str(answer) == "1" else _Given.WRONG


def _values(given: Sequence[_Given]) -> list[float]:
    return [float(one is _Given.RIGHT) for one in given if one is not _Given.UNSCORED]


def _passed(given: Sequence[_Given]) -> float | None:
    if _Given.WRONG in given or _Given.UNJUDGED in given:
        return 0.0
    return None if _Given.UNSCORED in given else 1.0


class _Counts:
    """Right and all judgments of a pair, by source and by type."""

    def __init__(self) -> None:
        self.total = 0
        self._all = [0, 0]
        self._by: dict[str, dict[str, list[int]]] = {"source": {}, "question_type": {}}

    def add(self, question: Mapping[str, Any], right: bool) -> None:
        """Counts one judgment."""
        self.total += 1
        slots = [self._all]
        slots += [by.setdefault(question[name], [0, 0]) for name, by in self._by.items() if question.get(name)]
        for slot in slots:
            slot[0] += right
            slot[1] += 1

    def to_dict(self) -> dict[str, Any]:
        """Returns the shares."""
        by = {name: {key: _share(found) for key, found in sorted(one.items())} for name, one in self._by.items()}
        return {**_share(self._all), "by_source": by["source"], "by_type": by["question_type"]}


def _share(slot: Sequence[int]) -> dict[str, Any]:
    return {"correct": slot[0], "total": slot[1], "acc": slot[0] / slot[1]}


def _questions(item: Any) -> list[tuple[Mapping[str, Any], list[Mapping[str, Any]]]]:
    """Reads a result file as the official command does; what it raises other than `StoppedError` makes it skip the file."""
    read = json.loads(item) if isinstance(item, str) else item
    if isinstance(read, list):
        raise TypeError("a list")
    if "id" not in read:
        raise KeyError("id")
    questions = []
    for question in read["evaluation"] or ():
        if not isinstance(question, Mapping):
            raise StoppedError("AttributeError", "questions are given as an object")
        questions.append((question, [one for one in question.get("judgments", ()) if isinstance(one, Mapping)]))
    return questions


def _is_of(judgment: Mapping[str, Any], pair: Pair) -> bool:
    return (judgment.get("gen_model", ""), judgment.get("eval_model", "")) == pair


def _first_answer(judgments: Sequence[Any], pair: Pair) -> bool | None:
    for one in judgments:
        if not isinstance(one, Mapping):
            raise StoppedError("AttributeError", "a judgment is no object")
        if _is_of(one, pair):
            return str(one.get("answer")).strip() == "1"
    return None


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
