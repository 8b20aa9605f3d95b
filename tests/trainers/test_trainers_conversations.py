from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.trainers.sample_rows import write_rows
from trainers.conversations import convert, read_row
from trainers.data import RowFolder
from wildenv.errors import ConfigError, DataError
from wildenv.images import ImageStore
from wildenv.messages import digests_of, text_of

ROOT = Path(__file__).resolve().parents[2]
WEBDANCER = Path(os.environ.get("WEBDANCER_JSONL", ROOT.parent / "shared/data/WebDancer-traj/sample_traj_first40.jsonl"))


def react(*contents: str) -> dict[str, Any]:
    roles = ["system", "user", *["assistant", "user"] * len(contents)]
    return {"messages": [{"role": role, "content": text} for role, text in zip(roles, contents, strict=False)]}


def gen_searcher(marks: int = 2, images: int = 2) -> dict[str, Any]:
    row = react(
        "You search. IMG ids count.",
        "Draw the new kettle.",
        '<think>look</think>\n<tool_call>{"name": "image_search", "arguments": {"query": "kettle"}}</tool_call>',
        "<image>" * marks + "<tool_response>\nIMG_001: a kettle\n</tool_response>",
        '<think>the first</think>\n<answer>{"gen_prompt": "a kettle", "reference_images": [{"img_id": "IMG_001"}]}</answer>',
    )
    return {**row, "images": [f"pictures/{number}.jpg" for number in range(images)]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pictures").mkdir()
    for number in range(2):
        Image.new("RGB", (30, 20), (200 * number, 0, 0)).save(tmp_path / f"pictures/{number}.jpg")
    return tmp_path


def test_the_real_webdancer_file_is_read(tmp_path: Path) -> None:
    if not WEBDANCER.is_file():
        pytest.skip(f"no WebDancer sample at {WEBDANCER}; set WEBDANCER_JSONL")
    refusals = convert(WEBDANCER, tmp_path)
    assert (refusals.total, refusals.rows) == (40, [])
    rows = RowFolder(tmp_path)
    first = rows[0].messages
    assert [m["role"] for m in first] == ["system", "user", "assistant", "tool", "assistant"]
    assert first[2]["tool_calls"][0]["function"]["name"] == "search"
    assert isinstance(first[2]["tool_calls"][0]["function"]["arguments"]["query"], list)
    assert "<think>" not in text_of(first[2])
    assert "<answer>" in text_of(first[4])
    assert "tool_response" not in text_of(first[3])


def test_a_broken_row_of_the_real_file_is_named(tmp_path: Path) -> None:
    if not WEBDANCER.is_file():
        pytest.skip(f"no WebDancer sample at {WEBDANCER}; set WEBDANCER_JSONL")
    lines = WEBDANCER.read_text(encoding="utf-8").splitlines()
    broken = json.loads(lines[4])
    broken["messages"][2]["content"] = broken["messages"][2]["content"].replace("</tool_call>", "")
    lines[4] = json.dumps(broken)
    lines[9] = lines[9][:-40]
    source = tmp_path / "broken.jsonl"
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    refusals = convert(source, tmp_path / "rows", max_refused=0.1)
    assert [number for number, _ in refusals.rows] == [5, 10]
    assert "<tool_call> is not closed" in refusals.rows[0][1]
    assert "message 2" in refusals.rows[0][1]
    assert "not JSON" in refusals.rows[1][1]
    assert [entry["row"] for entry in json.loads((tmp_path / "rows/refused.json").read_text())["refused"]] == [5, 10]
    with pytest.raises(ConfigError, match=r"data\.max_refused=0\.02.*row 5"):
        convert(source, tmp_path / "strict", max_refused=0.02)
    assert not (tmp_path / "strict/rows.jsonl").exists()


@pytest.mark.parametrize("array", [True, False])
def test_gen_searcher_records_are_read(folder: Path, array: bool) -> None:
    source = folder / "sft_data.json"
    records = [gen_searcher(), gen_searcher()]
    source.write_text(json.dumps(records, indent=1) if array else "\n".join(map(json.dumps, records)), encoding="utf-8")
    assert convert(source, folder / "rows").rows == []
    rows = RowFolder(folder / "rows")
    assert len(rows) == 2
    reply = rows[1].messages[3]
    assert reply["role"] == "tool"
    assert [block["type"] for block in reply["content"]] == ["image", "image", "text"]
    stored = [rows.images.get(digest).getpixel((5, 5)) for digest in digests_of(rows[1].messages)]
    assert stored[0][0] < 50 < 150 < stored[1][0]
    answer = rows[1].messages[4]["tool_calls"][0]["function"]
    assert answer["name"] == "answer"
    assert answer["arguments"]["reference_images"][0]["img_id"] == "IMG_001"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda row: row.update(images=["pictures/0.jpg"]), "2 <image> marks but 1 images"),
        (lambda row: row.update(images=["pictures/0.jpg", "pictures/9.jpg"]), "9.jpg"),
        (lambda row: row.update(messages=[]), "'messages' is missing or empty"),
        (lambda row: row["messages"].__setitem__(1, {"role": "robot", "content": "x"}), "message 1"),
        (lambda row: row["messages"][2].update(content="<tool_call>{'name': 1}</tool_call>"), "not valid JSON"),
        (lambda row: row["messages"][2].update(content='<tool_call>{"arguments": {}}</tool_call>'), "no name"),
        (lambda row: row["messages"][2].update(content="<think>only a thought"), "<think> is not closed"),
        (lambda row: row["messages"][2].update(content="I know it."), "1 tool responses to 0 tool calls"),
        (lambda row: row["messages"][4].update(content="</answer>"), "closes nothing"),
        (lambda row: row["messages"].__delitem__(slice(2, 5)), "marks but"),
    ],
)
def test_a_refused_record_says_why(folder: Path, change: Any, reason: str) -> None:
    row = gen_searcher()
    change(row)
    with pytest.raises(DataError, match=reason.replace("<", "\\<")):
        read_row(row, 1, folder / "x.json", ImageStore())


def test_an_undecodable_picture_is_refused(folder: Path) -> None:
    (folder / "pictures/1.jpg").write_bytes(b"no picture")
    with pytest.raises(DataError, match=r"1\.jpg.*not a readable picture"):
        read_row(gen_searcher(), 1, folder / "x.json", ImageStore())


def test_two_observations_in_one_turn_go_to_their_calls(folder: Path) -> None:
    calls = "".join(f'<tool_call>{{"name": "search", "arguments": {{"queries": ["{q}"]}}}}</tool_call>' for q in "ab")
    row = react("s", "u", calls, "<tool_response>A</tool_response><tool_response>B</tool_response>", "<answer>done</answer>")
    messages = read_row(row, 1, folder / "x.jsonl", ImageStore()).messages
    assert [(m["tool_call_id"], text_of(m)) for m in messages if m["role"] == "tool"] == [("call_1_1", "A"), ("call_1_2", "B")]


def test_an_array_longer_than_one_read_is_streamed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainers.conversations._CHUNK", 64)
    source = folder / "many.json"
    source.write_text(json.dumps([react("s", f"question {n}", "<answer>a</answer>") for n in range(20)]), encoding="utf-8")
    convert(source, folder / "rows")
    assert [text_of(RowFolder(folder / "rows")[n].messages[1]) for n in (0, 19)] == ["question 0", "question 19"]


def test_our_own_rows_are_read_with_their_pictures(tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "own", 2)
    convert(tmp_path / "own/rows.jsonl", tmp_path / "copy")
    copy = RowFolder(tmp_path / "copy")
    assert [copy[n].to_dict() for n in range(2)] == [rows[n].to_dict() for n in range(2)]
    for digest in digests_of(copy[1].messages):
        assert copy.images.png(digest) == rows.images.png(digest)


@pytest.mark.parametrize("content", ["", "[]", "\n\n"])
def test_an_empty_file_names_the_setting(tmp_path: Path, content: str) -> None:
    (tmp_path / "empty.json").write_text(content)
    with pytest.raises(ConfigError, match=r"data\.path="):
        convert(tmp_path / "empty.json", tmp_path / "rows")


@pytest.mark.parametrize(
    "bad",
    [
        b'{"messages": [{"role": "user", "content": "\xff\xfe"}]}',
        b'{"messages": [{"role": "user", "content": "hi \\ud800"}, {"role": "assistant", "content": "<answer>yes</answer>"}]}',
        b"[" * 5000,
        b'{"messages": [{"role": "user", "content": "<image>"}, {"role": "assistant", "content": "x"}], '
        b'"images": ["a\\u0000.png"]}',
    ],
)
def test_hostile_rows_are_named_and_cost_nothing_else(bad: bytes, tmp_path: Path) -> None:
    good = b'{"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "<answer>a</answer>"}]}'
    (tmp_path / "mixed.jsonl").write_bytes(b"\n".join([good, bad, good]) + b"\n")
    refusals = convert(tmp_path / "mixed.jsonl", tmp_path / "rows", max_refused=0.5)
    assert refusals.total == 3
    assert [number for number, _ in refusals.rows] == [2]
