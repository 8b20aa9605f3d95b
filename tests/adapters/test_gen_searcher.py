from __future__ import annotations

import errno
import json
import subprocess
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.adapters.sample_episodes import answered, out_of_calls, web_down
from wildenv.adapters.gen_searcher import export_results, import_results, import_tasks, read_row
from wildenv.adapters.gen_searcher.export import JUDGE_INPUT, MAX_CHARS, RESULTS
from wildenv.adapters.gen_searcher.wording import TERMINATIONS, termination, written
from wildenv.episode import Episode, read_episodes
from wildenv.errors import ConfigError, DataError
from wildenv.images import ImageStore, decode
from wildenv.messages import ToolCall, observation_text, parse_answer, text_of
from wildenv.task import load_jsonl

ISSUED = date(2026, 4, 1)


def _rows(folder: Path, name: str = RESULTS) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((folder / name).read_text(encoding="utf-8"))
    return rows


def _chat(episode: Episode) -> list[Any]:
    """What both formats can say of a chat: roles, text with the places of pictures, calls without ids, pictures."""
    chat: list[Any] = []
    for message in episode.messages:
        pictures = [block["digest"] for block in message["content"] if block["type"] == "image"]
        if message["role"] == "assistant":
            functions = [call["function"] for call in message.get("tool_calls", [])]
            calls = [(f["name"], f["arguments"] if f["name"] != "answer" else _answer(f["arguments"])) for f in functions]
            chat.append(("assistant", text_of(message), calls))
        else:
            chat.append((message["role"], message.get("name"), observation_text([{**message, "role": "user"}]), pictures))
    return chat


def _answer(arguments: dict[str, Any]) -> Any:
    return parse_answer(ToolCall("x", "answer", arguments))


def test_a_row_has_their_fields_and_their_words(tmp_path: Path) -> None:
    env = answered()
    done = export_results([env.episode], env.store, tmp_path)
    (row,) = _rows(tmp_path)
    assert list(row) == [
        *("id", "prompt", "meta", "termination", "trajectory_messages", "gen_prompt", "reference_images", "gt_image"),
    ]
    assert (row["id"], row["termination"], row["gen_prompt"]) == ("task-0", "answer", "a teal <lantern>")
    assert row["meta"]["category"] == "lamps"
    said = [message["content"] for message in row["trajectory_messages"] if message["role"] == "assistant"]
    assert said[0].startswith('I look it up.\n<tool_call>\n{"name": "search", "arguments": {"queries": ["lantern"], "top_k": 3}}')
    assert '"name": "browse", "arguments": {"url": "https://lantern.example/launch", "query": "trim"}' in said[4]
    assert said[-1].startswith('<answer>{"gen_prompt": "a teal \\u003clantern>", "reference_images": [{"img_id": "IMG_001"}')
    assert {message["role"] for message in row["trajectory_messages"]} == {"system", "user", "assistant"}
    assert [one["img_id"] for one in row["reference_images"]] == ["IMG_001", "IMG_006"]
    assert row["reference_images"][1]["note"] == "lantern teal; part [0, 0, 500, 500] of IMG_001"
    first, crop = (ImageStore().put(decode((tmp_path / one["local_path"]).read_bytes())) for one in row["reference_images"])
    records = {one["id"]: one for one in env.episode.images}
    assert (first, crop) == (records["IMG_001"]["source"], records["IMG_006"]["source"])
    assert row["reference_images"][0]["local_path"] == "ref_images/task-0_IMG_001.png"
    for message in row["trajectory_messages"]:
        assert all((tmp_path / path).is_file() and len(path) <= 200 for path in message["images"])
    assert (done.rows, done.references, done.judge_input) == (1, 2, None)
    assert not (tmp_path / JUDGE_INPUT).exists()


@pytest.mark.parametrize(("played", "ends"), [(answered, "answered"), (out_of_calls, "turns"), (web_down, "policy")])
def test_an_episode_survives_the_round_trip_as_far_as_the_format_goes(tmp_path: Path, played: Any, ends: str) -> None:
    env = played()
    export_results([env.episode], env.store, tmp_path / "out")
    done = import_results(tmp_path / "out" / RESULTS, tmp_path / "back", "script", ISSUED)
    assert (done.episodes, done.refused) == (1, ())
    (back,) = read_episodes(tmp_path / "back")
    before = env.episode
    assert _chat(back) == _chat(before)
    assert back.answer == before.answer
    assert back.end_reason == ends
    assert (back.task_id, back.task["prompt"], back.task["issued"]) == (
        before.task_id,
        before.task["prompt"],
        before.task["issued"],
    )
    assert [(one["id"], one["digest"]) for one in back.images] == [(one["id"], one["digest"]) for one in before.images]
    handed = before.answer["references"] if before.answer else []
    sources = [{one["id"]: one["source"] for one in episode.images} for episode in (back, before)]
    assert [sources[0][one] for one in handed] == [sources[1][one] for one in handed]
    assert not back.reward_valid
    assert back.rewards == {}


def test_endings_are_translated_both_ways() -> None:
    assert termination("judge", True) == "answer"
    assert [termination(reason, False) for reason in ("budget", "turns", "context", "deadline", "web", "tool", "policy")] == [
        *("no_answer", "no_answer", "max_response_length_exceeded", "error", "error", "error", "error"),
    ]
    assert set(TERMINATIONS.values()) == {"answered", "turns", "context", "policy"}


def test_the_judges_input_has_what_their_judge_reads(tmp_path: Path) -> None:
    env, other = answered(), out_of_calls()
    drawn, truth = (env.store.put(Image.new("RGB", (40, 30), colour)) for colour in ("red", "teal"))
    env.episode.drawn = {"digest": drawn, "generator": "g", "seed": 0, "usage": {}}
    env.episode.verdicts[0]["evidence"] = {"ground_truth": [truth]}
    for digest in {one[name] for one in other.episode.images for name in ("digest", "source")}:
        env.store.put_png(other.store.png(digest))
    done = export_results([env.episode, other.episode], env.store, tmp_path)
    assert done.judge_input == tmp_path / JUDGE_INPUT
    good, bad = _rows(tmp_path, JUDGE_INPUT)
    assert (good["success"], good["meta"]["category"], good["output_path"]) == (True, "lamps", "gen_images/task-0.png")
    assert decode((tmp_path / good["output_path"]).read_bytes()).getpixel((0, 0)) == (255, 0, 0)
    assert ImageStore().put(decode((tmp_path / good["gt_image"]).read_bytes())) == truth
    assert (bad["success"], bad["output_path"], bad["error"]) == (False, "", "ended: budget")
    assert done.unjudgeable == ()


def test_the_source_id_and_category_of_an_imported_task_come_back(tmp_path: Path) -> None:
    env = answered()
    env.episode.task["meta"] = {"source": "knowgen", "source_id": 3260, "category": "Biology", "difficulty": "easy"}
    export_results([env.episode], env.store, tmp_path)
    (row,) = _rows(tmp_path)
    assert row["id"] == 3260
    assert (row["meta"]["category"], row["meta"]["difficulty"]) == ("Biology", "easy")


def test_what_their_format_does_not_take_is_an_error(tmp_path: Path) -> None:
    env = answered()
    twice = replace(env.episode, seed=99)
    with pytest.raises(ConfigError, match=r"'task-0' is there twice.*--seed"):
        export_results([env.episode, twice], env.store, tmp_path)
    with pytest.raises(ConfigError, match="no episode to export"):
        export_results([], env.store, tmp_path)
    env.episode.messages[0]["content"][0]["text"] = "x" * (MAX_CHARS + 1)
    with pytest.raises(DataError, match=r"trajectory_messages\[0\]\.content has 50001 characters"):
        export_results([env.episode], env.store, tmp_path)


def _native(tmp_path: Path) -> dict[str, Any]:
    """A row as their own agent writes it: listings with paths, no marks of pictures, pictures as JPEG."""
    for number, colour in enumerate(("teal", "red"), 1):
        Image.new("RGB", (60, 40), colour).save(tmp_path / f"{number}.jpg", quality=95)
    (tmp_path / "ref_images").mkdir()
    Image.new("RGB", (120, 80), "red").save(tmp_path / "ref_images" / "7_IMG_002.jpg")
    listing = "\n".join(
        f"IMG_00{number}: title: Lantern {number}\n  url: https://a.example/{number}.jpg\n  local_path: {number}.jpg\n"
        f"  page_url: https://a.example/page{number}"
        for number in (1, 2)
    )
    return {
        "id": 7,
        "prompt": "Draw the lantern.",
        "meta": {"category": "Art", "difficulty": "hard"},
        "termination": "answer",
        "trajectory_messages": [
            {"role": "system", "content": "Search first.", "images": []},
            {"role": "user", "content": "Draw the lantern.", "images": []},
            {
                "role": "assistant",
                "content": "<think>look</think>\n"
                '<tool_call>{"name": "image_search", "arguments": {"query": "lantern"}}</tool_call>'
                '<answer>{"gen_prompt": "too early", "reference_images": []}</answer>',
            },
            {
                "role": "user",
                "content": f"<tool_response>\n--- image search result for [q] ---\n{listing}\n--- end ---\n</tool_response>",
                "images": ["1.jpg", "2.jpg"],
            },
            {"role": "user", "content": "Answer now.", "images": []},
            {
                "role": "assistant",
                "content": '<answer>{"gen_prompt": "a red lantern", '
                '"reference_images": [{"img_id": "IMG_002", "note": "shape"}]}</answer>',
            },
        ],
        "gen_prompt": "a red lantern",
        "reference_images": [
            {"img_id": "IMG_002", "note": "shape", "local_path": "ref_images/7_IMG_002.jpg", "url": "u", "title": "t"}
        ],
        "gt_image": "",
    }


def test_a_row_of_their_own_agent_becomes_an_episode(tmp_path: Path) -> None:
    store = ImageStore()
    episode = read_row(_native(tmp_path), tmp_path, store, "gen-searcher-8b", ISSUED)
    assert episode.task["id"] == "gen-searcher-7"
    assert episode.task["meta"] == {"source": "gen-searcher", "source_id": 7, "category": "Art", "difficulty": "hard"}
    assert [message["role"] for message in episode.messages] == ["system", "user", "assistant", "tool", "user", "assistant"]
    (call,) = episode.messages[2]["tool_calls"]
    assert call["function"] == {"name": "image_search", "arguments": {"query": "lantern"}}
    first, second = episode.images
    assert (first["id"], first["url"], first["page"], first["title"]) == (
        *("IMG_001", "https://a.example/1.jpg", "https://a.example/page1", "Lantern 1"),
    )
    assert store.get(second["source"]).size == (120, 80)
    assert store.get(second["digest"]).size == (60, 40)
    assert episode.answer == {"prompt": "a red lantern", "references": ["IMG_002"]}
    assert episode.usage == {"tool_calls": 1, "turns": 2, "images": 2}
    assert [block["type"] for block in episode.messages[3]["content"]] == ["image", "image", "text"]


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda row: row.update(termination="bored"), "termination 'bored'"),
        (lambda row: row.update(termination="no_answer"), "gen_prompt and reference_images are given"),
        (lambda row: row.update(gen_prompt=" "), "gen_prompt is empty"),
        (lambda row: row.update(gen_prompt=3), "gen_prompt is 3, not a text"),
        (lambda row: row["reference_images"][0].update(img_id="IMG_009"), r"reference_images\[0\]\.img_id is 'IMG_009'"),
        (
            lambda row: row["reference_images"][0].update(local_path="none.jpg"),
            r"reference_images\[0\]\.local_path is 'none.jpg'",
        ),
        (lambda row: row["trajectory_messages"][3].update(images=["1.jpg", "x.jpg"]), r"trajectory_messages\[3\]\.images\[1\]"),
        (lambda row: row["trajectory_messages"][3].update(image_ids=["IMG_001"]), "do not go together"),
        (lambda row: row["trajectory_messages"][3].update(image_ids=["IMG_001"] * 2), "IMG_001 was another picture"),
        (lambda row: row["trajectory_messages"][2].update(images=["1.jpg"]), r"trajectory_messages\[2\]\.images"),
        (lambda row: row["trajectory_messages"][1].update(role="robot"), r"trajectory_messages\[1\]\.role is 'robot'"),
        (lambda row: row["trajectory_messages"][1].update(content=None), r"trajectory_messages\[1\] is no object"),
        (lambda row: row.update(trajectory_messages="x"), "trajectory_messages is"),
        (lambda row: row.update(prompt=""), "no text under 'prompt'"),
        (lambda row: row.update(id=True), "'id' is True"),
    ],
)
def test_a_row_that_no_episode_can_represent_names_the_field(tmp_path: Path, damage: Any, says: str) -> None:
    row = _native(tmp_path)
    damage(row)
    with pytest.raises(DataError, match=says):
        read_row(row, tmp_path, ImageStore(), "p", ISSUED)


def test_refused_rows_do_not_stop_the_others(tmp_path: Path) -> None:
    row = _native(tmp_path)
    (tmp_path / RESULTS).write_text(json.dumps([row, {**row, "id": 8, "termination": "bored"}]))
    done = import_results(tmp_path / RESULTS, tmp_path / "episodes", "p", ISSUED)
    assert done.episodes == 1
    assert [name for name, _ in done.refused] == ["8"]
    assert [episode.policy for episode in read_episodes(tmp_path / "episodes")] == ["p"]


def _knowgen(tmp_path: Path) -> Path:
    (tmp_path / "gt_image").mkdir()
    Image.new("RGB", (50, 50), "teal").save(tmp_path / "gt_image" / "answer_3260.png")
    rows = [
        {
            "id": 3260,
            "prompt": "A new beetle on a leaf.",
            "meta": {"category": "Biology", "difficulty": "multiple subject"},
            "gt_image": "./gt_image/answer_3260.png",
            "gen_image": "old.png",
        },
        {"prompt": "A poster.", "meta": {"category": "Posters"}},
    ]
    path = tmp_path / "KnowGen-Bench.json"
    path.write_text(json.dumps(rows))
    return path


def test_a_knowgen_file_becomes_tasks_with_their_pictures(tmp_path: Path) -> None:
    done = import_tasks(_knowgen(tmp_path), tmp_path / "out" / "tasks.jsonl", "knowgen", ISSUED, "test")
    assert (done.tasks, done.pictures, dict(done.ignored)) == (2, 1, {"gen_image": 1})
    first, second = load_jsonl(tmp_path / "out" / "tasks.jsonl")
    assert (first.id, first.issued, first.subcategory) == ("knowgen-3260", ISSUED, "Biology")
    expected = {"source": "knowgen", "source_id": 3260, "category": "Biology", "difficulty": "multiple subject", "split": "test"}
    assert dict(first.meta) == expected
    picture = ImageStore(tmp_path / "out" / "images").get(first.ground_truth[0])
    assert (picture.size, picture.getpixel((0, 0))) == ((50, 50), (0, 128, 128))
    assert (second.id, second.ground_truth) == ("knowgen-1", ())


def test_genevolve_and_gen_searcher_rows_are_read_too(tmp_path: Path) -> None:
    path = tmp_path / "test.jsonl"
    row = {"id": "0", "question": "Draw it.", "eval_type": "Knowledge-Anchored", "category": "landmark", "difficulty": "hard"}
    path.write_text(
        json.dumps({**row, "extra_info": {"answer": "secret"}}) + "\n\n" + json.dumps({"id": "1", "prompt": "Draw."}) + "\n"
    )
    done = import_tasks(path, tmp_path / "tasks.jsonl", "genevolve", ISSUED)
    first, second = load_jsonl(tmp_path / "tasks.jsonl")
    assert (first.prompt, first.domain, first.subcategory) == ("Draw it.", "Knowledge-Anchored", "landmark")
    assert "secret" not in json.dumps(first.to_dict())
    assert dict(done.ignored) == {"extra_info": 1}
    assert (second.domain, dict(second.meta)) == ("", {"source": "genevolve", "source_id": "1"})


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([{"id": 1, "prompt": "x", "gt_image": "none.png"}], "row 1: 'gt_image' is 'none.png'"),
        ([{"id": 1, "prompt": "x"}, {"id": 1, "prompt": "y"}], "row 2: id 1 is there twice"),
        ([{"id": 1}], "row 1: it has no text under 'prompt'"),
        ([3], "row 1: it is int"),
        ([], "no row in it"),
    ],
)
def test_a_wrong_task_row_is_named(tmp_path: Path, rows: list[Any], says: str) -> None:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(rows))
    with pytest.raises(DataError, match=says):
        import_tasks(path, tmp_path / "tasks.jsonl", "s", ISSUED)
    assert not (tmp_path / "tasks.jsonl").exists()


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b'[{"id": 1, "prompt": "caf\xe9"}]', "is not UTF-8"),
        pytest.param(b"[" * 100_000, "nested too deeply", id="deep"),
        (b'[{"id": 1, "prompt": "x", "meta": {"category": NaN}}]', "NaN is not a finite number"),
        (b'{"id": 1, "prompt": "x", "difficulty": 1e999}', "1e999 is not a finite number"),
    ],
)
def test_a_file_that_cannot_be_read_leaves_the_tasks_that_are_there(tmp_path: Path, data: bytes, says: str) -> None:
    path, out = tmp_path / "rows.json", tmp_path / "tasks.jsonl"
    path.write_bytes(data)
    out.write_text("old")
    with pytest.raises(DataError, match=says):
        import_tasks(path, out, "s", ISSUED, force=True)
    assert out.read_text() == "old"
    assert sorted(one.name for one in tmp_path.iterdir() if one.is_file()) == ["rows.json", "tasks.jsonl"]


def test_a_full_disk_leaves_the_tasks_that_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, out = tmp_path / "rows.json", tmp_path / "tasks.jsonl"
    path.write_text('[{"id": 1, "prompt": "x"}]')
    out.write_text("old")

    def full(self: Path, text: str, encoding: str) -> int:
        self.write_bytes(text.encode()[:5])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(ConfigError, match=r"--out .*tasks\.jsonl cannot be written \(No space left on device\)"):
        import_tasks(path, out, "s", ISSUED, force=True)
    assert out.read_text() == "old"
    assert not list(tmp_path.glob("*.part*"))


def test_texts_that_no_file_can_hold_and_line_breaks_of_unicode_are_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": 1, "prompt": "half \\ud800"}\n{"id": 2, "prompt": "two\u2028lines"}\n', encoding="utf-8")
    import_tasks(path, tmp_path / "tasks.jsonl", "s", ISSUED)
    assert [task.prompt for task in load_jsonl(tmp_path / "tasks.jsonl")] == ["half ?", "two\u2028lines"]
    env = answered()
    env.episode.answer["prompt"] = "half \ud800"
    done = export_results([env.episode], env.store, tmp_path / "gs")
    assert json.loads(done.results.read_text(encoding="utf-8"))[0]["gen_prompt"] == "half ?"


def test_results_are_not_read_into_a_folder_that_is_being_written(tmp_path: Path) -> None:
    (tmp_path / RESULTS).write_text('[{"id": 8, "termination": "bored"}]')
    code = (
        "import sys\nfrom wildenv.lock import only_writer\n"
        "with only_writer(sys.argv[1]):\n    print('held', flush=True)\n    sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "episodes")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(ConfigError, match="another run is writing --out="):
            import_results(tmp_path / RESULTS, tmp_path / "episodes", "p", ISSUED)
        other.communicate()
    assert import_results(tmp_path / RESULTS, tmp_path / "episodes", "p", ISSUED).episodes == 0


def test_a_query_that_is_no_list_is_written_as_one() -> None:
    arguments = {"queries": "lantern", "k": 2}
    call = {"id": "x", "type": "function", "function": {"name": "text_search", "arguments": arguments}}
    _, said = written({"role": "assistant", "content": [], "tool_calls": [call]})
    assert '"arguments": {"queries": ["lantern"], "top_k": 2}' in said
    assert arguments == {"queries": "lantern", "k": 2}
