from __future__ import annotations

from typing import Any

import pytest

from benchmarks.metrics import mind_bench
from benchmarks.metrics.outcome import StoppedError
from tests.benchmarks.golden import load
from wildenv.errors import DataError


def _previous(case: dict[str, Any]) -> list[dict[str, Any]]:
    rows = []
    for row in case.get("previous", []):
        item = next(item for item in case["items"] if row["image"] == f"{item['type'].split('_')[0]}_{item['id']}.png")
        rows.append({**row, "type": item["type"], "id": item["id"], "results": [row["pass"]] * item["checklist"]})
    return rows


def test_it_reproduces_every_golden_value() -> None:
    given, expected = load("mindbench")
    for name, case in given["cases"].items():
        wanted = expected["cases"][name]
        if "raises" in wanted:
            with pytest.raises(StoppedError) as stopped:
                mind_bench.official_rows(case["items"], case["images"])
            assert stopped.value.kind == wanted["raises"], name
            continue
        rows = mind_bench.official_rows(case["items"], case["images"], _previous(case))
        assert rows == wanted["rows"], name
        assert mind_bench.pass_share(rows) == wanted["share_not_official"], name
    assert len(given["cases"]) == len(expected["cases"]) == 17


ITEMS = [{"type": "1_A", "id": number, "checklist": 2} for number in range(1, 5)]


def _image(number: int, results: Any) -> dict[str, Any]:
    return {"path": f"1_{number}.png", "reply": None if results is None else {"results": results}}


def test_missing_fails_and_unscored_is_shown_apart() -> None:
    images = [_image(1, [True, True]), _image(2, [True, False]), _image(3, None)]
    csa, kind = mind_bench.score(ITEMS, images).figures
    assert csa.official == pytest.approx(1 / 3)
    assert csa.strict == pytest.approx(1 / 3)
    assert (csa.tasks, csa.missing, csa.unscored) == (4, 1, 1)
    assert (kind.name, kind.strict) == ("1_A", csa.strict)


@pytest.mark.parametrize("results", [["false", "no"], "no", [True], [True, True, True], {"1": True, "2": True}, [1, 1], True])
def test_what_is_no_list_of_booleans_is_unscored(results: Any) -> None:
    csa = mind_bench.score(ITEMS[:2], [_image(1, [True, True]), _image(2, results)]).figures[0]
    assert (csa.strict, csa.unscored) == (1.0, 1)


def test_pictures_and_items_that_cannot_be_told_apart_are_refused() -> None:
    image = _image(1, [True, True])
    for items, images, says in (
        (ITEMS, [image, {**image, "path": "1_second_1.png"}], "second one of its item"),
        (ITEMS, [{**image, "path": "9_1.png"}], "of no item"),
        ([ITEMS[0], {**ITEMS[0], "type": "1_B"}], [image], "is there twice"),
        ([{"type": "1_A", "checklist": 1}], [], "has no id"),
    ):
        with pytest.raises(DataError, match=says):
            mind_bench.score(items, images)


def test_an_empty_checklist_fails_officially_and_is_unscored_strictly() -> None:
    csa = mind_bench.score([{"type": "1_A", "id": 1, "checklist": 0}], [_image(1, [True])]).figures[0]
    assert (csa.official, csa.strict, csa.unscored) == (0.0, None, 1)
