from __future__ import annotations

import json
import pickle
from copy import deepcopy
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from tests.fakes import SECRETS, tasks
from wildenv.errors import ConfigError, DataError
from wildenv.task import Task, TaskList, TaskSource, load_hf_dataset, load_jsonl

ROW: dict[str, Any] = {"id": "a", "prompt": "Draw it.", "issued": "2026-05-30"}


def test_the_cutoff_is_three_days_after_the_issue() -> None:
    assert Task.from_dict(ROW).cutoff == date(2026, 6, 2)


def test_the_public_half_holds_nothing_hidden() -> None:
    task = tasks()[0]
    assert set(task.public()) == {"id", "prompt", "issued", "domain", "subcategory", "meta"}
    shown = json.dumps(task.public())
    assert not any(secret in shown for secret in (*SECRETS, *task.ground_truth))


def test_a_task_is_read_back_as_it_was() -> None:
    for task in tasks():
        assert Task.from_dict(json.loads(json.dumps(task.to_dict()))) == task
        assert pickle.loads(pickle.dumps(task)) == task == deepcopy(task)
        assert len({task, deepcopy(task)}) == 1


def test_a_task_cannot_be_changed() -> None:
    task = tasks()[0]
    with pytest.raises(AttributeError):
        task.prompt = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        task.meta["number"] = 5  # type: ignore[index]


def test_nulls_of_a_table_count_as_missing() -> None:
    row = {**ROW, "issued": date(2026, 5, 30), "meta": None, "domain": None, "rubric": None, "facts": None}
    assert Task.from_dict(row) == Task("a", "Draw it.", date(2026, 5, 30), meta=MappingProxyType({}))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"colour": "red"}, "unknown fields \\['colour'\\]; put extras under 'meta'"),
        ({"issued": "yesterday"}, "ValueError"),
        ({"issued": 3}, "TypeError"),
        ({"prompt": None}, "'prompt' must be a string"),
        ({"id": 7}, "'id' must be a string"),
        ({"prompt": "  "}, "non-empty"),
        ({"rubric": "one sentence"}, "'rubric' must be a list"),
        ({"ground_truth": [1]}, "'ground_truth' must be a list"),
        ({"meta": "x"}, "ValueError"),
    ],
)
def test_a_row_that_is_no_task_says_why(change: dict[str, Any], says: str) -> None:
    with pytest.raises(DataError, match=says):
        Task.from_dict({**ROW, **change})
    with pytest.raises(DataError, match="KeyError"):
        Task.from_dict({"id": "a", "prompt": "x"})


def test_a_list_finds_by_number_and_by_id() -> None:
    source = tasks(3)
    assert isinstance(source, TaskSource)
    assert len(source) == 3
    assert [task.id for task in source] == ["task-0", "task-1", "task-2"]
    assert source.by_id("task-1") is source[1]
    with pytest.raises(ConfigError, match="no task 'nope'; the first ids are"):
        source.by_id("nope")


def test_a_list_without_tasks_or_with_twins_is_refused() -> None:
    with pytest.raises(ConfigError, match="no task in it"):
        TaskList([])
    with pytest.raises(ConfigError, match="share an id"):
        TaskList([Task.from_dict(ROW), Task.from_dict(ROW)])


def test_a_file_is_read_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text("\ufeff" + "\n".join(json.dumps(task.to_dict()) for task in tasks()) + "\n\n", encoding="utf-8")
    assert list(load_jsonl(path)) == list(tasks())


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{oops", "line 2"),
        ("[1]", "line 2: a task is an object"),
        ('{"id": "x"}', "line 2: task 'x'"),
        ("\xff", "line 2: it is not UTF-8 text"),
        pytest.param("[" * 100_000, "line 2: it is nested too deeply", id="deep"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text(f"{json.dumps(ROW)}\n{line}\n", encoding="latin-1")
    with pytest.raises(DataError, match=says):
        load_jsonl(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        load_jsonl(tmp_path / "none.jsonl")


def test_tasks_are_read_from_a_dataset_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    rows = tmp_path / "test.jsonl"
    rows.write_text("".join(json.dumps({**task.to_dict(), "meta": {}}) + "\n" for task in tasks()), encoding="utf-8")
    found = load_hf_dataset(str(tmp_path))
    assert [(task.id, task.issued, task.facts) for task in found] == [(task.id, task.issued, task.facts) for task in tasks()]
