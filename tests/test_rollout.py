from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import FakeJudge, FakeProvider, Script, call, make_env, tasks
from wildenv.env import WildEnv
from wildenv.episode import ROWS, Episode, EpisodeWriter, LatestEpisodes, read_episodes
from wildenv.errors import ConfigError, InfrastructureError
from wildenv.judges.base import Submission, Verdict
from wildenv.messages import text_of
from wildenv.policy import Observation, Policy
from wildenv.rollout import RolloutSummary, episode_seed, play, rollout
from wildenv.task import Task

IDS = [f"task-{i}" for i in range(10)]
ACTIONS = [call("text_search", queries=["lantern"]), call("image_search", query="lantern")]


class Searcher(Script):
    """Searches, then answers with the first picture."""

    def __init__(self) -> None:
        super().__init__([*ACTIONS, call("answer", prompt="a lantern", references=["IMG_001"])])


class Sleeper(Script):
    """Never says anything."""

    async def act(self, observation: Observation) -> str:
        await asyncio.sleep(30)
        return ""


class Raiser(Script):
    """Fails at its second turn."""

    def __init__(self) -> None:
        super().__init__(ACTIONS)

    async def act(self, observation: Observation) -> Any:
        if len(self._left) < 2:
            raise ValueError("no more ideas")
        return await super().act(observation)


def _env(provider: FakeProvider | None = None) -> WildEnv:
    return make_env(provider, tasks=tasks(10))


def _roll(folder: Path, make_policy: Callable[[], Policy] = Searcher, ids: list[str] = IDS, **settings: Any) -> RolloutSummary:
    settings = {"make_env": _env, "progress": False, **settings}
    return asyncio.run(rollout(settings.pop("make_env"), make_policy, ids, folder, **settings))


def _read(folder: Path) -> list[Episode]:
    return list(LatestEpisodes(folder))


def test_every_task_is_played_once_and_recorded(tmp_path: Path) -> None:
    summary = _roll(tmp_path, ids=[*IDS, IDS[0]], name="searcher")
    assert (summary.rolled, summary.kept, summary.failures) == (10, 0, [])
    assert summary.end_reasons == {"answered": 10}
    episodes = _read(tmp_path)
    assert [episode.task_id for episode in episodes] == IDS
    assert {episode.policy for episode in episodes} == {"searcher"}
    assert all(episode.reward == 1.0 and episode.reward_valid for episode in episodes)
    assert [episode.seed for episode in episodes] == [episode_seed(0, task_id) for task_id in IDS]
    assert all((tmp_path / "images" / r["digest"][:2] / f"{r['digest']}.png").exists() for e in episodes for r in e.images)


def test_the_number_at_once_changes_nothing(tmp_path: Path) -> None:
    def digests(concurrency: int) -> list[str]:
        folder = tmp_path / str(concurrency)
        _roll(folder, concurrency=concurrency)
        return [episode.digest() for episode in _read(folder)]

    assert digests(1) == digests(8)


def test_the_seed_of_the_run_reaches_the_episodes(tmp_path: Path) -> None:
    _roll(tmp_path, ids=IDS[:2], seed=7)
    assert [episode.seed for episode in _read(tmp_path)] == [episode_seed(7, task_id) for task_id in IDS[:2]]
    assert episode_seed(7, "a") != episode_seed(8, "a") != episode_seed(8, "b")


def test_episodes_overlap(tmp_path: Path) -> None:
    together = threading.Barrier(4, timeout=10)
    provider = FakeProvider()
    provider.before = lambda tool: together.wait() if tool == "text_search" else None
    summary = _roll(tmp_path, ids=IDS[:4], make_env=lambda: _env(provider), concurrency=4)
    assert summary.end_reasons == {"answered": 4}


def test_a_policy_that_sleeps_meets_its_deadline(tmp_path: Path) -> None:
    begun = time.monotonic()
    summary = _roll(tmp_path, Sleeper, IDS[:3], deadline_s=0.1, concurrency=3)
    assert time.monotonic() - begun < 5
    assert summary.end_reasons == {"deadline": 3}
    assert sorted(summary.failures)[0] == ("task-0", "deadline: more than 0.1 s")
    assert {(e.end_reason, e.reward_valid, e.usage["turns"]) for e in _read(tmp_path)} == {("deadline", False, 0)}


def test_a_tool_that_hangs_costs_only_its_own_episode(tmp_path: Path) -> None:
    release = threading.Event()
    hanging = set(IDS[:3])
    made: list[WildEnv] = []

    def make() -> WildEnv:
        provider = FakeProvider()
        env = _env(provider)

        def hang(tool: str) -> None:
            if env.episode.task_id in hanging:
                release.wait(20)

        provider.before = hang
        made.append(env)
        return env

    try:
        summary = _roll(tmp_path, make_env=make, concurrency=1, deadline_s=0.3)
    finally:
        release.set()
    assert summary.end_reasons == {"deadline": 3, "answered": 7}
    assert len(made) == 4
    for episode in _read(tmp_path):
        assert (episode.end_reason == "deadline") == (episode.task_id in hanging)


class SlowJudge(FakeJudge):
    """Takes its time."""

    async def judge(self, task: Task, submission: Submission) -> Verdict:
        await asyncio.sleep(0.6)
        return await super().judge(task, submission)


def test_an_answer_in_time_is_scored_however_long_that_takes(tmp_path: Path) -> None:
    made: list[WildEnv] = []

    def make() -> WildEnv:
        made.append(make_env(judge=SlowJudge(), tasks=tasks(10)))
        return made[-1]

    summary = _roll(tmp_path, ids=IDS[:2], make_env=make, concurrency=1, deadline_s=0.3)
    assert summary.end_reasons == {"answered": 2}
    assert [(episode.reward, episode.reward_valid) for episode in _read(tmp_path)] == [(1.0, True)] * 2
    assert len(made) == 1, "the environment is not stuck"
    # What takes too long before the answer is the agent's all the same.
    assert _roll(tmp_path / "b", Sleeper, IDS[:1], make_env=make, deadline_s=0.1).end_reasons == {"deadline": 1}


def test_a_rollout_that_is_cancelled_does_not_wait_for_a_judge(tmp_path: Path) -> None:
    async def cut_short() -> None:
        async with asyncio.timeout(0.3):
            make = lambda: make_env(judge=SlowJudge(), tasks=tasks(10))  # noqa: E731
            await rollout(make, Searcher, IDS[:1], tmp_path, progress=False, deadline_s=0.1)

    with pytest.raises(TimeoutError):
        asyncio.run(cut_short())
    assert not (tmp_path / ROWS).exists()


class Paying(Searcher):
    """Tells what its model took, until it runs dry."""

    def __init__(self, turns: int = 9) -> None:
        super().__init__()
        self.turns = turns

    def reset(self, *arguments: Any, **named: Any) -> None:
        super().reset(*arguments, **named)
        self.usage: Any = {"calls": 0, "prompt_tokens": 0, "cost": 0.0, "mood": 3}

    async def act(self, observation: Observation) -> Any:
        self.usage = {
            **self.usage,
            "calls": self.usage["calls"] + 1,
            "prompt_tokens": self.usage["prompt_tokens"] + 100,
            "cost": self.usage["cost"] + 0.25,
        }
        if self.usage["calls"] > self.turns:
            raise ValueError("no more money")
        return await super().act(observation)


def test_what_a_policy_s_model_took_is_in_the_episode_also_of_a_policy_that_failed(tmp_path: Path) -> None:
    _roll(tmp_path / "a", Paying, IDS[:1])
    _roll(tmp_path / "b", lambda: Paying(1), IDS[:1])
    _roll(tmp_path / "c", Searcher, IDS[:1])
    paid, broke, free = (_read(tmp_path / name)[0] for name in "abc")
    told = {"model_calls": 3, "model_prompt_tokens": 300, "model_cost": 0.75}
    assert paid.usage == {**free.usage, **told}
    assert not any(name.startswith("model_") for name in free.usage)
    assert (broke.end_reason, broke.usage["model_calls"], broke.usage["model_cost"]) == ("policy", 2, 0.5)


@pytest.mark.parametrize("usage", [5, {"calls": "many"}, {"cost": float("nan")}, {"calls": -1}, {"calls": True}])
def test_a_usage_that_is_none_is_refused(usage: Any) -> None:
    class Odd(Searcher):
        pass

    policy = Odd()
    policy.usage = usage  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match=r"Odd\.usage must be a mapping of numbers"):
        asyncio.run(play(_env(), policy, IDS[0], seed=0))


def test_a_policy_that_raises_is_recorded_and_stops_nothing(tmp_path: Path) -> None:
    summary = _roll(tmp_path, Raiser, IDS[:2])
    assert summary.end_reasons == {"policy": 2}
    assert [episode.failure for episode in _read(tmp_path)] == ["ValueError: no more ideas"] * 2
    assert [len(episode.steps) for episode in _read(tmp_path)] == [1, 1]

    class BadStart(Searcher):
        def reset(self, *_: Any, **__: Any) -> None:
            raise RuntimeError("not ready")

    assert _roll(tmp_path / "b", BadStart, IDS[:1]).failures == [("task-0", "policy: RuntimeError: not ready")]


def test_a_policy_s_own_timeout_is_its_failure_not_the_deadline(tmp_path: Path) -> None:
    class Impatient(Script):
        async def act(self, observation: Observation) -> str:
            raise TimeoutError("endpoint too slow")

    assert _roll(tmp_path, Impatient, IDS[:1], deadline_s=60).end_reasons == {"policy": 1}


def test_a_policy_that_cancels_itself_is_recorded_as_a_failure(tmp_path: Path) -> None:
    class Canceller(Script):
        async def act(self, observation: Observation) -> str:
            # What a library does whose own scope of cancellation ends.
            raise asyncio.CancelledError("gone")

    made = iter([Canceller([]), *(Searcher() for _ in range(2))])
    summary = _roll(tmp_path, lambda: next(made), IDS[:3], concurrency=1)
    assert (summary.rolled, summary.end_reasons) == (3, {"policy": 1, "answered": 2})
    assert [episode.failure for episode in _read(tmp_path) if episode.failure] == ["CancelledError: gone"]


def test_cancelling_a_rollout_still_ends_it(tmp_path: Path) -> None:
    async def cut_short() -> None:
        async with asyncio.timeout(0.5):
            await rollout(_env, lambda: Sleeper([]), IDS[:2], tmp_path, progress=False)

    with pytest.raises(TimeoutError):
        asyncio.run(cut_short())


def test_only_what_is_missing_or_failed_is_rolled_again(tmp_path: Path) -> None:
    broken = FakeProvider()

    def fail_some(tool: str) -> None:
        if tool == "image_search" and broken.asked[tool] % 2:
            raise ConnectionError("down")

    broken.before = fail_some
    first = _roll(tmp_path, ids=IDS[:6], make_env=lambda: _env(broken), concurrency=1)
    assert first.end_reasons == {"tool": 3, "answered": 3}
    again = _roll(tmp_path)
    assert (again.kept, again.rolled, again.end_reasons) == (3, 7, {"answered": 7})
    assert (_roll(tmp_path).kept, len(list(read_episodes(tmp_path)))) == (10, 13)
    assert {episode.end_reason for episode in _read(tmp_path)} == {"answered"}
    assert _roll(tmp_path, seed=1).rolled == 10


def test_a_folder_of_another_run_is_refused(tmp_path: Path) -> None:
    _roll(tmp_path, ids=IDS[:1], name="one")
    with pytest.raises(ConfigError, match="set resume=true or name another folder"):
        _roll(tmp_path, name="one", resume=False)
    with pytest.raises(ConfigError, match="policy 'one' in web fake:1; this run is of policy 'two'"):
        _roll(tmp_path, name="two")
    with pytest.raises(ConfigError, match="this run is of policy 'Searcher'"):
        _roll(tmp_path)
    provider = FakeProvider()
    provider.version = "2"
    with pytest.raises(ConfigError, match="in web fake:2"):
        _roll(tmp_path, name="one", make_env=lambda: _env(provider))
    assert len(list(read_episodes(tmp_path))) == 1


def test_an_empty_folder_may_be_rolled_into_without_resume(tmp_path: Path) -> None:
    assert _roll(tmp_path, ids=IDS[:1], resume=False).rolled == 1
    assert _roll(tmp_path / "none", ids=[]).rolled == 0


def test_settings_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="concurrency=0"):
        _roll(tmp_path, concurrency=0)
    with pytest.raises(ConfigError, match="no task 'strange'"):
        _roll(tmp_path, ids=["strange"])
    for deadline in (0, -1.0, float("nan")):
        with pytest.raises(ConfigError, match="deadline_s="):
            _roll(tmp_path, deadline_s=deadline)
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "inside"):
        with pytest.raises(ConfigError, match=r"folder=.*name another folder"):
            _roll(folder)


def test_a_killed_run_resumes(tmp_path: Path) -> None:
    script = (
        "import asyncio, os, sys\n"
        "from tests.test_rollout import _env, IDS, Searcher\n"
        "from wildenv.rollout import rollout\n"
        "class Dying(Searcher):\n"
        "    played = 0\n"
        "    def reset(self, *a, **k):\n"
        "        Dying.played += 1\n"
        "        if Dying.played == 5: os._exit(9)\n"
        "        super().reset(*a, **k)\n"
        "asyncio.run(rollout(_env, Dying, IDS, sys.argv[1], concurrency=1, progress=False, name='p'))\n"
    )
    root = Path(__file__).parents[1]
    killed = subprocess.run([sys.executable, "-c", script, tmp_path], cwd=root, check=False, timeout=60, capture_output=True)
    assert killed.returncode == 9, killed.stderr
    with (tmp_path / ROWS).open("ab") as rows:
        rows.write(b'{"task": {"id": "task-4"')
    summary = _roll(tmp_path, name="p")
    assert (summary.kept, summary.rolled) == (4, 6)
    _roll(tmp_path / "straight", name="p")
    assert [e.digest() for e in _read(tmp_path)] == [e.digest() for e in _read(tmp_path / "straight")]


def test_progress_is_told_without_a_terminal_and_can_be_switched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _roll(tmp_path / "a", ids=IDS[:2], progress=True, description="collecting")
    assert capsys.readouterr().err == "", "there is no terminal, and it was done soon"
    monkeypatch.setattr("wildenv.progress.PAUSE_S", 0.0)
    _roll(tmp_path / "a", ids=IDS[:3], progress=True, description="collecting")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("collecting: 2/3 ep in 00:00"), "what an earlier run did is done"
    assert lines[-1].startswith("collecting: 3/3 ep in 00:00")
    _roll(tmp_path / "b", ids=IDS[:2], progress=False)
    assert capsys.readouterr().err == ""


def test_an_act_that_is_not_async_is_told_how_to_be(tmp_path: Path) -> None:
    class Blocking(Searcher):
        def act(self, observation: Observation) -> Any:  # type: ignore[override]
            return "now"

    summary = _roll(tmp_path, Blocking, IDS[:1])
    assert summary.failures[0][1].startswith("policy: TypeError: act must be async")
    assert summary.failures[0][1].endswith("write `async def act`")


def test_one_run_at_a_time_writes_a_folder(tmp_path: Path) -> None:
    """Also while the other one is killed and has left what it wrote."""
    script = (
        "import sys, time\nfrom wildenv.lock import only_writer\n"
        "with only_writer(sys.argv[1]):\n    print('held', flush=True)\n    time.sleep(60)\n"
    )
    folder = tmp_path / "eps"
    other = subprocess.Popen([sys.executable, "-c", script, str(folder)], stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(ConfigError, match=r"another run is writing folder=.*eps; wait for it to end, or name another folder"):
            _roll(folder, ids=IDS[:1])
        assert not (folder / ROWS).exists()
    finally:
        other.kill()
        other.communicate(timeout=10)
    assert _roll(folder, ids=IDS[:1]).rolled == 1


def test_a_policy_may_bring_its_own_system_prompt(tmp_path: Path) -> None:
    class Mine(Searcher):
        system_prompt = "Be quick."

    _roll(tmp_path, Mine, IDS[:1])
    assert text_of(_read(tmp_path)[0].messages[0]) == "Be quick."


def test_an_error_of_our_own_stops_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(EpisodeWriter, "append", full)
    with pytest.raises(OSError, match="no space left"):
        _roll(tmp_path)


def test_one_episode_can_be_played_alone() -> None:
    env = _env()
    episode = asyncio.run(play(env, Searcher(), "task-3", seed=11))
    assert (episode.task_id, episode.seed, episode.policy, episode.reward) == ("task-3", 11, "Searcher", 1.0)
    assert asyncio.run(play(env, Sleeper(), "task-3", 1, deadline_s=0.05)).end_reason == "deadline"
    assert asyncio.run(play(env, Raiser(), "task-3", 1, name="r")).policy == "r"


def test_a_rollout_in_which_most_fail_stops(tmp_path: Path) -> None:
    many = tasks(40)
    ids = [many[i].id for i in range(40)]
    settings = {"make_env": lambda: make_env(tasks=many), "concurrency": 2}
    with pytest.raises(InfrastructureError, match=r"of 20 episodes failed, more than max_failed=0\.5.*no more ideas"):
        _roll(tmp_path / "stopped", Raiser, ids, max_failed=0.5, **settings)
    assert _roll(tmp_path / "going", Raiser, ids, max_failed=None, **settings).rolled == 40
