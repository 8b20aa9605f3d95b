"""The files of the report, without a browser."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from benchmarks.report import lines_of
from benchmarks.reporting.bundle import Bundle, write_report
from benchmarks.reporting.run import Run, read_runs
from tests.benchmarks.made_episodes import Maker, settings
from wildenv.errors import ConfigError, DataError

HOSTILE = "</script><script>alert(1)</script><!--<script> \"'&amp; \u2028\u2029 {{script}} $\\frac{"


class _Scripts(HTMLParser):
    """Collects the scripts of a page and every address in an attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.addresses: list[str] = []
        self.policy = ""
        self._open = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.addresses += [value for name, value in attrs if name in ("src", "href", "action", "data") and value]
        if found.get("http-equiv") == "Content-Security-Policy":
            self.policy = found["content"] or ""
        if tag == "script":
            self._open = True
            self.scripts.append((found, ""))

    def handle_endtag(self, tag: str) -> None:
        self._open = self._open and tag != "script"

    def handle_data(self, data: str) -> None:
        if self._open:
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)


def _write(maker: Maker, folder: Path, **changes: Any) -> Bundle:
    return write_report([maker.run(**changes)], folder, settings(**changes), progress=False)


def _read(page: Path) -> _Scripts:
    parser = _Scripts()
    parser.feed(page.read_text(encoding="utf-8"))
    return parser


def _blocks(page: Path) -> dict[str, Any]:
    return {str(attributes["id"]): json.loads(text) for attributes, text in _read(page).scripts if attributes.get("id")}


def _details(page: Path) -> list[dict[str, Any]]:
    blocks = _blocks(page)
    packed = [blocks[f"details-{number}"] for number in range(sum(name.startswith("details-") for name in blocks))]
    return [one for block in packed for one in json.loads(gzip.decompress(base64.b64decode(block)))]


def _pictures(page: Path) -> list[bytes]:
    blocks = _blocks(page)
    count = sum(name.startswith("pictures-") for name in blocks)
    return [base64.b64decode(one) for number in range(count) for one in blocks[f"pictures-{number}"]]


def test_hostile_texts_stay_data(tmp_path: Path) -> None:
    maker = Maker(tmp_path / "run")
    texts: dict[str, Any] = dict.fromkeys(("prompt", "answer", "title", "text", "judge", "domain"), HOSTILE)
    maker.add("t</script>1", {"search": 0.0}, **texts)
    page = _write(maker, tmp_path / "out").page
    found = _read(page)
    running = [text for attributes, text in found.scripts if attributes.get("type") is None]
    assert len(running) == 1
    assert "alert(1)" not in running[0]
    assert [one["type"] for one, _ in found.scripts[:-1]] == ["application/json"] * (len(found.scripts) - 1)
    (details,) = _details(page)
    assert details["task"]["prompt"] == HOSTILE
    assert details["turns"][0]["calls"][0]["reply"] == [{"text": HOSTILE}]
    assert _blocks(page)["index"]["episodes"][0]["answer"] == HOSTILE


def test_the_policy_allows_the_one_script_and_the_one_style(tmp_path: Path) -> None:
    maker = Maker(tmp_path / "run")
    maker.add("t1")
    page = _write(maker, tmp_path / "out").page
    found = _read(page)
    style = re.search(r"<style>(.*?)</style>", page.read_text(encoding="utf-8"), re.DOTALL)
    assert style is not None
    for text in (found.scripts[-1][1], style[1]):
        assert f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" in found.policy
    assert "default-src 'none'" in found.policy
    assert "unsafe" not in found.policy
    assert found.addresses == []
    assert "innerHTML" not in re.sub(r"//.*", "", found.scripts[-1][1])


def test_pictures_are_kept_once_and_are_small(tmp_path: Path) -> None:
    maker = Maker(tmp_path / "run")
    for task in ("a", "b", "c"):
        maker.add(task, shown=(1, 2, 3), truth=(9,), drawn=8)
    page = _write(maker, tmp_path / "out", thumb_px=32, large_px=48).page
    sizes = [Image.open(io.BytesIO(data)).size for data in _pictures(page)]
    # The picture drawn and the reference are shown small in the list and large beside the ground truth.
    assert sorted(max(size) for size in sizes) == [32, 32, 32, 32, 48, 48, 48]
    first, second, _ = _details(page)
    assert first["truth"] == second["truth"]
    assert first["drawn"]["large"] == second["drawn"]["large"]


def test_an_episode_has_only_so_many_thumbnails(tmp_path: Path) -> None:
    maker = Maker(tmp_path / "run")
    maker.add("a", shown=tuple(range(1, 9)))
    (details,) = _details(_write(maker, tmp_path / "out", thumbs_per_episode=3).page)
    assert [one["small"] is not None for one in details["images"].values()] == [True] * 3 + [False] * 5
    assert details["images"]["IMG_008"]["title"] == "A kit"


def test_pictures_that_do_not_fit_lie_beside_the_page(tmp_path: Path) -> None:
    maker = Maker(tmp_path / "run")
    maker.add("a")
    inside = _write(maker, tmp_path / "out")
    assert not inside.beside
    assert not (tmp_path / "out" / "pictures").exists()
    beside = _write(maker, tmp_path / "out", inside_mb=0)
    assert beside.beside
    assert _pictures(beside.page) == []
    files = sorted(path.name for path in (tmp_path / "out" / "pictures").iterdir())
    assert files == [f"{number:06d}.webp" for number in range(beside.pictures)]
    assert _write(maker, tmp_path / "out", pictures="none").pictures == 0
    assert list((tmp_path / "out" / "pictures").iterdir()) == [], "pictures of the earlier report are gone"


def test_lost_and_damaged_pictures_are_counted(tmp_path: Path) -> None:
    maker = Maker(tmp_path / "run")
    made = maker.add("a", shown=(1, 2, 3))
    store = maker.run().store
    store.path(made.images[1]["digest"]).unlink()
    store.path(made.images[2]["digest"]).write_bytes(b"no picture")
    bundle = _write(maker, tmp_path / "out")
    assert bundle.missing == 2
    assert any(line.startswith("2 pictures are not in images/") for line in lines_of(bundle))


def test_long_texts_are_cut_and_say_so(tmp_path: Path) -> None:
    maker = Maker(tmp_path / "run")
    maker.add("a", text="x" * 5000)
    (details,) = _details(_write(maker, tmp_path / "out", text_chars=1000).page)
    (block,) = details["turns"][0]["calls"][0]["reply"]
    assert block["text"] == "x" * 1000 + " … [4,000 more characters in the episode]"


def test_turns_carry_what_the_cutoff_removed_and_why(tmp_path: Path) -> None:
    maker = Maker(tmp_path / "run")
    maker.add("a", crop=True)
    (details,) = _details(_write(maker, tmp_path / "out").page)
    search, images, crop, answer = [call for turn in details["turns"] for call in turn["calls"]]
    assert search["removed"] == [{"url": "https://kit.example/page", "reason": "kept=False"}]
    assert (search["kept"], search["undated"]) == (2, 1)
    assert [block["image"] for block in images["reply"] if "image" in block] == [f"IMG_00{number}" for number in range(1, 6)]
    assert crop["step"]["ok"] is True
    assert "seconds" not in crop["step"]
    assert (answer["step"], answer["name"]) == (None, "answer")
    assert details["images"]["IMG_006"]["box"] == [0, 0, 500, 500]


def test_unreadable_turns_keep_their_error(tmp_path: Path) -> None:
    maker = Maker(tmp_path / "run")
    unread = {"call": "", "name": "", "ok": False, "error": "not JSON", "notes": []}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "Draw."}]},
        {"role": "assistant", "content": [{"type": "text", "text": "hm"}]},
        {"role": "user", "content": [{"type": "text", "text": "[error] not JSON"}]},
    ]
    maker.add("a", shown=(), end="turns", steps=[unread], timings=[0.0], messages=messages)
    (details,) = _details(_write(maker, tmp_path / "out").page)
    assert details["turns"] == [{"said": "hm", "calls": [], "unreadable": {"ok": False, "error": "not JSON", "notes": []}}]


def test_each_episode_has_an_address_of_its_own(tmp_path: Path) -> None:
    first, second = Maker(tmp_path / "a"), Maker(tmp_path / "b")
    for maker in (first, second):
        maker.add("t1")
        maker.add("t1", seed=5)
    runs = read_runs([first.folder, second.folder], settings(), progress=False)
    page = write_report(runs, tmp_path / "out", settings(), progress=False).page
    rows = _blocks(page)["index"]["episodes"]
    assert [row["key"] for row in rows] == ["t1", "t1~2", "t1~3", "t1~4"]
    assert [row["run"] for row in rows] == [0, 0, 1, 1]


def test_the_order_of_ending_and_the_wall_clock_leave_no_trace(tmp_path: Path) -> None:
    def play(folder: Path, tasks: str, seconds: float) -> dict[str, bytes]:
        maker = Maker(folder)
        for task in tasks:
            maker.add(task, {"search": float(task < "c")}, shown=(1, ord(task)), timings=[seconds] * 2)
        _write(maker, folder / "report")
        return {str(path.relative_to(folder)): path.read_bytes() for path in sorted((folder / "report").rglob("*.*"))}

    one, other = play(tmp_path / "somewhere", "abcd", 0.1), play(tmp_path / "else" / "where", "dbca", 7.0)
    assert one.keys() == other.keys()
    assert {"report/index.html", "report/report.md", "report/figures/domains.png", "report/tables/domains.csv"} <= one.keys()
    assert [name for name in one if one[name] != other[name]] == []


def test_figures_say_in_words_what_they_show(tmp_path: Path) -> None:
    maker = Maker(tmp_path / "run")
    maker.add("a", {"search": 1.0, "generation": 0.5})
    maker.add("b", {"search": 0.0, "generation": 0.5}, domain="Fashion")
    page = _write(maker, tmp_path / "out").page
    domains, outcomes, calls = _blocks(page)["index"]["figures"]
    assert domains["text"] == (
        "search score: All 50.0, Fashion 0.0, Sports 100.0; generation score: All 50.0, Fashion 50.0, Sports 50.0"
    )
    assert "judged wrong 50.0 %" in outcomes["text"]
    assert "2 calls 2" in calls["text"]
    with Image.open(io.BytesIO(base64.b64decode(domains["data"].partition(",")[2]))) as figure:
        assert figure.format == "PNG"
        assert len(figure.convert("RGB").getcolors(1 << 20) or []) > 10


def test_runs_of_one_agent_are_told_apart_by_their_settings(tmp_path: Path) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder, isolate in zip(folders, (True, False), strict=True):
        Maker(folder).add("t1")
        (folder / "recipe.json").write_text(json.dumps({"agent": {"name": "lci", "isolate": isolate}, "tasks": "x/tasks.jsonl"}))

    def labels(**changes: Any) -> list[str]:
        return [run.label for run in read_runs(folders, settings(**changes), progress=False)]

    assert labels() == ["lci (isolate=true)", "lci (isolate=false)"]
    assert labels(name="with", name2="without") == ["with", "without"]
    with pytest.raises(ConfigError, match="must differ"):
        labels(name="same", name2="same")
    run: Run = read_runs(folders[:1], settings(), progress=False)[0]
    assert (run.label, run.tasks) == ("lci", "tasks.jsonl")


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"pictures": "outside"}, "pictures="),
        ({"thumb_px": 8}, "thumb_px="),
        ({"thumb_px": 300}, "large_px="),
        ({"thumbs_per_episode": -1}, "thumbs_per_episode="),
        ({"text_chars": 10}, "text_chars="),
        ({"labels": "none.json"}, "labels="),
        ({"benchmark": {"kappa": "none.json"}}, "kappa="),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, changes: dict[str, Any], named: str) -> None:
    maker = Maker(tmp_path / "run")
    maker.add("a")
    with pytest.raises(ConfigError, match=named):
        _write(maker, tmp_path / "out", **changes)


def test_a_folder_without_episodes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no episodes"):
        read_runs([tmp_path], settings(), progress=False)
    (tmp_path / "episodes.jsonl").write_text("")
    with pytest.raises(DataError, match="no episodes"):
        read_runs([tmp_path], settings(), progress=False)
