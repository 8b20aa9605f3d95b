from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from tests.trainers.sample_rows import chat, write_rows
from trainers.data import Row, RowFolder, RowWriter, split
from trainers.hub import HubRows, write_dataset
from wildenv.errors import ConfigError, DataError
from wildenv.messages import digests_of


def test_rows_are_read_by_offset(tmp_path: Path) -> None:
    rows = write_rows(tmp_path, 5)
    assert [rows[n].id for n in (4, 0, 2)] == ["row-4", "row-0", "row-2"]
    assert rows[3].messages == chat(digests_of(rows[3].messages)[0], 1, "green")
    assert list(rows.task_ids()) == [f"task-{n}" for n in range(5)]
    with pytest.raises(IndexError):
        rows[5]


def test_only_an_index_is_held(tmp_path: Path) -> None:
    rows = write_rows(tmp_path, 5)
    held = json.dumps({name: value for name, value in vars(rows).items() if isinstance(value, list)})
    assert "kettle" not in held
    assert len(held) < 200


@pytest.mark.parametrize(
    ("line", "reason"),
    [("{", "row 2"), ('{"schema_version": 9}', "schema version 9"), ('{"schema_version": 1, "id": "x"}', "'task_id'")],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str, reason: str) -> None:
    write_rows(tmp_path, 1)
    with (tmp_path / "rows.jsonl").open("a") as rows:
        rows.write(line + "\n")
    with pytest.raises(DataError, match=reason):
        RowFolder(tmp_path)


def test_a_row_whose_picture_is_missing_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="picture"), RowWriter(tmp_path) as writer:
        writer.write(Row("r", "t", chat("0" * 64)))
    assert not (tmp_path / "rows.jsonl").exists()
    with pytest.raises(ConfigError, match=r"data\.path"):
        RowFolder(tmp_path)


def test_a_split_keeps_tasks_together_and_ignores_order(tmp_path: Path) -> None:
    for name, numbers in (("a", range(20)), ("b", reversed(range(20)))):
        with RowWriter(tmp_path / name) as writer:
            for number in numbers:
                writer.write(Row(f"r{number}", f"t{number // 2}", chat(None)))
    sides = []
    for name in ("a", "b"):
        rows = RowFolder(tmp_path / name)
        train, held = split(rows, 0.3)
        assert sorted(train + held) == list(range(20))
        assert len(held) == 6
        train_tasks, held_tasks = ({rows[i].task_id for i in side} for side in (train, held))
        assert not train_tasks & held_tasks
        sides.append(held_tasks)
    assert sides[0] == sides[1]


def test_a_split_that_leaves_nothing_names_the_setting(tmp_path: Path) -> None:
    rows = write_rows(tmp_path, 1)
    assert split(rows, 0.0) == ([0], [])
    with pytest.raises(ConfigError, match=r"data\.validation_share"):
        split(rows, 0.5)


def test_a_hub_dataset_gives_the_same_rows_back(tmp_path: Path) -> None:
    tools = [
        {
            "type": "function",
            "function": {"name": "a", "parameters": {"type": "object", "properties": {"x": {"type": "string"}}}},
        },
        {
            "type": "function",
            "function": {"name": "b", "parameters": {"type": "object", "properties": {"y": {"enum": [1, None]}}}},
        },
    ]
    with RowWriter(tmp_path / "rows") as writer:
        digests = [writer.images.put(Image.new("RGB", (20, 20), colour)) for colour in ("red", "blue")]
        writer.write(Row("one", "t1", chat(digests[0], 2), tools, "web", 1.0))
        writer.write(Row("two", "t2", chat(None, 1), tools[:1], "", None))
        mixed = chat(digests[1], 1) + chat(digests[0], 1)[2:]
        writer.write(Row("three", "t3", mixed, [], "web", 0.5))
    rows = RowFolder(tmp_path / "rows")
    folder = write_dataset(rows, tmp_path / "hub", "Kettles", {"teacher": "lci"})
    back = HubRows(folder)
    assert len(back) == 3
    for number in range(3):
        assert back[number].to_dict() == rows[number].to_dict()
    for digest in digests_of(mixed):
        assert back.images.png(digest) == rows.images.png(digest)
    card = (folder / "README.md").read_text()
    assert "3 tool-using conversations" in card
    assert "teacher: lci" in card
    assert list(tmp_path.glob(".*")) == []
    with pytest.raises(ConfigError, match="not empty"):
        write_dataset(rows, folder, "Kettles", {})


def test_a_missing_dataset_names_the_setting(tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    with pytest.raises(ConfigError, match=r"data\.path"):
        HubRows(tmp_path / "nothing")
