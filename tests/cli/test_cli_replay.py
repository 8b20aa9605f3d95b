from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from wildenv.cli.main import main
from wildenv.episode import ROWS, LatestEpisodes

Run = Callable[..., tuple[int, str, str]]
ROOT = Path(__file__).parents[2]

POLICY = """
class Policy:
    system_prompt = "Look closely."

    def reset(self, task_prompt, tools, seed=0):
        self.turn, self.prompt, self.seed = 0, task_prompt, seed
        self.usage = {"calls": 0, "cost": 0.0}

    async def act(self, observation):
        self.turn += 1
        self.usage = {"calls": self.turn, "cost": self.turn / 4}
        if self.turn == 1:
            return {"name": "text_search", "arguments": {"queries": ["press picture", self.prompt[:40]]}}
        if self.turn == 2:
            return "I forgot how to call a tool {"
        if self.turn == 3:
            return 'Looking. <tool_call>{"name": "image_search", "arguments": {"query": "press picture"}}</tool_call>'
        if self.turn == 4:
            if self.seed % 3 == 0:
                raise RuntimeError("a policy of mine broke")
            return {"name": "web_fetch", "arguments": {"url": "https://nowhere.example/x", "prompt": "colours"}}
        return {"name": "answer", "arguments": {"prompt": self.prompt, "references": ["IMG_001"]}}
"""


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with episodes, the store and the pack of a recording, some of which a failing policy ended."""
    folder = tmp_path_factory.mktemp("recording")
    (folder / "mine_replay.py").write_text(POLICY)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        web = [
            "--web",
            "miniweb",
            "--world",
            "events=120",
            "--store",
            str(folder / "web.sqlite"),
            "--pack",
            str(folder / "web.pack"),
        ]
        play = ["--policy", "mine_replay.Policy", "--tasks", "miniweb:test", "--episodes", str(folder / "eps"), "--limit", "8"]
        assert main(["record", *web, *play, "--env", "limits.tool_calls=5", "--max-failed", "1"]) == 1
    return folder


@pytest.fixture
def run(recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    shutil.copytree(recording / "eps", tmp_path / "eps")
    for name in ("web.pack", "web.sqlite"):
        shutil.copy(recording / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()

    def call(*arguments: object) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def failed(folder: Path = Path("eps")) -> int:
    return sum(episode.end_reason == "policy" for episode in LatestEpisodes(folder))


def test_a_recording_comes_out_the_same_without_sockets(recording: Path) -> None:
    """In a process of its own, in which nothing can connect; the policy is not needed."""
    script = (
        "import socket, sys\n"
        "def refuse(*_, **__): raise RuntimeError('a connection was tried')\n"
        "socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse\n"
        "from wildenv.cli.main import main\n"
        "sys.exit(main(['replay', sys.argv[1], '--web', sys.argv[2]]))\n"
    )
    arguments = [str(recording / "eps"), str(recording / "web.pack")]
    done = subprocess.run([sys.executable, "-c", script, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    lost = failed(recording / "eps")
    assert 0 < lost < 8
    assert f"{8 - lost} episodes compared: {8 - lost} the same, 0 differ" in done.stdout
    assert len(done.stdout.splitlines()) == 2, done.stdout
    assert f"ended by a failure and cannot be compared: policy {lost}" in done.stdout


def test_settings_come_from_the_recipe_and_options_overrule_it(run: Run) -> None:
    code, out, _ = run("replay", "eps", "--web", "web.pack", "--json")
    found = json.loads(out)
    assert (code, found["differing"], found["skipped"]) == (0, [], {"policy": failed()})
    assert found["same"] == found["episodes"] - failed()
    told = [episode.usage["model_cost"] for episode in LatestEpisodes("eps")]
    assert all(told), "what the policy told of its model is set aside, and it told some"
    code, out, _ = run("replay", "eps", "--web", "web.pack", "--env", "limits.tool_calls=2", "--json")
    assert (code, json.loads(out)["same"]) == (1, 0)
    assert "no tool calls left" in json.loads(out)["differing"][0]["difference"]
    code, _, err = run("replay", "eps", "--web", "web.pack", "--env", "web=x")
    assert (code, "use --web instead" in err) == (2, True)


def test_a_folder_without_a_recipe_needs_its_tasks(run: Run) -> None:
    Path("eps/recipe.json").unlink()
    code, _, err = run("replay", "eps", "--web", "web.pack")
    assert (code, "give --tasks" in err) == (2, True)
    world = ("--tasks", "miniweb:test", "--world", "events=120")
    assert run("replay", "eps", "--web", "web.pack", *world, "--env", "limits.tool_calls=5")[0] == 0
    code, out, _ = run("replay", "eps", "--web", "web.pack", *world, "--env", "limits.tool_calls=5", "--set", "search=miniweb")
    assert code == 0, out
    code, out, _ = run("replay", "eps", "--web", "web.pack", *world, "--env", "limits.tool_calls=1")
    assert code == 1
    assert "no tool calls left" in out
    Path("eps/recipe.json").write_text("{")
    assert "is damaged" in run("replay", "eps", "--web", "web.pack")[2]


def test_what_differs_is_shown_in_words(run: Run) -> None:
    rows = [json.loads(line) for line in (Path("eps") / ROWS).read_text().splitlines()]
    (changed, *_) = [row for row in rows if row["end_reason"] == "answered"]
    tool = next(message for message in changed["messages"] if message["role"] == "tool")
    tool["content"][0]["text"] = tool["content"][0]["text"].replace("Results for", "Found for", 1)
    changed["reward"] += 1.0
    (Path("eps") / ROWS).write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, _ = run("replay", "eps", "--web", "web.pack")
    assert code == 1
    assert f"{changed['task']['id']} (seed {changed['seed']}) differs:" in out
    assert "-Found for press picture:" in out
    assert "+Results for press picture:" in out
    assert "1 differ" in out


def test_a_record_that_stops_early_is_said(run: Run) -> None:
    rows = [json.loads(line) for line in (Path("eps") / ROWS).read_text().splitlines()]
    (changed, *_) = [row for row in rows if row["end_reason"] == "answered"]
    changed["messages"].pop()
    changed["answer"] = None
    (Path("eps") / ROWS).write_text(json.dumps(changed) + "\n")
    code, out, _ = run("replay", "eps", "--web", "web.pack")
    assert code == 1
    assert "the replay goes on where the record ends (answered); check --env limits" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nothing", "--web", "web.pack"], "no episodes there"),
        (["eps", "--web", "nothing.pack"], "nothing.pack"),
        (["eps", "--web", "web.pack", "--tasks", "miniweb:train"], "no task"),
        (["eps", "--web", "web.pack", "--tasks", "nothing.jsonl"], "no such file"),
        (["eps", "--web", "nothing.pack"], "--web nothing.pack does not exist; record it first with wildenv record"),
        (["eps", "--web", "web.pack", "--set", "limits.total_s=3"], "--set limits=...: a replay asks nobody"),
        (["eps", "--web", "web.pack", "--set", "overfetch=many"], "--set overfetch='many' must be a whole number"),
        (["eps", "--web", "web.pack", "--env", "nosuch=3"], "--env nosuch=...: there is no such argument; there are image_dir"),
        (["eps", "--web", "web.pack", "--env", "limits.tool_call=3"], "--env limits.tool_call is no setting; there are limits."),
        (["eps", "--web", "web.pack", "--world", "evnts=3"], "--world evnts is no setting; there are seed, events"),
    ],
)
def test_what_cannot_be_replayed_is_said(run: Run, arguments: list[str], says: str) -> None:
    code, out, err = run("replay", *arguments)
    assert (code, out) == (2, "")
    assert says in err


def test_nothing_but_failures_cannot_be_compared(run: Run) -> None:
    rows = [line for line in (Path("eps") / ROWS).read_text().splitlines() if '"policy"' in line and "RuntimeError" in line]
    (Path("eps") / ROWS).write_text("\n".join(rows) + "\n")
    code, _, err = run("replay", "eps", "--web", "web.pack")
    assert (code, "there is nothing to compare" in err) == (2, True)


def test_a_store_replays_like_its_pack(run: Run) -> None:
    assert run("replay", "eps", "--web", "web.sqlite")[0] == 0
