from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wildenv.cli.main import main
from wildenv.cli.output import say_table, shortened, size
from wildenv.web.packs.listing import describe
from wildenv.web.packs.pack import export_pack, pack_digest
from wildenv.web.request import WebRequest
from wildenv.web.store import Blob, Store

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command in this process; returns exit code, output and error output."""

    def call(*arguments: object) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def put(store: Store, tool: str, text: str, response: dict[str, Any], blob: Blob | None = None) -> None:
    request = WebRequest(tool, "fake", "1", {"query" if "search" in tool else "url": text})
    if blob is not None:
        response = {"blob": blob.digest, "media_type": blob.media_type}
    store.put(tool, request.key, request.to_dict(), response, blob)


def results(*names: str) -> dict[str, Any]:
    return {"results": [{"title": name, "url": f"https://{name}.example", "published": "2026-07-01"} for name in names]}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two stores and their packs, which differ in one answer, in the folder the test runs in."""
    for name, hits, url in (("a", ("one", "two"), "https://x.example/a"), ("b", ("two", "three"), "https://x.example/b")):
        with Store(tmp_path / f"{name}.sqlite") as store:
            put(store, "text_search", "teal lantern", results(*hits))
            put(store, "fetch_page", url, {"page": {"url": url, "title": "T", "text": "words", "published": None}})
            put(store, "fetch_image", "https://x.example/i.png", {}, Blob(b"x" * 2_000, "image/png"))
            gap = WebRequest("fetch_page", "fake", "1", {"url": "https://down.example"})
            store.note_gap("fetch_page", gap.key, gap.to_dict())
            export_pack(store, tmp_path / f"{name}.pack")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def damage(path: Path) -> None:
    raw = sqlite3.connect(path, isolation_level=None)
    raw.execute("UPDATE entries SET response = '{\"results\":[]}' WHERE tool = 'text_search'")
    raw.close()


def test_list_shows_requests_and_filters(files: Path, run: Run) -> None:
    code, out, _ = run("pack", "list", "a.pack")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].split() == ["tool", "cutoff", "provider", "answer", "query", "or", "address"]
    assert len({line.index("fake 1") for line in lines[1:5]}) == 1, "columns are aligned"
    assert any("no answer" in line and "https://down.example" in line for line in lines)
    assert lines[-1] == "4 requests"
    _, out, _ = run("pack", "list", "a.sqlite", "--tool", "text_search", "--text", "LANTERN")
    assert out.splitlines()[-1] == "1 request"
    _, out, _ = run("pack", "list", "a.pack", "--limit", 2)
    assert out.splitlines()[-2:] == ["... 2 more; --limit 0 shows all", "4 requests"]
    _, out, _ = run("pack", "list", "a.pack", "--text", "words", "--inside", "--json")
    assert [one["text"] for one in json.loads(out)] == ["https://x.example/a"]


def test_verify_says_sound_or_damaged(files: Path, run: Run) -> None:
    code, out, _ = run("pack", "verify", "a.pack")
    assert code == 0
    assert f"a.pack: sound, 1 blob, {size((files / 'a.pack').stat().st_size)}, content digest {pack_digest('a.pack')}" in out
    assert ["fetch_page", "1", "1"] in [line.split() for line in out.splitlines()]
    _, out, _ = run("pack", "verify", "a.pack", "--json")
    assert json.loads(out)["gaps"] == {"fetch_page": 1}
    damage(files / "a.pack")
    code, out, err = run("pack", "verify", "a.pack")
    assert (code, err) == (1, "")
    assert "text_search 'teal lantern'" in out
    code, out, _ = run("pack", "verify", "a.pack", "--json")
    assert (code, json.loads(out)["sound"]) == (1, False)


def test_diff_is_readable_and_says_so_by_its_code(files: Path, run: Run) -> None:
    code, out, _ = run("pack", "diff", "a.pack", "b.pack")
    assert code == 1
    assert "only in a.pack: 1" in out
    assert "text_search teal lantern (fake 1): 2 results -> 2 results\n    - 1. one <https://one.example>" in out
    assert out.splitlines()[-1] == "2 requests the same, 1 changed, 1 only in a.pack, 1 only in b.pack"
    code, out, _ = run("pack", "diff", "a.pack", "a.sqlite")
    assert (code, out) == (0, "4 requests the same, 0 changed, 0 only in a.pack, 0 only in a.sqlite\n")
    code, out, _ = run("pack", "diff", "a.pack", "b.pack", "--json")
    assert (code, len(json.loads(out)["changed"])) == (1, 1)


def test_stats_for_people_and_programs(files: Path, run: Run) -> None:
    code, out, _ = run("pack", "stats", "a.pack")
    assert code == 0
    assert "a.pack: 3 entries, 1 gap, " in out
    assert "image/png         1  2,000" in out
    assert "published: 2 results and pages dated, from 2026-07-01 to 2026-07-01; 1 undated" in out
    _, out, _ = run("pack", "stats", "a.pack", "--json")
    assert json.loads(out)["by_provider"]["fake 1"]["entries"] == 3


def test_merge_lists_conflicts(files: Path, run: Run) -> None:
    code, out, _ = run("pack", "merge", "a.pack", "b.pack", "--out", "m.pack", "--prefer", "last")
    assert code == 0
    assert out.startswith("1 request with different answers:\n")
    assert ["text_search", "teal", "lantern", "b.pack", "a.pack"] in [line.split() for line in out.splitlines()]
    assert f"m.pack: 4 entries, 1 gap (0 closed), content digest {pack_digest('m.pack')}" in out
    code, out, err = run("pack", "merge", "a.pack", "b.pack", "--out", "n.pack", "--prefer", "fail")
    assert (code, out) == (2, "")
    assert "1 request has different answers" in err
    assert not Path("n.pack").exists()
    _, out, _ = run("pack", "merge", "a.pack", "b.pack", "--out", "m.pack", "--json", "--force")
    assert json.loads(out)["conflicts"][0]["kept"] == "a.pack"


def test_export_import_and_back_is_the_same_web(files: Path, run: Run) -> None:
    code, out, _ = run("pack", "import", "a.pack", "new.sqlite")
    assert (code, out) == (
        0,
        "new.sqlite: 3 entries added, 0 there already, 0 with another answer left as they were; 1 gap added, 0 closed\n",
    )
    _, out, _ = run("pack", "import", "b.pack", "new.sqlite", "--json")
    assert json.loads(out) == {"added": 1, "same": 1, "conflicting": 1, "gaps": 0, "closed": 0}
    run("pack", "import", "a.pack", "again.sqlite")
    code, out, _ = run("pack", "export", "again.sqlite", "again.pack")
    assert code == 0
    assert pack_digest("a.pack") in out
    assert Path("again.pack").read_bytes() == Path("a.pack").read_bytes()


def test_a_folder_is_written_looked_at_and_pulled(files: Path, run: Run) -> None:
    code, out, _ = run("pack", "push", "a.pack", "me/lanterns", "--folder", "shared", "--dry-run", "--title", "Lanterns")
    assert code == 0
    assert "look at shared/README.md" in out
    assert "# Lanterns" in Path("shared/README.md").read_text()
    code, out, _ = run("pack", "pull", "shared", "--out", "pulled.pack")
    assert code == 0
    assert Path("pulled.pack").read_bytes() == Path("a.pack").read_bytes()
    assert run("pack", "verify", "shared")[0] == 0
    assert "name it with --folder" in run("pack", "push", "a.pack", "me/lanterns", "--dry-run")[2]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["pack", "verify", "nothing"], "there is no pack at nothing"),
        (["pack", "verify", "a.sqlite"], None),
        (["pack", "list", "nothing"], "does not exist"),
        (["pack", "stats", "text"], "not a store"),
        (["pack", "diff", "a.pack", "nothing"], "nothing does not exist"),
        (["pack", "export", "a.pack", "a.pack/x"], "a.pack"),
        (["pack", "export", "nothing", "x.pack"], "nothing does not exist"),
        (["pack", "import", "a.pack", "b.pack"], "is a pack, which is never written to"),
        (["pack", "pull", "hf://a", "--out", "x"], "write hf://datasets/OWNER/NAME"),
        (["pack", "pull", "a.pack", "--out", "."], "is no file"),
        (["pack", "push", "a.pack", "lanterns"], "write OWNER/NAME"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_on_stderr(files: Path, run: Run, arguments: list[str], says: str | None) -> None:
    (files / "text").write_text("not a database " * 400)
    code, out, err = run(*arguments)
    if says is None:
        assert (code, err) == (1, "")
        assert "is a store, not a pack" in out
        return
    assert (code, out) == (2, "")
    assert err.startswith("wildenv: ")
    assert says in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    [
        "",
        "record",
        "replay",
        "pack",
        *(f"pack {name}" for name in "list verify merge diff stats export import push pull".split()),
    ],
)
def test_every_command_has_help_with_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([*command.split(), "--help"])
    assert end.value.code == 0
    out = capsys.readouterr().out
    assert f"\n  wildenv {command.split(' ')[0] or 'record'}" in out
    assert "example:" in out or "a tour" in out


@pytest.mark.parametrize("arguments", [[], ["pack"], ["nonsense"], ["pack", "list"], ["pack", "list", "a", "--tool", "x"]])
def test_a_wrong_command_line_exits_with_two(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert "usage: wildenv" in capsys.readouterr().err


def test_the_module_runs_and_survives_a_closed_pipe(files: Path) -> None:
    command = [sys.executable, "-m", "wildenv", "pack", "list", "a.pack"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "4 requests"), done.stderr
    reading, writing = os.pipe()
    os.close(reading)
    closed = subprocess.run(command, env=environment, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(writing)
    assert (closed.returncode, closed.stderr) == (0, "")


def test_nothing_is_lost_under_an_output(files: Path, run: Run) -> None:
    """What is no pack and what is read from is never replaced, a pack only if it is asked for."""
    (files / "requests.jsonl").write_text('{"tool": "fetch_image", "url": "https://x.example/i.png"}\n')
    (files / "empty").touch()
    (files / "web_extension").mkdir()
    (files / "web_extension" / "manifest.json").write_text('{"manifest_version": 3}')
    run("pack", "push", "a.pack", "me/lanterns", "--folder", "shared", "--dry-run")
    before = {path: path.read_bytes() for path in files.rglob("*") if path.is_file()}
    for arguments, says in (
        (["export", "a.sqlite", "requests.jsonl"], "requests.jsonl is there and is no pack"),
        (["export", "a.sqlite", "empty"], "empty is there and is no pack"),
        (["export", "a.sqlite", "b.sqlite"], "b.sqlite is there and is no pack"),
        (["export", "a.sqlite", "a.sqlite"], "a.sqlite is what the pack is made of"),
        (["export", "a.sqlite", "b.pack"], "b.pack is there already; give the pack another path, or give --force"),
        (["merge", "a.pack", "b.pack", "--out", "a.pack"], "a.pack is what the pack is made of"),
        (["merge", "a.sqlite", "b.pack", "--out", "a.pack"], "a.pack is there already"),
        (["merge", "a.pack", "b.pack", "--out", "requests.jsonl"], "is no pack"),
        (["pull", "shared", "--out", "shared/web.pack"], "shared/web.pack is what the pack is made of"),
        (["pull", "shared", "--out", "requests.jsonl"], "is no pack"),
        (["pull", "shared", "--out", "b.pack"], "b.pack is there already"),
        (["push", "a.pack", "me/x", "--folder", "web_extension", "--dry-run"], "is there and is no manifest of a pack"),
    ):
        for force in ([], ["--force"]) if "already" not in says and "push" not in arguments else ([],):
            code, out, err = run("pack", *arguments, *force)
            assert (code, out) == (2, ""), arguments
            assert says in err
    after = {path: path.read_bytes() for path in before}
    assert after == before
    assert run("pack", "export", "a.sqlite", "b.pack", "--force")[0] == 0
    assert pack_digest("b.pack") == pack_digest("a.pack")


def test_settings_of_a_pack_command_are_checked(files: Path, run: Run) -> None:
    for command in (["list", "a.pack"], ["diff", "a.pack", "b.pack"], ["merge", "a.pack", "b.pack", "--out", "m.pack"]):
        code, _, err = run("pack", *command, "--limit", "-1")
        assert (code, err) == (2, "wildenv: --limit -1 must be at least 0\n")
    code, _, err = run("pack", "push", "a.pack", "lanterns", "--folder", "f", "--dry-run")
    assert (code, "write OWNER/NAME" in err, Path("f").exists()) == (2, True, False)
    code, _, err = run("pack", "diff", "a.pack", "./a.pack")
    assert (code, err) == (2, "wildenv: a.pack and ./a.pack are the same file; name two\n")


def test_a_folder_for_sharing_is_read_like_a_pack(files: Path, run: Run) -> None:
    run("pack", "push", "a.pack", "me/lanterns", "--folder", "shared", "--dry-run")
    assert "shared/web.pack: 3 entries" in run("pack", "stats", "shared")[1]
    assert run("pack", "list", "shared")[1].splitlines()[-1] == "4 requests"
    assert run("pack", "diff", "shared", "b.pack")[0] == 1
    assert run("pack", "merge", "shared", "b.pack", "--out", "m.pack")[0] == 0


def test_errors_speak_the_language_of_the_command(files: Path, run: Run) -> None:
    for arguments, says in (
        (["pack", "verify", "a.sqlite"], "a.sqlite is a store, not a pack; make a pack of it with wildenv pack export\n"),
        (["pack", "stats", "nothing"], "nothing does not exist; record it first with wildenv record\n"),
        (["pack", "import", "nothing", "x.sqlite"], "there is no pack at nothing; name the pack file\n"),
        (["pack", "import", "a.pack", "b.pack"], "b.pack is a pack, which is never written to; use wildenv replay, or import"),
        (["pack", "merge", "a.pack", "b.pack", "--out", "m", "--prefer", "fail"], "Choose --prefer first or --prefer last"),
        (["replay", "eps", "--web", "a.pack", "--tasks", "nothing.txt"], "no episodes there"),
    ):
        _, out, err = run(*arguments)
        assert says in out + err, (arguments, out + err)
        assert "web." not in (out + err).replace("wildenv.", "")


@pytest.mark.parametrize(("arguments", "usage"), [([], "usage: wildenv [-h]"), (["pack"], "usage: wildenv pack [-h]")])
def test_a_group_alone_prints_its_help(arguments: list[str], usage: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    said = capsys.readouterr().err
    assert (end.value.code, said.startswith(usage), "pack" in said) == (2, True, True)


def test_an_unknown_option_shows_the_usage_of_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["pack", "stats", "a.pack", "--nosuch"])
    said = capsys.readouterr().err
    assert (end.value.code, said.startswith("usage: wildenv pack stats")) == (2, True)
    assert said.splitlines()[-1] == "wildenv pack stats: error: there is no such option or argument: --nosuch"


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert (end.value.code, capsys.readouterr().out.startswith("wildenv ")) == (0, True)


@pytest.mark.parametrize("way", ["module", "script"])
def test_ctrl_c_while_modules_are_imported_is_one_line(tmp_path: Path, way: str) -> None:
    (tmp_path / "gymnasium.py").write_text("import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(30)\n")
    script = tmp_path / "wildenv_script" / "wildenv"
    script.parent.mkdir()
    script.write_text("from wildenv.cli.main import main\nmain()\n")
    root = str(Path(__file__).parents[2])
    command = [sys.executable, "-m", "wildenv"] if way == "module" else [sys.executable, str(script)]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{root}"}
    done = subprocess.run([*command, "--help"], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=25)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "wildenv: stopped\n")


def test_answers_are_counted_in_words() -> None:
    assert describe({"results": [1]}) == "1 result"
    assert describe({"results": []}) == "0 results"
    assert describe({"page": {"text": "x"}}) == "page of 1 character"
    assert describe({"said": "xy"}) == "2 characters said"


def test_tables_and_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    say_table(("name", "count"), [("a", 5), ("longer", 1234)])
    say_table(("nothing",), [])
    assert capsys.readouterr().out == "name    count\na           5\nlonger  1,234\n"
    assert shortened("a  b\nc" * 9, 12) == "a b ca b ..."
    assert [size(n) for n in (0, 999, 1_000, 12_345, 999_600, 5 * 10**9, 7 * 10**12)] == [
        "0 B",
        "999 B",
        "1 kB",
        "12.3 kB",
        "1 MB",
        "5 GB",
        "7 TB",
    ]
