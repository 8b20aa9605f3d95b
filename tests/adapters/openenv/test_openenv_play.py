from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.adapters.openenv.serving import Served, run, served
from tests.fakes import FakeProvider, Script, answer, call, make_env
from wildenv.adapters.openenv.client import WildClient, play_remote
from wildenv.adapters.openenv.server import shared_env
from wildenv.errors import ConfigError, InfrastructureError, ProviderError, UsageError
from wildenv.registration import make_env as make_real_env
from wildenv.rollout import play
from wildenv.web.client import WebClient

pytestmark = pytest.mark.loopback

ACTIONS: tuple[Any, ...] = (
    'I look. <tool_call>{"name": "search", "arguments": {"queries": ["lantern"]}}</tool_call>',
    "not a call",
    42,
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "a", "type": "function", "function": call("image_search", query="lantern")}],
    },
    call("crop_image", image_id="IMG_001", box=[0, 0, 500, 500]),
    call("web_fetch", url="https://lantern.example/launch", prompt="lone half \ud800 of a pair"),
    [call("text_search", queries=["lantern fans"])],
    answer("IMG_001"),
)


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served() as one:
        yield one


def test_an_episode_is_the_one_that_is_played_here(server: Served) -> None:
    async def remote() -> Any:
        async with WildClient(server.url) as client:
            return [await play_remote(client, Script(ACTIONS), "task-1", seed) for seed in (7, 8)]

    there = run(remote())
    here = [asyncio.run(play(make_env(), Script(ACTIONS), "task-1", seed)) for seed in (7, 8)]
    assert [one.metadata["digest"] for one in there] == [one.digest() for one in here]
    assert here[0].digest() != here[1].digest()
    assert there[0].metadata["end_reason"] == "answered"
    assert (there[0].reward, there[0].metadata["reward_valid"]) == (1.0, True)
    assert there[0].metadata["rewards"] == here[0].rewards


def test_what_is_seen_is_what_is_seen_here(server: Served) -> None:
    env = make_env()
    first, _ = env.reset(seed=3, options={"task_id": "task-2"})
    here = [first, *(env.step(action)[0] for action in ACTIONS)]

    with WildClient(server.url).sync() as client:
        result = client.reset(seed=3, task_id="task-2")
        assert result.metadata["tools"] == env.tools_schema()
        assert result.metadata["task_prompt"] == env.task_prompt
        assert (result.reward, result.done) == (None, False)
        there = [result.observation]
        for action in ACTIONS:
            result = client.step(action)
            there.append(result.observation)
        assert result.done
        state = client.state()
    assert (state.task_id, state.step_count, state.end_reason) == ("task-2", len(ACTIONS), "answered")
    assert [one["text"] for one in there] == [one["text"] for one in here]
    assert [one["calls_left"] for one in there] == [one["calls_left"] for one in here]
    assert sum(len(one["images"]) for one in here) > 3
    for mine, theirs in zip(here, there, strict=True):
        assert env.observation_space.contains(theirs)
        assert len(mine["images"]) == len(theirs["images"])
        assert all(np.array_equal(a, b) and b.dtype == np.uint8 for a, b in zip(mine["images"], theirs["images"], strict=True))


def test_a_seed_draws_the_same_task_and_an_index_names_one(server: Served) -> None:
    with WildClient(server.url).sync() as client:
        drawn = [client.reset(seed=seed).metadata["task_id"] for seed in range(8)]
        assert drawn == [client.reset(seed=seed).metadata["task_id"] for seed in range(8)]
        assert len(set(drawn)) > 1
        assert client.reset(index=2, episode_id="mine").metadata["task_id"] == "task-2"
        assert client.state().episode_id == "mine"


def test_the_miniweb_is_played_alike(small_world: Any) -> None:
    settings = {"world": {"events": 120}}
    prompt = "press picture"
    actions = [call("image_search", query=prompt), call("text_search", queries=[prompt]), answer("IMG_001")]
    maker = shared_env("miniweb:test", "miniweb", settings)
    one, two = maker(), maker()
    assert one is not two
    assert (one.web, one.reward, one.tasks) == (two.web, two.reward, two.tasks)
    task_id = one.tasks[0].id
    with served(maker) as server, WildClient(server.url).sync() as client:
        result = client.reset(seed=1, task_id=task_id)
        for action in actions:
            result = client.step(action)
    env = make_real_env("miniweb:test", **settings)
    env.reset(seed=1, options={"task_id": task_id})
    for action in actions:
        env.step(action)
    assert result.metadata["digest"] == env.episode.digest()
    with pytest.raises(ConfigError, match="nothing"):
        shared_env("miniweb:nothing", "miniweb", settings)


def test_sixty_four_sessions_wait_together() -> None:
    """Steps of 64 sessions whose tool waits 0.2 s take about one wait, where one after another they would take 13 s."""
    sessions, latency = 64, 0.2
    provider = FakeProvider()
    lock, now, most = threading.Lock(), [0], [0]

    def wait(tool: str) -> None:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(latency)
        with lock:
            now[0] -= 1

    provider.before = wait
    web = WebClient(provider, mode="live")

    async def all_of_them(url: str) -> tuple[float, list[Any]]:
        clients = [WildClient(url) for _ in range(sessions)]
        await asyncio.gather(*(client.connect() for client in clients))
        await asyncio.gather(*(client.reset(seed=0, task_id=f"task-{n % 3}") for n, client in enumerate(clients)))
        started = time.perf_counter()
        # No two alike, or the web would ask once for all.
        searches = [call("text_search", queries=[f"lantern of {number}"]) for number in range(sessions)]
        seen = await asyncio.gather(*(client.step(search) for client, search in zip(clients, searches, strict=True)))
        took = time.perf_counter() - started
        ends = await asyncio.gather(*(client.step(answer()) for client in clients))
        await asyncio.gather(*(client.close() for client in clients))
        assert all("lantern" in one.observation["text"] for one in seen)
        return took, ends

    with served(lambda: make_env(web=web), max_sessions=sessions) as server:
        took, ends = run(all_of_them(server.url))
        server.free()
    assert all(one.done and one.metadata["end_reason"] == "answered" for one in ends)
    # A busy machine starts threads late; a fourth of the sessions at once is still sixteen.
    assert most[0] >= sessions // 4
    assert took < sessions * latency / 4, took


def test_a_failure_of_the_web_is_an_observation(server: Served) -> None:
    provider = FakeProvider()

    def fail(tool: str) -> None:
        raise ProviderError("searx=/srv/secret/place cannot be reached", "timeout")

    provider.before = fail
    web = WebClient(provider, mode="live")
    with served(lambda: make_env(web=web)) as broken, WildClient(broken.url).sync() as client:
        client.reset(seed=0)
        result = client.step(call("text_search", queries=["lantern"]))
        told = result.metadata
        assert (result.done, result.reward, told["reward_valid"]) == (True, 0.0, False)
        assert (told["end_reason"], told["failure"]) == ("web", "text_search: ProviderError")
        with pytest.raises(UsageError, match="has ended; call reset"):
            client.step(answer())
        assert client.reset(seed=0).metadata["end_reason"] == ""


def test_a_broken_policy_is_told_to_who_plays_it(server: Served) -> None:
    class Broken(Script):
        async def act(self, observation: Any) -> str:
            raise ValueError("mine")

    async def remote() -> None:
        async with WildClient(server.url) as client:
            await play_remote(client, Broken(), "task-0")

    with pytest.raises(ValueError, match="mine"):
        run(remote())
    server.free()


def test_a_server_that_is_not_there_is_named() -> None:
    async def remote() -> None:
        async with WildClient("http://127.0.0.1:9", connect_timeout_s=2):
            pass

    with pytest.raises(ConnectionError, match=r"127\.0\.0\.1:9"):
        run(remote())


def test_no_reply_in_time_names_the_setting(server: Served) -> None:
    provider = FakeProvider()
    provider.before = lambda tool: time.sleep(0.6)
    web = WebClient(provider, mode="live")
    with served(lambda: make_env(web=web)) as slow, WildClient(slow.url, message_timeout_s=0.2).sync() as client:
        client.reset(seed=0)
        with pytest.raises(InfrastructureError, match=r"message_timeout_s=0\.2 s"):
            client.step(call("text_search", queries=["lantern"]))
