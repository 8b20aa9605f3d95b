from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from wildenv.cli.main import main
from wildenv.cli.options import nested
from wildenv.cli.warm import read_requests
from wildenv.episode import LatestEpisodes
from wildenv.errors import ConfigError, DataError
from wildenv.lock import only_writer
from wildenv.models.chat import ChatModel
from wildenv.web.packs.pack import open_pack, pack_digest, verify_pack
from wildenv.web.store import Store

Run = Callable[..., tuple[int, str, str]]
ROOT = Path(__file__).parents[2]
WORLD = ("--web", "miniweb", "--world", "events=120")

SERVICE = """
import io, os, threading, time
from PIL import Image
from wildenv.errors import ProviderError, ToolError, Unavailable
from wildenv.web.results import ImageHit, Page, TextHit
from wildenv.web.net.spending import Spending


class Service:
    name, version, local = "service", "1", False
    extractor = "none"

    def __init__(self, wait_s=0.0, broken=False, **_):
        self.wait_s, self.broken, self.spending = wait_s, broken, Spending()

    def _ask(self):
        self.spending.add(requests=1, credits=2, cost=0.001, bytes=1500)
        time.sleep(self.wait_s)
        if self.broken:
            raise ProviderError("the service is out of order; wait, or set web.search", "http 503")

    def text_search(self, query, limit, cutoff):
        self._ask()
        return [TextHit(f"{query} {i}", f"https://a.example/{i}", "words", "2026-07-01") for i in range(limit)]

    def image_search(self, query, limit, cutoff):
        self._ask()
        return [ImageHit(f"{query} {i}", f"https://a.example/{i}.png", "https://a.example/0", "2026-07-01") for i in range(limit)]

    def fetch_page(self, url, cutoff):
        self._ask()
        if url.endswith("/down"):
            raise Unavailable(url, "timeout")
        if url.endswith("/missing"):
            raise ToolError(f"there is no page {url}")
        return Page(url, "A page", "words", "2026-12-01" if url.endswith("/late") else "2026-07-01")

    def fetch_image(self, url):
        out = io.BytesIO()
        Image.new("RGB", (200, 200), "teal").save(out, format="PNG")
        return out.getvalue()


class Pages(Service):
    name = "pages"


class Raising(Service):
    def text_search(self, query, limit, cutoff):
        if query == "lamp":
            raise ValueError("a field I did not expect")
        return super().text_search(query, limit, cutoff)


class Half:
    name, local = "half", False

    def text_search(self, query, limit, cutoff):
        return []


class Blocking:
    def reset(self, task_prompt, tools, seed=0):
        pass

    def act(self, observation):
        return "no"


class Fetching:
    def reset(self, task_prompt, tools, seed=0):
        self.left = ["0", "down", "late", "missing"]

    async def act(self, observation):
        if self.left:
            url = f"https://a.example/{self.left.pop()}"
            return {"name": "web_fetch", "arguments": {"url": url, "prompt": "words"}}
        return {"name": "answer", "arguments": {"prompt": "a picture", "references": []}}


class Policy:
    system_prompt = "Look."

    def __init__(self, words="press picture"):
        self.words = words

    def reset(self, task_prompt, tools, seed=0):
        self.turn = 0

    async def act(self, observation):
        self.turn += 1
        if self.turn == 1:
            return {"name": "text_search", "arguments": {"queries": [self.words]}}
        if self.turn == 2:
            return "this is no tool call"
        if self.turn == 3:
            return {"name": "image_search", "arguments": {"query": self.words}}
        return {"name": "answer", "arguments": {"prompt": "a picture", "references": ["IMG_001"]}}
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command in a folder that holds a module `mine_record` with a service and a policy."""
    (tmp_path / "mine_record.py").write_text(SERVICE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("mine_record", None)

    def call(*arguments: object) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def asking(*more: str) -> list[str]:
    """Returns options that ask the service of `mine_record`; settings in `more`."""
    parts = ["--search=mine_record.Service", "--pages=mine_record.Pages", "--pictures=mine_record.Pages"]
    return [*parts, *(f"--set={setting}" for setting in more)]


def requests(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n\n" for row in rows))
    return path


LIST: list[dict[str, Any]] = [
    {"tool": "text_search", "query": "lantern", "k": 5, "cutoff": "2026-07-04"},
    {"tool": "text_search", "query": " lantern ", "cutoff": "2026-07-04"},
    {"tool": "image_search", "query": "lantern", "cutoff": "2026-07-04"},
    {"tool": "image_search", "query": "lamp", "k": 2, "pictures": False, "cutoff": None},
    {"tool": "fetch_page", "url": "https://a.example/0", "cutoff": "2026-07-04"},
    {"tool": "fetch_page", "url": "https://a.example/late", "cutoff": "2026-07-04"},
    {"tool": "fetch_page", "url": "https://a.example/missing", "cutoff": "2026-07-04"},
    {"tool": "fetch_page", "url": "https://a.example/down", "cutoff": "2026-07-04"},
    {"tool": "fetch_image", "url": "https://a.example/0.png"},
]


def test_a_list_is_recorded_once_and_exported(tmp_path: Path, run: Run) -> None:
    path = requests(tmp_path / "r.jsonl", *LIST)
    code, out, err = run("record", *asking(), "--requests", path, "--store", "web.sqlite", "--pack", "web.pack")
    assert code == 0, err
    assert out.startswith("9 requests: 6 answered, 3 with nothing to show, 0 failed\n")
    lines = [line.split() for line in out.splitlines()]
    assert ["text_search", "1", "1", "-"] in lines
    assert ["fetch_page", "5", "0", "absent", "1,", "timeout", "1"] in lines
    assert f"web.pack: content digest {pack_digest('web.pack')}" in out
    report = verify_pack("web.pack")
    assert report.entries == {"fetch_image": 8, "fetch_page": 3, "image_search": 2, "text_search": 1}
    assert report.gaps == {"fetch_page": 1}
    code, out, _ = run("record", *asking(), "--requests", path, "--store", "web.sqlite", "--json")
    again = json.loads(out)
    assert code == 0
    assert sum(one["calls"] for one in again["web"]["usage"].values()) == 0
    assert again["web"]["failures"]["fetch_page"] == {"absent": 1, "gap": 1}
    code, out, _ = run("record", *asking(), "--requests", path, "--store", "web.sqlite", "--json", "--retry-gaps")
    assert json.loads(out)["web"]["usage"]["fetch_page"]["calls"] == 1
    code, out, _ = run("record", *asking(), "--requests", path, "--store", "web.sqlite", "--json", "--refresh")
    assert json.loads(out)["web"]["usage"]["text_search"]["calls"] == 1
    with Store("web.sqlite") as store:
        assert store.content_digest(["text_search"])


def test_gaps_are_told_with_what_closes_them(tmp_path: Path, run: Run) -> None:
    path = requests(tmp_path / "r.jsonl", {"tool": "fetch_page", "url": "https://a.example/down", "cutoff": None})
    said = [run("record", *asking(), "--requests", path, "--store", "web.sqlite")[1] for _ in range(2)]
    assert ["--retry-gaps" in out for out in said] == [False, True]


def test_the_example_of_every_tool_is_a_request(tmp_path: Path) -> None:
    shown = subprocess.run([sys.executable, "-m", "wildenv", "record", "--help"], cwd=ROOT, capture_output=True, text=True).stdout
    rows = re.findall(r'\{"tool".*?\}', shown)
    (tmp_path / "r.jsonl").write_text("\n".join(rows))
    assert {one.tool for one in read_requests(tmp_path / "r.jsonl")} == {
        "text_search",
        "fetch_page",
        "news_search",
        "fetch_image",
    }


def test_all_environments_share_one_reader(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    make = ChatModel.from_config.__func__  # type: ignore[attr-defined]

    def counted(cls: Any, *args: Any, **kwargs: Any) -> ChatModel:
        made.append(kwargs["setting"])
        found: ChatModel = make(cls, *args, **kwargs)
        return found

    monkeypatch.setattr(ChatModel, "from_config", classmethod(counted))
    play = ["record", *WORLD, "--policy", "mine_record.Policy", "--tasks", "miniweb:test", "--limit", 3, "--concurrency", 3]
    reader = '{"model": "m", "base_url": "http://127.0.0.1:1/v1"}'
    code, _, err = run(*play, "--episodes", "eps", "--store", "web.sqlite", "--env", f"reader={reader}")
    assert code == 0, err
    assert made == ["env.reader"]
    assert json.loads(Path("eps/recipe.json").read_text())["env"]["reader"] == json.loads(reader)


def test_what_it_cost_is_said(tmp_path: Path, run: Run) -> None:
    path = requests(tmp_path / "r.jsonl", *LIST[:4])
    _, out, _ = run("record", *asking(), "--requests", path, "--store", "web.sqlite")
    line = next(line.split() for line in out.splitlines() if line.startswith("service  ") and "requests" not in line)
    assert line == ["service", "3", "0", "6", "0.0030", "4.5", "kB"]


def test_requests_are_asked_at_the_same_time(tmp_path: Path, run: Run) -> None:
    path = requests(tmp_path / "r.jsonl", *({**LIST[0], "query": f"query {i}"} for i in range(40)))
    started = time.monotonic()
    code, _, err = run("record", *asking("search.wait_s=0.1"), "--requests", path, "--store", "web.sqlite", "--concurrency", 20)
    assert code == 0, err
    assert time.monotonic() - started < 3, "one after another they take 4 seconds"


def test_a_failing_service_is_counted_and_nothing_of_it_kept(tmp_path: Path, run: Run) -> None:
    path = requests(tmp_path / "r.jsonl", *LIST[:2], LIST[4])
    broken = asking("search.broken=true")
    code, out, _ = run("record", *broken, "--requests", path, "--store", "web.sqlite")
    assert code == 1
    assert "3 requests: 1 answered, 0 with nothing to show, 2 failed" in out
    assert "failed: line 1: text_search lantern: the service is out of order; wait, or set --search" in out
    assert "http 503 2" in out
    with Store("web.sqlite", read_only=True) as store:
        assert store.counts() == {"fetch_page": 1}
        assert store.gaps(["text_search"]) == []
    many = requests(tmp_path / "many.jsonl", *({**LIST[0], "query": f"query {i}"} for i in range(500)))
    code, out, err = run("record", *broken, "--requests", many, "--store", "web.sqlite", "--concurrency", 4)
    assert (code, out) == (2, "")
    assert "requests failed, more than --max-failed 0.5; the last: the service is out of order" in err


def test_a_killed_recording_goes_on_where_it_was(tmp_path: Path, run: Run) -> None:
    path = requests(tmp_path / "r.jsonl", *({**LIST[0], "query": f"query {i}"} for i in range(60)))
    arguments = ["record", *asking("search.wait_s=0.05"), "--requests", str(path), "--store", "web.sqlite", "--concurrency", "2"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    process = subprocess.Popen([sys.executable, "-m", "wildenv", *arguments], env=environment, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    found = 0
    while found < 5 and time.monotonic() < deadline:
        time.sleep(0.02)
        if Path("web.sqlite").is_file() and Path("web.sqlite-wal").is_file():
            with Store("web.sqlite") as store:
                found = len(store)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(timeout=30)
    with Store("web.sqlite") as store:
        kept = len(store)
    assert 5 <= kept < 60
    code, out, _ = run(*asking_again(arguments), "--json")
    summary = json.loads(out)
    assert (code, summary["entries"]) == (0, 60)
    assert summary["web"]["usage"]["text_search"] == {"calls": 60 - kept, "hits": kept, "misses": 60 - kept}


def asking_again(arguments: list[str]) -> list[str]:
    return [argument.replace("wait_s=0.05", "wait_s=0") for argument in arguments]


def test_a_policy_records_what_it_asks_for(run: Run) -> None:
    play = ["record", *WORLD, "--policy", "mine_record.Policy", "--tasks", "miniweb:test", "--limit", 3]
    where = ["--episodes", "eps", "--store", "web.sqlite"]
    code, out, err = run(*play, *where, "--pack", "web.pack")
    assert code == 0, err
    assert out.startswith("eps: 3 episodes played, 0 were there already\n")
    assert ["answered", "3"] in [line.split() for line in out.splitlines()]
    assert {episode.policy for episode in LatestEpisodes("eps")} == {"Policy"}
    with open_pack("web.pack") as pack:
        assert pack.counts()["text_search"] >= 1
    code, out, _ = run(*play[:-1], 4, *where, "--json")
    assert code == 0
    assert (json.loads(out)["rolled"], json.loads(out)["kept"]) == (1, 3)
    recipe = json.loads(Path("eps/recipe.json").read_text())
    assert (recipe["tasks"], recipe["env"]["world"], recipe["env"]["reward"]) == ("miniweb:test", {"events": 120}, "oracle")
    code, _, err = run(*play, *where, "--policy-arg", "words=lantern")
    assert (code, "eps holds episodes played with another agent; name another --episodes folder" in err) == (2, True)


def test_pages_that_are_down_late_or_missing_replay_as_they_were(tmp_path: Path, run: Run) -> None:
    task = {"id": "mine", "prompt": "Draw the lantern.", "issued": "2026-07-01"}
    (tmp_path / "tasks.jsonl").write_text(json.dumps(task) + "\n")
    where = ["--episodes", "eps", "--store", "web.sqlite", "--pack", "web.pack"]
    code, out, err = run("record", *asking(), "--policy", "mine_record.Fetching", "--tasks", "tasks.jsonl", *where)
    assert code == 0, err
    assert ["fetch_page", "5", "0", "absent", "1,", "timeout", "1"] in [line.split() for line in out.splitlines()]
    (episode,) = LatestEpisodes("eps")
    said = [message["content"][0]["text"] for message in episode.messages if message["role"] == "tool"]
    assert [text.startswith("[error]") for text in said] == [True, True, True, False]
    code, out, _ = run("replay", "eps", "--web", "web.pack")
    assert (code, out.startswith("1 episode compared: 1 the same, 0 differ")) == (0, True)
    assert run("replay", "eps", "--web", "web.pack", "--undated", "drop")[0] == 0, "every page here is dated"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "give either --requests or --policy"),
        (["--requests", "r.jsonl", "--policy", "x.Y"], "give either --requests or --policy"),
        (["--requests", "nothing.jsonl"], "nothing.jsonl: there is no such file"),
        (["--requests", "empty.jsonl"], "there is no request in it"),
        (["--requests", "r.jsonl", "--concurrency", "0"], "--concurrency 0 must be at least 1"),
        (["--requests", "r.jsonl", "--max-failed", "2"], "--max-failed 2.0 must be from 0 to 1"),
        (["--requests", "r.jsonl", "--set", "nonsense=1"], "--set nonsense is no setting; there are mode, --store, --search"),
        (["--requests", "r.jsonl", "--set", "mode=live"], "--set mode=...: use --refresh, --store or --retry-gaps"),
        (["--requests", "r.jsonl", "--set", "overfetch"], "--set overfetch: write NAME=VALUE"),
        (["--requests", "r.jsonl", "--search", "no.such.module.X"], "no.such.module"),
        (["--requests", "r.jsonl", "--env", "undated=drop"], "use --undated instead"),
        (["--requests", "r.jsonl", "--set", "overfetch=many"], "--set overfetch='many' must be a whole number"),
        (["--requests", "r.jsonl", "--set", "limits.totl_s=3"], "--set limits.totl_s is no setting; there are limits.page_bytes"),
        (["--requests", "r.jsonl", "--set", "search=5"], "a provider is a name"),
        (["--requests", "r.jsonl", "--search", "searxng"], "--set search.url is missing"),
        (["--requests", "r.jsonl", "--search", "mine_record.Half"], "--search=mine_record.Half lacks image_search(), version"),
        (["--requests", "r.jsonl", "--world", "sed=3"], "--world sed is no setting; there are seed, events"),
        (["--requests", "r.jsonl", "--env", "nosuch=3"], "--env nosuch=...: there is no such argument; there are image_dir, "),
        (["--requests", "r.jsonl", "--env", "reward=null"], "--env goes with --policy"),
        (["--requests", "r.jsonl", "--policy-arg", "x=1"], "--policy-arg goes with --policy"),
        (["--requests", "r.jsonl", "--limit", "3"], "--limit goes with --policy"),
        (["--requests", "r.jsonl", "--seed", "0"], "--seed goes with --policy"),
        (["--requests", "r.jsonl", "--deadline-s", "-1"], "--deadline-s -1.0 must be a number of seconds above 0"),
        (["--requests", "r.jsonl", "--deadline-s", "nan"], "--deadline-s nan must be"),
        (["--requests", "r.jsonl", "--pack", "web.sqlite"], "--store and --pack are both web.sqlite"),
        (["--requests", "r.jsonl", "--pack", "r.jsonl"], "r.jsonl is there and is no pack"),
        (
            ["--policy", "mine_record.Blocking", "--tasks", "miniweb:test", "--episodes", "e"],
            "act must be async, so that many episodes are played at once; write `async def act`",
        ),
        (["--policy", "mine_record.Policy"], "--policy needs --tasks and --episodes"),
        (["--policy", "nodots", "--tasks", "miniweb:test", "--episodes", "e"], "write the dotted path of a class"),
        (
            ["--policy", "mine_record.No", "--tasks", "miniweb:test", "--episodes", "e"],
            "--policy mine_record.No cannot be imported",
        ),
        (["--policy", "mine_record.Service", "--tasks", "miniweb:test", "--episodes", "e"], "it needs the methods reset and act"),
        (
            ["--policy", "mine_record.Policy", "--policy-arg", "x=1", "--tasks", "miniweb:test", "--episodes", "e"],
            'cannot be made with {"x": 1}',
        ),
        (["--policy", "mine_record.Policy", "--tasks", "miniweb:no", "--episodes", "e"], "no"),
        (["--policy", "mine_record.Policy", "--tasks", "miniweb:test", "--episodes", "e", "--limit", "0"], "--limit 0"),
        (
            ["--policy", "mine_record.Policy", "--tasks", "miniweb:test", "--episodes", "r.jsonl"],
            "--episodes=r.jsonl cannot be made",
        ),
    ],
)
def test_wrong_settings_are_named_before_anything_is_asked(tmp_path: Path, run: Run, arguments: list[str], says: str) -> None:
    requests(tmp_path / "r.jsonl", LIST[0])
    (tmp_path / "empty.jsonl").write_text("\n")
    code, out, err = run("record", *WORLD, *arguments, "--store", "web.sqlite")
    assert (code, out) == (2, "")
    assert says in err
    assert err.startswith("wildenv: ")


def test_one_request_that_cannot_be_asked_does_not_stop_the_others(tmp_path: Path, run: Run) -> None:
    news = {"tool": "news_search", "query": "lantern", "day": "2026-07-04"}
    path = requests(tmp_path / "r.jsonl", LIST[0], news, {**LIST[0], "query": "lamp"}, LIST[4])
    settings = ["--search=mine_record.Raising", "--pages=mine_record.Pages", "--pictures=mine_record.Pages"]
    code, out, err = run("record", *settings, "--requests", path, "--store", "web.sqlite", "--pack", "web.pack", "--json")
    assert code == 1, err
    failed = sorted(json.loads(out)["failed"], key=lambda one: one["line"])
    assert [(one["line"], one["tool"], one["text"]) for one in failed] == [
        (3, "news_search", "lantern"),
        (5, "text_search", "lamp"),
    ]
    assert "has no news search" in failed[0]["reason"]
    assert failed[1]["reason"] == "ValueError: a field I did not expect"
    assert verify_pack("web.pack").entries == {"fetch_page": 1, "text_search": 1}
    _, out, _ = run("record", *settings, "--requests", path, "--store", "web.sqlite")
    assert "failed: line 3: news_search lantern: --search=service has no news search; set --search to a provider" in out


def test_a_provider_that_raises_what_it_should_not_ends_episodes_not_the_run(run: Run) -> None:
    web = ["--search=mine_record.Raising", "--pages=mine_record.Pages", "--pictures=mine_record.Pages"]
    play = ["--policy", "mine_record.Policy", "--policy-arg", "words=lamp", "--tasks", "miniweb:test", "--limit", "1"]
    code, out, err = run("record", *web, *play, "--episodes", "eps", "--store", "web.sqlite", "--world", "events=120")
    assert (code, "ValueError: a field I did not expect" in out) == (1, True), err


def test_a_pack_of_an_earlier_run_grows_and_no_other_is_replaced(tmp_path: Path, run: Run) -> None:
    first = requests(tmp_path / "first.jsonl", LIST[0])
    both = requests(tmp_path / "both.jsonl", LIST[0], {**LIST[0], "query": "lamp"})
    assert run("record", *asking(), "--requests", first, "--store", "web.sqlite", "--pack", "web.pack")[0] == 0
    before = pack_digest("web.pack")
    assert run("record", *asking(), "--requests", both, "--store", "web.sqlite", "--pack", "web.pack")[0] == 0
    grown = pack_digest("web.pack")
    assert grown != before
    other = ["record", *asking(), "--requests", first, "--store", "other.sqlite", "--pack", "web.pack"]
    code, _, err = run(*other)
    assert (code, "web.pack is there already; give the pack another path, or give --force" in err) == (2, True)
    assert not Path("other.sqlite").exists(), "nothing was asked"
    assert pack_digest("web.pack") == grown
    refresh = ["record", *asking(), "--requests", first, "--store", "web.sqlite", "--pack", "web.pack", "--refresh"]
    assert run(*refresh)[0] == 2
    assert run(*refresh, "--force")[0] == 0
    assert run(*other, "--force")[0] == 0
    assert pack_digest("web.pack") == before


def test_classes_are_looked_for_in_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "mine_here.py").write_text(SERVICE)
    path = requests(tmp_path / "r.jsonl", LIST[0])
    parts = ["--search=mine_here.Service", "--pages=mine_here.Pages", "--pictures=mine_here.Pages"]
    script = "import sys; sys.path.pop(0)\nfrom wildenv.cli.main import main\nsys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", script, "record", *parts, "--requests", str(path), "--store", "web.sqlite"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.startswith("1 request: 1 answered")) == (0, True), done.stderr


def test_what_the_web_was_asked_for_is_kept_beside_the_episodes(run: Run) -> None:
    play = ["record", *WORLD, "--policy", "mine_record.Policy", "--tasks", "miniweb:test", "--episodes", "eps"]
    assert run(*play, "--limit", 1, "--store", "web.sqlite")[0] == 0
    assert run(*play, "--limit", 2, "--store", "web.sqlite")[0] == 0
    first, second = (json.loads(line) for line in Path("eps/web.jsonl").read_text().splitlines())
    assert first["usage"]["text_search"]["calls"] == 1
    assert second["mode"] == "record"


def test_two_recordings_do_not_write_one_folder(tmp_path: Path, run: Run) -> None:
    play = ["record", *WORLD, "--policy", "mine_record.Policy", "--tasks", "miniweb:test", "--episodes", "eps", "--limit", 1]
    with only_writer(tmp_path / "eps"):
        script = "import sys\nfrom wildenv.cli.main import main\nsys.exit(main(sys.argv[1:]))"
        command = [sys.executable, "-c", script, *map(str, play), "--store", "web.sqlite"]
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert "another run is writing --episodes=eps; wait for it to end, or name another folder" in done.stderr
    assert not Path("eps/recipe.json").exists()
    assert run(*play, "--store", "web.sqlite")[0] == 0


def test_somebody_must_search(tmp_path: Path, run: Run) -> None:
    path = requests(tmp_path / "r.jsonl", LIST[0])
    for more in ([], ["--set", "search.gl=de"]):
        code, _, err = run("record", *more, "--requests", path, "--store", "web.sqlite")
        assert (code, "nobody is named to search; give --search serper" in err) == (2, True)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("nonsense", "line 2: Expecting value"),
        ("[]", "'tool' is one of text_search"),
        ('{"tool": "search", "query": "x"}', "'tool' is one of"),
        ('{"tool": "text_search", "query": "x"}', r"missing fields \['cutoff'\]"),
        ('{"tool": "text_search", "query": "x", "cutoff": null, "url": "y"}', r"unknown fields \['url'\]"),
        ('{"tool": "text_search", "query": " ", "cutoff": null}', "'query' must be a text that is not empty"),
        ('{"tool": "fetch_page", "url": 5, "cutoff": null}', "'url' must be a text"),
        ('{"tool": "text_search", "query": "x", "cutoff": "4 July"}', "line 2: 'cutoff': '4 July' is no date; write YYYY-MM-DD"),
        ('{"tool": "text_search", "query": "x", "cutoff": "20260704"}', "write YYYY-MM-DD"),
        ('{"tool": "text_search", "query": "x", "cutoff": 20260704}', "'cutoff' is 20260704; write a date"),
        ('{"tool": "news_search", "query": "x", "day": null}', "line 2"),
        ('{"tool": "text_search", "query": "x", "cutoff": null, "k": 0}', "'k' must be a whole number"),
        ('{"tool": "text_search", "query": "x", "cutoff": null, "k": true}', "'k' must be a whole number"),
        ('{"tool": "image_search", "query": "x", "cutoff": null, "pictures": "no"}', "'pictures' must be true or false"),
        ('{"tool": "fetch_image", "url": "x", "pictures": true}', "unknown fields"),
    ],
)
def test_a_line_that_is_no_request_is_named(tmp_path: Path, row: str, says: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(f"{json.dumps(LIST[0])}\n{row}\n")
    with pytest.raises(DataError, match=says):
        read_requests(path)


def test_requests_ask_as_the_tools_do_by_default(tmp_path: Path) -> None:
    path = requests(
        tmp_path / "r.jsonl",
        {"tool": "text_search", "query": "x", "cutoff": "2026-07-04"},
        {"tool": "image_search", "query": "x", "cutoff": None},
        {"tool": "news_search", "query": "x", "day": "2026-07-04"},
    )
    text, image, news = read_requests(path)
    assert text.fields == {"query": "x", "cutoff": date(2026, 7, 4), "k": 5}
    assert image.fields == {"query": "x", "cutoff": None, "k": 8, "pictures": True}
    assert news.fields == {"query": "x", "day": date(2026, 7, 4), "k": 5}


def test_settings_are_read_as_json_or_text() -> None:
    assert nested(["a.b=1", "a.c=true", "d=words here", 'e={"f": [1]}', "g=", "a.h=http://x?y=z"], "--set") == {
        "a": {"b": 1, "c": True, "h": "http://x?y=z"},
        "d": "words here",
        "e": {"f": [1]},
        "g": "",
    }
    for wrong in (["a"], ["=1"], ["a..b=1"], ["a=1", "a.b=2"]):
        with pytest.raises(ConfigError, match="--set"):
            nested(wrong, "--set")
