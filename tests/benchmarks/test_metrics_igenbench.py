from __future__ import annotations

from typing import Any

import pytest

from benchmarks.metrics import igenbench
from benchmarks.metrics.outcome import StoppedError
from tests.benchmarks.golden import cases, close, load
from wildenv.errors import DataError


def _judgment(given: Any) -> Any:
    names = {"gen": "gen_model", "judge": "eval_model", "answer": "answer"}
    return {names[key]: value for key, value in given.items()} if isinstance(given, dict) else given


def _question(given: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {{"type": "question_type"}.get(key, key): value for key, value in given.items()}
    if row.get("judgments") is not None:
        row["judgments"] = [_judgment(one) for one in row["judgments"]]
    return row


def _item(given: dict[str, Any]) -> Any:
    state = given.get("file", "full")
    if state != "full":
        return {"absent": None, "broken": "{", "list": [1]}[state]
    item = {"id": given["id"]} if "id" in given else {}
    if "questions" in given:
        questions = given["questions"]
        item["evaluation"] = [_question(one) for one in questions] if isinstance(questions, list) else questions
    return item


def _stops(call: Any, kind: str) -> bool:
    with pytest.raises(StoppedError) as stopped:
        call()
    return stopped.value.kind == kind


def test_it_reproduces_every_golden_score() -> None:
    given, expected = load("igenbench")
    for name, case in cases(given["cases"]).items():
        wanted = expected["cases"][name]
        items = [_item(item) for item in case["items"]]
        if "raises" in wanted:
            assert _stops(lambda: igenbench.official(items), wanted["raises"]), name  # noqa: B023
        else:
            found = igenbench.official(items, case.get("gen"), case.get("judge"))
            assert found.exit == wanted["exit"], name
            assert {" | ".join(pair): one for pair, one in found.pairs.items()} == wanted.get("q_acc", {}), name
            assert found.lines() == wanted.get("printed", []), name
            if "items" in wanted:
                assert (found.items, found.skipped) == (wanted["items"], wanted["skipped_files"]), name
        for named, readings in wanted["item_accuracy_not_official"].items():
            pair = tuple(named.split(" | "))
            assert igenbench.items_passed(items, pair) == readings["readme_rule"], name  # type: ignore[arg-type]
            if "raises" in readings["sensenova"]:
                assert _stops(lambda: igenbench.sensenova(items, pair), readings["sensenova"]["raises"]), name  # noqa: B023
            else:
                assert close(igenbench.sensenova(items, pair), readings["sensenova"]), name  # type: ignore[arg-type]
    assert len(given["cases"]) == len(expected["cases"]) == 22


def test_it_reproduces_every_golden_reply() -> None:
    given, expected = load("igenbench")
    for name, reply in given["replies"].items():
        answer = igenbench.official_answer(reply)
        wanted = expected["replies"][name]["stored_answer"]
        assert (answer, type(answer)) == (wanted, type(wanted)), name
        assert (str(answer) == "1") == expected["replies"][name]["correct"], name
    assert len(given["replies"]) == len(expected["replies"]) == 22


PAIR = ("gen-a", "judge-x")


def _row(number: int, *answers: Any) -> dict[str, Any]:
    judged = [
        [] if answer is Ellipsis else [{"gen_model": "gen-a", "eval_model": "judge-x", "answer": answer}] for answer in answers
    ]
    return {"id": str(number), "evaluation": [{"source": "seed", "question_type": "count", "judgments": one} for one in judged]}


def test_unjudged_is_wrong_and_unscored_is_shown_apart() -> None:
    items = [_row(1, "1", "1"), _row(2, "1", ...), _row(3, ..., ...), _row(4, "1", "yes"), _row(5, "0", "yes")]
    questions, rule, other, macro = igenbench.score(items, PAIR).figures
    assert (questions.official, questions.strict) == (pytest.approx(4 / 7), pytest.approx(0.5))
    assert (questions.tasks, questions.missing, questions.unscored) == (10, 3, 2)
    assert (rule.official, rule.strict, rule.missing, rule.unscored) == (0.2, 0.25, 1, 1)
    assert (other.official, other.strict) == (0.5, 0.25)
    assert (macro.official, macro.strict) == (pytest.approx((1 + 1 + 0.5 + 0) / 4), pytest.approx((1 + 0.5 + 0 + 1 + 0) / 5))


def test_rows_that_are_not_of_the_benchmark_are_refused() -> None:
    twice = _row(1, "1")
    twice["evaluation"][0]["judgments"] *= 2
    for items, says in (
        ([_row(1, "1"), _row(1, "1")], "there twice"),
        ([twice], "judged 2 times by judge-x"),
        ([{"id": "1", "evaluation": []}], "has no questions"),
    ):
        with pytest.raises(DataError, match=says):
            igenbench.score(items, PAIR)
