"""Episodes of every kind of ending, played in the small web of `tests.fakes`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.fakes import FakeProvider, call, make_env
from wildenv.budget import Limits
from wildenv.env import WildEnv
from wildenv.episode import Episode, EpisodeWriter
from wildenv.errors import ProviderError
from wildenv.judges.base import Submission, Verdict
from wildenv.task import Task


class BrokenJudge:
    """A judge whose service is down."""

    id = "broken-judge"

    async def judge(self, task: Task, submission: Submission) -> Verdict:
        return Verdict(self.id, None, "unscored: the service is down")


def answered(judge: Any = None) -> WildEnv:
    """A search, an unreadable turn, pictures, a crop, two calls at once, an answer with a crop."""
    env = make_env(judge=judge)
    env.reset(seed=5, options={"policy": "script", "task_id": "task-0"})
    env.step("I look it up. <tool_call>" + '{"name": "search", "arguments": {"queries": ["lantern"], "top_k": 3}}</tool_call>')
    env.step("not a call")
    env.step(call("image_search", query="lantern"))
    env.step(call("crop_image", image_id="IMG_001", box=[0, 0, 500, 500]))
    env.step(
        {
            "role": "assistant",
            "content": "two at once",
            "tool_calls": [
                {
                    "id": "a",
                    "function": {"name": "web_fetch", "arguments": {"url": "https://lantern.example/launch", "prompt": "trim"}},
                },
                {
                    "id": "b",
                    "function": {"name": "web_fetch", "arguments": {"url": "https://lantern.example/later", "prompt": "trim"}},
                },
            ],
        }
    )
    env.step(call("answer", prompt="a teal <lantern>", references=["IMG_001", "IMG_006"]))
    return env


def out_of_calls() -> WildEnv:
    """The tool budget runs out."""
    env = make_env(limits=Limits(tool_calls=1, spare_turns=2))
    env.reset(seed=6, options={"policy": "script", "task_id": "task-1"})
    for _ in range(2):
        env.step(call("text_search", queries=["lantern"]))
    return env


def web_down() -> WildEnv:
    """The search service fails."""
    provider = FakeProvider()

    def fail(tool: str) -> None:
        raise ProviderError("search is down; set web.search")

    provider.before = fail
    env = make_env(provider)
    env.reset(seed=7, options={"policy": "script", "task_id": "task-2"})
    env.step(call("text_search", queries=["lantern"]))
    return env


def write(folder: Path, *played: WildEnv) -> list[Episode]:
    """Writes episodes into a folder; returns them."""
    writer = EpisodeWriter(folder)
    for env in played:
        writer.append(env.episode, env.store)
    return [env.episode for env in played]
