from __future__ import annotations

import json
import math
from types import ModuleType
from typing import Any

import pytest

from benchmarks.metrics import wise, wise_legacy, wise_verified
from tests.benchmarks.golden import load
from wildenv.errors import DataError


def _scores(edition: ModuleType, marks: Any) -> dict[str, Any]:
    if edition is wise_verified:
        return {"score": int(marks)}
    values = [int(mark) for mark in marks] if isinstance(marks, str) else [marks] * 3
    return dict(zip(wise_legacy.SCORES, values, strict=True))


def _files(edition: ModuleType, base: str, case: dict[str, Any]) -> list[list[str]]:
    marks = list(base) if edition is wise_verified else base.split()
    fill = case.get("fill")
    rows = {
        number: {"prompt_id": number, **_scores(edition, fill if fill is not None else marks[number - 1])}
        for number in range(1, 1001)
    }
    for number in case.get("drop", []):
        del rows[number]
    rows.update({row["prompt_id"]: row for row in case.get("set", [])})
    rows.update({int(number): row for number, row in case.get("set_as", {}).items()})
    lines = {number: json.dumps(row) for number, row in rows.items()}
    lines.update({int(number): line for number, line in case.get("raw_set", {}).items()})
    parts = case.get("parts", [[1, 1000]])
    files = [[line for number, line in lines.items() if first <= number <= last] for first, last in parts] or [[]]
    added = [json.dumps(row) for row in case.get("append", [])] + case.get("raw_append", [])
    files[case.get("append_to", -1)] += added
    return files


def _close(found: float | None, wanted: Any) -> bool:
    if wanted is None or found is None:
        return found is wanted
    return math.isnan(found) if wanted == "NaN" else bool(found == pytest.approx(wanted, abs=1e-9))


@pytest.mark.parametrize(("edition", "count"), [(wise_legacy, 29), (wise_verified, 29)])
def test_it_reproduces_every_golden_summary(edition: ModuleType, count: int) -> None:
    given, expected = load(edition.__name__.rsplit(".", 1)[1])
    for name, case in given["cases"].items():
        wanted = expected["cases"][name]
        found = edition.official(_files(edition, given["base"], case), case.get("option", "all"))
        assert found.state == wanted["state"], name
        absent = wanted["absent_ids"]
        if isinstance(absent, dict):
            assert found.absent is not None
            assert {"count": len(found.absent), "first": found.absent[0], "last": found.absent[-1]} == absent, name
        else:
            assert found.absent == (None if absent is None else tuple(absent)), name
        assert _close(found.overall, wanted["overall"]), name
        assert (found.categories is None) == (wanted["categories"] is None), name
        if found.categories is not None:
            assert found.categories.keys() == wanted["categories"].keys(), name
            for category, (mean, rows) in found.categories.items():
                assert rows == wanted["categories"][category]["rows"], (name, category)
                assert _close(mean, wanted["categories"][category]["mean"]), (name, category)
        if wanted["printed_row"] is not None:
            assert found.printed() == wanted["printed_row"], name
    assert len(given["cases"]) == len(expected["cases"]) == count


@pytest.mark.parametrize(("edition", "count"), [(wise_legacy, 31), (wise_verified, 35)])
def test_it_reproduces_every_golden_reply(edition: ModuleType, count: int) -> None:
    given, expected = load(edition.__name__.rsplit(".", 1)[1])
    for name, tries in given["replies"].items():
        scores, calls = wise.official_reading(edition.official_reply, tries)
        found = {"state": "left_out" if scores is None else "scored", "calls": calls, **(scores or {})}
        assert found == expected["replies"][name], name
    assert len(given["replies"]) == len(expected["replies"]) == count


def _legacy(number: int, score: Any) -> dict[str, Any]:
    return {"prompt_id": number, "consistency": score, "realism": score, "aesthetic_quality": score}


def test_missing_is_zero_and_unscored_is_shown_apart() -> None:
    rows = [_legacy(number, 2) for number in range(1, 1001) if number not in (401, 402)]
    rows[0] = _legacy(1, 7)
    figures = {one.name: one for one in wise_legacy.score(rows).figures}
    assert figures["overall"].official is None
    assert (figures["CULTURE"].strict, figures["CULTURE"].unscored) == (pytest.approx(1.0), 1)
    assert (figures["TIME"].strict, figures["TIME"].missing) == (pytest.approx(165 / 167), 2)
    assert figures["overall"].strict == pytest.approx(1 - 0.167 * 2 / 167)
    assert (figures["overall"].missing, figures["overall"].unscored) == (2, 1)


def test_the_editions_differ_in_categories_and_weights() -> None:
    rows = [{"prompt_id": number, "score": int(401 <= number <= 520)} for number in range(1, 1001)]
    verified = {one.name: one for one in wise_verified.score(rows).figures}
    assert (verified["TIME"].official, verified["overall"].official) == (1.0, pytest.approx(0.12))
    assert verified["overall"].strict == pytest.approx(0.12)
    legacy = {one.name: one for one in wise_legacy.score([_legacy(row["prompt_id"], 2 * row["score"]) for row in rows]).figures}
    assert legacy["TIME"].official == pytest.approx(120 / 167)


def test_rows_of_no_prompt_are_refused() -> None:
    for rows, says in (
        ([_legacy(0, 1)], "prompt_id 0"),
        ([_legacy(True, 1)], "prompt_id True"),
        ([_legacy(5, 1), _legacy(5, 1)], "there twice"),
    ):
        with pytest.raises(DataError, match=says):
            wise_legacy.score(rows)
    with pytest.raises(DataError, match="no part 'art'"):
        wise_verified.official([], "art")
