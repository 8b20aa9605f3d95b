from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from tests.adapters.sample_episodes import answered, out_of_calls, write
from wildenv.cli.main import main
from wildenv.episode import read_episodes
from wildenv.task import load_jsonl


def _run(*arguments: str | Path) -> int:
    return main([str(one) for one in arguments])


def test_episodes_go_to_gen_searcher_and_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = write(tmp_path / "episodes", answered(), out_of_calls())
    assert _run("export", "gen-searcher", tmp_path / "episodes", "--out", tmp_path / "gs") == 0
    said = capsys.readouterr().out
    assert "2 rows, 2 reference pictures" in said
    assert "no episode was drawn" in said
    results = tmp_path / "gs" / "results.json"
    assert (
        _run("import", "gen-searcher", results, "--results", "--policy", "p", "--issued", "2026-05-01", "--out", tmp_path / "b")
        == 0
    )
    assert {one.task_id: one.answer for one in read_episodes(tmp_path / "b")} == {one.task_id: one.answer for one in before}


def test_one_seed_can_be_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "episodes", answered(), out_of_calls())
    assert _run("export", "gen-searcher", tmp_path / "episodes", "--seed", "6", "--out", tmp_path / "gs") == 0
    assert [row["id"] for row in json.loads((tmp_path / "gs" / "results.json").read_text())] == ["task-1"]
    assert _run("export", "gen-searcher", tmp_path / "episodes", "--seed", "8", "--out", tmp_path / "none") == 2
    assert "no episode to export" in capsys.readouterr().err


def test_a_log_for_inspect_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = pytest.importorskip("inspect_ai.log", reason="needs the extra 'inspect'")
    write(tmp_path / "episodes", answered(), out_of_calls())
    out = tmp_path / "logs" / "episodes.eval"
    assert _run("export", "inspect", tmp_path / "episodes", "--out", out, "--task", "savanna") == 0
    assert "2 episodes" in capsys.readouterr().out
    assert [sample.id for sample in log.read_eval_log(str(out)).samples] == ["task-0", "task-1"]
    assert _run("export", "inspect", tmp_path / "episodes", "--out", tmp_path / "x.txt") == 2
    assert "ends with .eval or .json" in capsys.readouterr().err


def test_what_is_there_is_replaced_only_if_asked_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "episodes", answered())
    (tmp_path / "bench.json").write_text('[{"id": 1, "prompt": "Draw."}]')
    tasks, results = tmp_path / "tasks.jsonl", tmp_path / "gs" / "results.json"
    imports = ("import", "gen-searcher", tmp_path / "bench.json", "--out", tasks, "--source", "s", "--issued", "2026-04-01")
    exports = ("export", "gen-searcher", tmp_path / "episodes", "--out", results.parent)
    for path, command in ((tasks, imports), (results, exports)):
        path.parent.mkdir(exist_ok=True)
        path.write_text("somebody's work")
        assert _run(*command) == 2
        assert f"--out {path} is there already; name another file, or replace it with --force" in capsys.readouterr().err
        assert path.read_text() == "somebody's work"
        assert _run(*command, "--force") == 0
        assert path.read_text() != "somebody's work"


def test_a_log_that_is_there_is_replaced_only_if_asked_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "episodes", answered())
    out = tmp_path / "old.json"
    out.write_text("old")
    assert _run("export", "inspect", tmp_path / "episodes", "--out", out) == 2
    assert "is there already" in capsys.readouterr().err
    pytest.importorskip("inspect_ai.log", reason="needs the extra 'inspect'")
    assert _run("export", "inspect", tmp_path / "episodes", "--out", out, "--force") == 0
    assert json.loads(out.read_text())["status"] == "success"
    assert [one.name for one in tmp_path.glob("old*")] == ["old.json"]


def test_tasks_are_imported_with_their_pictures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Image.new("RGB", (20, 20), "teal").save(tmp_path / "a.png")
    rows = [{"id": 1, "prompt": "Draw.", "meta": {"category": "Art"}, "gt_image": "a.png", "gen_image": "b.png"}]
    (tmp_path / "bench.json").write_text(json.dumps(rows))
    options = ("--source", "knowgen", "--split", "test", "--issued", "2026-04-01")
    assert _run("import", "gen-searcher", tmp_path / "bench.json", "--out", tmp_path / "t" / "tasks.jsonl", *options) == 0
    said = capsys.readouterr().out
    assert "1 task, 1 with a ground-truth picture" in said
    assert "not taken over: gen_image (1)" in said
    (task,) = load_jsonl(tmp_path / "t" / "tasks.jsonl")
    assert (task.id, task.meta["split"], task.meta["category"]) == ("knowgen-1", "test", "Art")


def test_refused_rows_are_listed_and_the_answer_is_no(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "results.json").write_text(json.dumps([{"id": 5, "prompt": "x", "termination": "bored"}]))
    options = ("--results", "--policy", "p", "--issued", "2026-04-01", "--out", tmp_path / "e")
    assert _run("import", "gen-searcher", tmp_path / "results.json", *options) == 1
    said = capsys.readouterr().out
    assert "0 episodes" in said
    assert "termination 'bored'" in said


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--out", "t.jsonl", "--issued", "2026-04-01"), "--source is missing"),
        (("--out", "t.json", "--issued", "2026-04-01", "--source", "s"), "ends with .jsonl"),
        (("--out", "t.jsonl", "--issued", "soon", "--source", "s"), "--issued soon"),
        (("--out", "e", "--issued", "2026-04-01", "--results"), "--policy is missing"),
    ],
)
def test_a_wrong_option_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], says: str) -> None:
    assert _run("import", "gen-searcher", tmp_path / "rows.json", *options) == 2
    assert says in capsys.readouterr().err
