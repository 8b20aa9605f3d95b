"""What a user's reward, judge or tool may do wrong without taking other episodes along."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fakes import FakeProvider
from wildenv.env import WildEnv
from wildenv.episode import read_episodes
from wildenv.judges.base import Submission, Verdict
from wildenv.messages import text_block
from wildenv.rewards.base import RewardReport
from wildenv.rollout import rollout
from wildenv.task import Task, TaskList
from wildenv.tools.base import ToolResult, function_schema
from wildenv.web.client import WebClient

TASKS = TaskList([Task(f"t{i}", "Draw it.", date(2026, 7, 4)) for i in range(6)])
ODD = "t1"
ANSWER = '{"name": "answer", "arguments": {"prompt": "p", "references": []}}'


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


async def cancelled() -> None:
    other = asyncio.create_task(asyncio.sleep(9))
    other.cancel()
    await other


def raising(error: BaseException) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


class OddReward:
    def __init__(self, give: Callable[[], Any]) -> None:
        self.give = give

    async def score(self, task: Task, submission: Submission | None) -> RewardReport:
        if task.id != ODD:
            return RewardReport(1.0, True, {"search": 1.0})
        given = self.give()
        if asyncio.iscoroutine(given):
            given = await given
        return given  # type: ignore[no-any-return]


class OddTool:
    name = "odd"

    def __init__(self, give: Callable[[], Any]) -> None:
        self.give = give

    def schema(self) -> dict[str, Any]:
        return function_schema(self.name, "Does something odd.", {}, [])

    def run(self, context: Any, arguments: Any) -> ToolResult:
        result: ToolResult = self.give()
        return result


class Caller:
    def __init__(self, action: str) -> None:
        self.action = action

    def reset(self, task_prompt: str, tools: Any, seed: int = 0) -> None:
        self.turn = 0

    async def act(self, observation: Any) -> str:
        self.turn += 1
        return self.action if self.turn == 1 else ANSWER


def ends(folder: Path, make_env: Callable[[], WildEnv], action: str = ANSWER) -> dict[str, tuple[str, bool]]:
    ids = [TASKS[i].id for i in range(len(TASKS))]
    asyncio.run(rollout(make_env, lambda: Caller(action), ids, folder, concurrency=3, progress=False))
    return {episode.task_id: (episode.end_reason, episode.reward_valid) for episode in read_episodes(folder)}


def report(**changes: Any) -> RewardReport:
    verdict = Verdict("odd-1", **{"value": 1.0, "reason": "so it is", **changes})
    return RewardReport(1.0, True, {"search": 1.0}, (verdict,))


@pytest.mark.parametrize(
    "give",
    [
        cancelled,
        raising(Mute()),
        raising(asyncio.CancelledError()),
        lambda: None,
        lambda: RewardReport(1.0, True, {}, ("not a verdict",)),  # type: ignore[arg-type]
        lambda: RewardReport(np.float32(1), True, {"search": np.float32(1)}),  # type: ignore[arg-type, dict-item]
        lambda: report(value=np.float32(1)),
        lambda: report(value=2.0),
        lambda: report(reason=None),
        lambda: report(evidence={"seen": {1, 2}}),
        lambda: report(evidence={"share": float("nan")}),
    ],
)
def test_a_bad_reward_leaves_its_own_episode_unscored(give: Callable[[], Any], tmp_path: Path) -> None:
    found = ends(tmp_path / "eps", lambda: WildEnv(TASKS, WebClient(FakeProvider()), reward=OddReward(give)))
    assert found.pop(ODD) == ("judge", False)
    assert set(found.values()) == {("answered", True)}
    assert len(found) == len(TASKS) - 1


@pytest.mark.parametrize(
    "give",
    [
        raising(Mute()),
        raising(asyncio.CancelledError()),
        lambda: None,
        lambda: ToolResult([text_block("x")], [{"seen": {1}}]),
        lambda: ToolResult([text_block("x")], [{"share": float("inf")}]),
        lambda: ToolResult([text_block("x")], [{"url": "u"}]),
        lambda: ToolResult([text_block("x")], [], [object()]),  # type: ignore[list-item]
    ],
)
def test_a_bad_tool_ends_its_episode_as_a_failure_of_the_tool(give: Callable[[], Any], tmp_path: Path) -> None:
    call = '{"name": "odd", "arguments": {}}'
    found = ends(tmp_path / "eps", lambda: WildEnv(TASKS, WebClient(FakeProvider()), tools=[OddTool(give)]), call)
    assert len(found) == len(TASKS)
    assert set(found.values()) == {("tool", False)}


def test_a_policy_that_cannot_say_what_is_wrong_is_recorded(tmp_path: Path) -> None:
    class Silent(Caller):
        async def act(self, observation: Any) -> str:
            raise Mute

    async def play() -> None:
        env = WildEnv(TASKS, WebClient(FakeProvider()))
        await rollout(lambda: env, lambda: Silent(ANSWER), [ODD], tmp_path / "eps", progress=False)

    asyncio.run(play())
    (episode,) = read_episodes(tmp_path / "eps")
    assert (episode.end_reason, episode.failure) == ("policy", "Mute (which cannot be written out)")
