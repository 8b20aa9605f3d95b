from __future__ import annotations

from typing import Any

import pytest

from benchmarks.metrics import bizgeneval
from benchmarks.metrics.bizgeneval_reply import official_answers
from benchmarks.metrics.outcome import StoppedError
from tests.benchmarks.golden import cases, close, load
from wildenv.errors import DataError

_FORMS: dict[str, Any] = {
    "1": {"result": True},
    "0": {"result": False},
    "s": {"result": "true"},
    "i": {"result": 1},
    "n": {"result": None},
    "e": {},
    "b": True,
}
_FILES: dict[str, Any] = {"absent": None, "unreadable": None, "null": None, "no_meta": {"other": 1}, "list": [1]}


def _item(item: dict[str, Any], state: str) -> dict[str, Any]:
    answers = {str(number): _FORMS[mark] for number, mark in enumerate(item["answers"], 1) if mark != "-"}
    result = _FILES.get(state, {"meta_info": {"empty_meta": {}, "null_meta": None}.get(state, answers)})
    return {**item, "questions": item.get("n", 20), "result": result}


def _rows_agree(found: list[list[str]], wanted: list[list[str | None]]) -> bool:
    """Whether two tables agree where the official print is not on a rounding tie."""
    pairs = [pair for ours, theirs in zip(found, wanted, strict=True) for pair in zip(ours, theirs, strict=True)]
    return all(theirs is None or ours == theirs for ours, theirs in pairs)


def test_it_reproduces_every_golden_summary() -> None:
    given, expected = load("bizgeneval")
    for name, case in cases(given["cases"]).items():
        wanted = expected["cases"][name]
        states = case.get("file", {})
        items = [_item(item, states.get(str(item["id"]), item.get("file", "full"))) for item in case["items"]]
        alpha = case.get("alpha", bizgeneval.ALPHA)
        if "raises" in wanted:
            with pytest.raises(StoppedError) as stopped:
                bizgeneval.official(items, alpha)
            assert stopped.value.kind == wanted["raises"], name
            continue
        found = bizgeneval.official(items, alpha)
        counts = {"items": len(items), **{split: len(found.records[split]) for split in found.records}}
        assert counts == wanted["counts"], name
        assert close(found.groups, wanted["groups"]), name
        assert close(found.averages, wanted["table_average"]), name
        assert _rows_agree(found.table("domain"), wanted["table_domain"]), name
        assert _rows_agree(found.table("dimension"), wanted["table_dimension"]), name
        for split, records in wanted.get("records", {}).items():
            ours = [
                {"accuracy": one.accuracy, "score": one.score, "errors": one.errors, "questions": one.questions}
                for one in found.records[split]
            ]
            assert len(ours) == len(records), (name, split)
            assert all(close(one, other) for one, other in zip(ours, records, strict=True)), (name, split)
    assert len(given["cases"]) == len(expected["cases"]) == 16


def test_it_reproduces_every_golden_reply() -> None:
    given, expected = load("bizgeneval")
    for name, case in given["replies"].items():
        wanted = expected["replies"][name]
        if "raises" in wanted:
            with pytest.raises(StoppedError) as stopped:
                official_answers(case["reply"], case["questions"])
            assert stopped.value.kind == wanted["raises"], name
            continue
        assert wanted["written"] == case.get("image", True), name
        if not wanted["written"]:
            continue
        found = official_answers(case["reply"], case["questions"])
        assert "".join("01"[value] for value in found.values) == wanted["answers"], name
        assert list(found.absent) == wanted["absent"], name
        assert found.accuracy == pytest.approx(wanted["accuracy"], abs=1e-12), name
        assert all(found.values) == wanted["all_true"], name
    assert len(given["replies"]) == len(expected["replies"]) == 26


def _full(number: int, wrong: int, **other: Any) -> dict[str, Any]:
    meta = {str(question): {"result": question > wrong} for question in range(1, 21)}
    item = {"id": number, "domain": "slides", "dimension": "text", "questions": 20}
    return {**item, "easy": list(range(1, 11)), "hard": list(range(11, 21)), "result": {"meta_info": meta}, **other}


def test_missing_is_zero_and_unscored_is_shown_apart() -> None:
    items = [_full(1, 0), _full(2, 2), _full(3, 0, result=None), _full(4, 0, result={})]
    figures = {one.name: one for one in bizgeneval.score(items).figures}
    whole = figures["all questions, mean over domains"]
    assert whole.official == pytest.approx(0.9)
    assert whole.strict == pytest.approx((1 + 0.8 + 0) / 3)
    assert (whole.tasks, whole.missing, whole.unscored) == (4, 1, 1)
    assert figures["easy questions, mean over domains"].strict == pytest.approx((1 + 0.6 + 0) / 3)
    assert figures["hard questions, mean over dimensions"].strict == pytest.approx(2 / 3)


def test_a_partial_answer_is_unscored() -> None:
    item = _full(1, 0)
    del item["result"]["meta_info"]["7"]
    whole = bizgeneval.score([item, _full(2, 20)]).figures[0]
    assert (whole.official, whole.strict, whole.unscored) == (pytest.approx(0.45), 0.0, 1)


def test_items_that_are_not_of_the_benchmark_are_refused() -> None:
    for item, says in (
        (_full(1, 0, domain="video"), "domain 'video'"),
        (_full(1, 0, hard=[]), "do not split its 20 questions"),
        (_full(None, 0), "has no id"),  # type: ignore[arg-type]
    ):
        with pytest.raises(DataError, match=says):
            bizgeneval.score([item])
