from __future__ import annotations

from typing import Any

import pytest

from benchmarks.metrics import genevolve, knowgen
from benchmarks.metrics.kscore_rows import Scored
from benchmarks.metrics.outcome import StoppedError
from tests.benchmarks.golden import load
from wildenv.errors import DataError

AXES = ("faithfulness", "visual_correctness", "text_accuracy", "aesthetics")


def _row(record: Scored) -> dict[str, Any]:
    row: dict[str, Any] = {"id": None if record.row.get("id") is None else str(record.row["id"]), "state": record.state}
    if record.state == "scored":
        row |= {**record.scores, "text_na": record.text_na, "overall": record.overall}
    return row


def test_knowgen_reproduces_every_golden_value() -> None:
    given, expected = load("knowgen")
    for name, case in given["cases"].items():
        wanted = expected["cases"][name]
        if "raises" in wanted:
            with pytest.raises(StoppedError) as stopped:
                knowgen.official(case["rows"])
            assert stopped.value.kind == wanted["raises"], name
            continue
        found = knowgen.official(case["rows"])
        assert [_row(record) for record in found.rows] == wanted["rows"], name
        assert found.summary == wanted["summary"], name
    assert len(given["cases"]) == len(expected["cases"]) == 23


def test_genevolve_reproduces_every_golden_value() -> None:
    given, expected = load("genevolve")
    for name, case in given["cases"].items():
        wanted = expected["cases"][name]
        if "raises" in wanted:
            with pytest.raises(StoppedError) as stopped:
                genevolve.official(case["rows"])
            assert stopped.value.kind == wanted["raises"], name
            continue
        found = genevolve.official(case["rows"], case.get("total_cases"))
        assert [_row(record) for record in found.rows] == wanted["rows"], name
        assert found.component_means == wanted["component_means"], name
        assert found.sample_means == wanted["sample_means"], name
    assert len(given["cases"]) == len(expected["cases"]) == 19


def _task(number: int, category: str, reply: Any, **other: Any) -> dict[str, Any]:
    made = {"id": number, "category": category, "ok": True, "generated": True, "reference": True, "prompt": True}
    return {**made, "reply": reply, **other}


def _reply(*scores: float, **other: Any) -> dict[str, Any]:
    return {**dict(zip(AXES, scores, strict=True)), **other}


def test_missing_is_zero_and_unscored_is_shown_apart() -> None:
    rows = [
        _task(1, "biology", _reply(1, 1, 1, 1)),
        _task(2, "biology", None, ok=False, generated=False),
        _task(3, "news", _reply(1, 1, 1, 1)),
        _task(4, "news", None),
        _task(5, "news", _reply(0.7, 1, 1, 1)),
    ]
    whole, science, pop = knowgen.score(rows).figures
    assert (science.official, science.strict, science.missing, science.unscored) == (1.0, 0.5, 1, 0)
    assert (pop.strict, pop.missing, pop.unscored, pop.tasks) == (1.0, 0, 2, 3)
    assert pop.official == pytest.approx(0.985)
    assert (whole.strict, whole.missing, whole.unscored) == (0.75, 1, 2)


def test_a_picture_without_text_leaves_the_text_mean_in_both() -> None:
    rows = [_task(1, "art", _reply(1, 1, 0, 1)), _task(2, "art", _reply(1, 1, 0, 1, text_accuracy_na=True))]
    rows += [{**row, "id": row["id"] + 2, "category": "film"} for row in rows]
    whole = knowgen.score(rows).figures[0]
    assert (whole.official, whole.strict) == (0.6, pytest.approx(0.6))
    overall, samples, zero, _ = genevolve.score([{**row, "eval_type": "Knowledge-Anchored"} for row in rows]).figures
    assert (overall.official, samples.official, zero.official) == (0.6, 0.7, 0.7)
    assert overall.strict == pytest.approx(0.6)


def test_a_group_without_rows_gives_no_strict_average() -> None:
    whole, science, pop = knowgen.score([_task(1, "biology", _reply(1, 1, 1, 1))]).figures
    assert (whole.official, whole.strict) == (0.5, None)
    assert (science.strict, pop.strict, pop.tasks) == (1.0, None, 0)


@pytest.mark.parametrize(
    "reply",
    [
        {"faithfulness": 1, "visual_correctness": 1, "text_accuracy": 1},
        _reply(1, 1, 1, True),
        _reply(1, 1, 1, "1"),  # type: ignore[arg-type]
        _reply(1, 1, 0.25, 1),
        _reply(1, 1, 1, 1, text_accuracy_na="true"),
        "faithfulness: 1, visual_correctness: 1, text_accuracy: 1, aesthetics: 1",
        [1, 1, 1, 1],
    ],
)
def test_what_is_not_on_the_grid_is_unscored(reply: Any) -> None:
    (_, science, _) = knowgen.score([_task(1, "biology", _reply(0, 0, 0, 0)), _task(2, "biology", reply)]).figures
    assert (science.strict, science.unscored) == (0.0, 1)


def test_strict_figures_refuse_rows_of_unknown_tasks() -> None:
    good = _task(1, "biology", _reply(1, 1, 1, 1))
    for rows, says in (
        ([good, good], "id 1 is there twice"),
        ([{**good, "id": None}], "row 1 has no id"),
        ([{**good, "category": "fashion"}], "category 'fashion' is in neither group"),
        ([{**good, "ok": "false"}], "'ok' is 'false'"),
        ([{**good, "reference": False}], "no reference picture"),
    ):
        with pytest.raises(DataError, match=says):
            knowgen.score(rows)


def test_the_outcome_can_be_tabulated() -> None:
    outcome = knowgen.score([_task(1, "biology", _reply(1, 1, 1, 1)), _task(2, "news", _reply(0, 0, 0, 0))])
    assert outcome.rows()[0] == ("overall_avg", "50.00", "50.00", 2, 0, 0)
