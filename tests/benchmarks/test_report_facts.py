"""What the report reads out of an episode."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from benchmarks.reporting.facts import UNREADABLE, Facts
from benchmarks.reporting.knowledge import Knowledge, read_labels
from tests.benchmarks.made_episodes import Maker, digest
from wildenv.errors import ConfigError
from wildenv.miniweb.world import MiniWorld
from wildenv.task import Task, TaskList


def _only(maker: Maker, **changes: Any) -> Facts:
    (facts,) = maker.run(**changes).facts
    return facts


def _labels(tmp_path: Path, **labels: bool) -> str:
    path = tmp_path / "labels.json"
    path.write_text(json.dumps({"t1": {digest(int(number[1:])): value for number, value in labels.items()}}))
    return str(path)


def test_the_first_four_candidates_count_and_the_fifth_does_not(tmp_path: Path) -> None:
    maker = Maker(tmp_path / "run")
    maker.add("t1")
    right = {f"p{number}": False for number in range(1, 6)}
    assert _only(maker, labels=_labels(tmp_path, **{**right, "p4": True})).first_search is True
    assert _only(maker, labels=_labels(tmp_path, **{**right, "p5": True})).first_search is False


def test_an_unlabelled_candidate_is_not_known_unless_another_is_right(tmp_path: Path) -> None:
    maker = Maker(tmp_path / "run")
    maker.add("t1")
    assert _only(maker).first_search is None
    assert _only(maker, labels=_labels(tmp_path, p1=False, p2=False)).first_search is None
    assert _only(maker, labels=_labels(tmp_path, p2=True)).first_search is True


def test_no_image_search_is_a_miss_but_a_failed_web_is_not_known(tmp_path: Path) -> None:
    maker = Maker(tmp_path / "run")
    maker.add("t1", shown=())
    maker.add("t2", shown=(), end="web")
    answered, failed = maker.run().facts
    assert (answered.first_search, answered.searched) == (False, False)
    assert failed.first_search is None


def test_labels_are_read_from_verdict_lines_too(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    rows = [{"task": "t", "digest": "a", "value": 1}, {"task": "t", "digest": "b", "value": 0.0}]
    path.write_text("\n".join(json.dumps(row) for row in [*rows, {"task": "t", "digest": "c", "value": None}]))
    assert read_labels(path) == {"t": {"a": True, "b": False}}


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.json", "[1]"), ("a.json", '{"t": {"d": 0.5}}'), ("a.jsonl", '{"task": "t"}'), ("a.jsonl", "not json"), ("b.json", None)],
)
def test_other_labels_are_refused(tmp_path: Path, name: str, text: str | None) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError, match="labels="):
        read_labels(tmp_path / name)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("caf\xe9".encode("latin-1"), "is not UTF-8 text"),
        ("{}".encode("utf-16"), "is not UTF-8"),
        pytest.param(b"[" * 100_000, "nested too", id="deep"),
    ],
)
def test_labels_that_cannot_be_read_say_why(tmp_path: Path, data: bytes, says: str) -> None:
    for name in ("a.json", "a.jsonl"):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ConfigError, match=f"labels=.*{says}"):
            read_labels(tmp_path / name)


def test_a_line_break_of_unicode_ends_no_line_of_labels(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    path.write_text('\ufeff{"task": "a\u2028b", "digest": "d", "value": 1}\n', encoding="utf-8")
    assert read_labels(path) == {"a\u2028b": {"d": True}}


def test_a_crop_is_told_apart_and_traced_to_its_source(tmp_path: Path) -> None:
    maker = Maker(tmp_path / "run")
    maker.add("cropped", crop=True)
    maker.add("none", shown=())
    maker.add("whole")
    cropped, none, whole = maker.run().facts
    assert (cropped.cropped, none.cropped, whole.cropped) == (True, None, False)
    assert cropped.roots == whole.roots == (digest(1),)


def test_calls_errors_repeats_and_removals_are_counted(tmp_path: Path) -> None:
    maker = Maker(tmp_path / "run")
    wrong = {"call": "call_1_1", "name": "text_search", "ok": False, "error": "too long", "notes": []}
    unread = {"call": "", "name": "", "ok": False, "error": "not JSON", "notes": []}
    made = maker.add("t1", shown=())
    maker.add("t1", shown=(), steps=[wrong, unread], timings=[0.0, 0.0], messages=[*made.messages, made.messages[2]])
    facts = _only(maker)
    assert dict(facts.calls) == {"text_search": 1, UNREADABLE: 1}
    assert dict(facts.messages) == {("text_search", "too long"): 1, (UNREADABLE, "not JSON"): 1}
    assert facts.repeated == 1
    assert (facts.decided, facts.removed, facts.undated) == (3, 1, 1)


def test_outcomes_go_by_the_search_score(tmp_path: Path) -> None:
    maker = Maker(tmp_path / "run")
    maker.add("a", {"search": 1.0})
    maker.add("b", {"search": 0.0})
    maker.add("c", {"search": None}, end="judge")
    maker.add("d", {"kscore": 0.4})
    maker.add("e", end="policy")
    maker.add("f", {"search": 1.0, "generation": None}, end="judge")
    facts = maker.run().facts
    assert [one.outcome for one in facts] == ["passed", "failed", "unscored", "scored", "unscored", "passed"]
    assert facts[1].failure == "judged wrong"
    assert facts[2].unscored_by == ("judge-1",)


def test_what_is_hidden_is_looked_up_in_a_task_file() -> None:
    task = Task("t1", "p", date(2026, 7, 1), "Sports", "Kits", target="the kit", rubric=("on grass",))
    known = Knowledge(tasks=TaskList([task]))
    assert (known.target("t1"), known.rubric("t1")) == ("the kit", ("on grass",))
    assert (known.target("t2"), known.rubric("t2"), known.ground_truth("t1")) == (None, (), None)


def test_the_miniweb_knows_what_its_pictures_show(small_world: MiniWorld) -> None:
    known = Knowledge(world=small_world)
    task = small_world.tasks("test")[0]
    _, event = small_world.event_of(task.id)
    right = next(one for one in small_world.pictures if event.target in one.entities)
    wrong = next(one for one in small_world.pictures if event.target not in one.entities)
    assert known.shows(task.id, "-", right.url) is True
    assert known.shows(task.id, "-", wrong.url) is False
    assert known.shows(task.id, "-", "https://elsewhere.example/a.png") is None
    assert known.target(task.id) == task.target
    known.check(task.public())


def test_tasks_of_another_miniweb_are_refused(small_world: MiniWorld) -> None:
    task = small_world.tasks("test")[0]
    with pytest.raises(ConfigError, match="set world="):
        Knowledge(world=small_world).check({**task.public(), "prompt": "Draw something else."})
