from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import wildenv
from tests.fakes import call, tasks
from wildenv.budget import Limits
from wildenv.check import check_judge, check_provider
from wildenv.env import WildEnv
from wildenv.errors import CacheMiss, ConfigError
from wildenv.images import PixelPolicy, decode
from wildenv.judges.base import Reference, Submission
from wildenv.judges.oracle import OracleJudge
from wildenv.miniweb.config import WorldConfig
from wildenv.miniweb.provider import MiniwebProvider
from wildenv.registration import ENV_ID, make_env, make_tasks, make_vec, make_web, miniworld
from wildenv.rewards.base import RewardReport
from wildenv.rewards.search import SearchReward
from wildenv.web.client import WebClient
from wildenv.web.packs.pack import export_pack
from wildenv.web.store import Store

WORLD = {"events": 60}


@pytest.fixture(scope="module", autouse=True)
def _cached_world(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WILDENV_CACHE", str(tmp_path_factory.mktemp("worlds")))
        yield


def _walk(prompt: str, seed: int) -> list[dict[str, Any]]:
    """Returns actions that search for what a prompt says, in an order of the seed's."""
    chance = Random(seed)
    words = prompt.replace(".", "").split()
    actions = [
        call(
            "text_search", queries=[" ".join(chance.sample(words, min(6, len(words)))) for _ in range(chance.randint(1, 3))], k=8
        ),
        call("image_search", query=" ".join(chance.sample(words, min(6, len(words))))),
        call("crop_image", image_id="IMG_001", box=[0, 0, 500 + chance.randint(0, 400), 700]),
    ]
    chance.shuffle(actions)
    return [*actions, call("answer", prompt=prompt, references=["IMG_001"]), call("answer", prompt=prompt, references=[])]


def _play(env: Any, seed: int) -> dict[str, Any]:
    observation, info = env.reset(seed=seed)
    for action in _walk(observation["text"], seed):
        *_, terminated, truncated, info = env.step(json.dumps(action))
        if terminated or truncated:
            break
    return dict(info)


def test_the_id_is_there_after_an_import_and_by_its_module() -> None:
    for name in (ENV_ID, f"wildenv:{ENV_ID}"):
        env = gymnasium.make(name, world=WORLD, render_mode="ansi")
        assert isinstance(env.unwrapped, WildEnv)
        assert len(_play(env, 0)["digest"]) == 64
        assert "--- user" in str(env.render())
    assert wildenv.ENV_ID == ENV_ID


def test_gymnasium_s_checker_finds_nothing_in_the_miniweb() -> None:
    check_env(gymnasium.make(ENV_ID, world=WORLD, render_mode="ansi").unwrapped)


def test_steps_can_be_bounded_by_gymnasium() -> None:
    env = gymnasium.make(ENV_ID, world=WORLD, max_episode_steps=1)
    env.reset(seed=0)
    assert env.step(json.dumps(call("text_search", queries=["launch"])))[3]


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_vector_plays_the_same_episodes_as_one_environment(mode: str) -> None:
    single = make_env(world=WORLD)
    seeds = [3, 4, 5]
    expected = [_play(single, seed) for seed in seeds]
    envs = make_vec(3, mode=mode, world=WORLD)
    try:
        observations, infos = envs.reset(seed=seeds)
        walks = [_walk(text, seed) for text, seed in zip(observations["text"], seeds, strict=True)]
        digests: dict[int, str] = {}
        rewards: dict[int, float] = {}
        for turn in range(5):
            actions = tuple(json.dumps(walk[turn]) for walk in walks)
            observations, reward, terminated, truncated, infos = envs.step(actions)
            for i in range(3):
                if (terminated[i] or truncated[i]) and i not in digests:
                    digests[i], rewards[i] = infos["digest"][i], float(reward[i])
                    assert infos["messages"][i] == expected[i]["messages"]
            if len(digests) == 3:
                break
        assert [digests[i] for i in range(3)] == [info["digest"] for info in expected]
        assert [rewards[i] for i in range(3)] == [info["rewards"]["search"] for info in expected]
    finally:
        envs.close()


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_vector_resets_an_ended_episode_at_the_next_step(mode: str) -> None:
    envs = make_vec(2, mode=mode, world=WORLD)
    search, answer = (json.dumps(a) for a in (call("text_search", queries=["launch"]), call("answer", prompt="p", references=[])))
    try:
        envs.reset(seed=[1, 2])
        _, _, terminated, _, infos = envs.step((answer, search))
        assert list(terminated) == [True, False]
        assert list(infos["end_reason"]) == ["answered", ""]
        after, reward, terminated, _, infos = envs.step((search, search))
        assert list(reward) == [0.0, 0.0]
        assert not terminated.any()
        assert "Today is" in after["text"][0]
        assert "Today is" not in after["text"][1]
        assert list(after["calls_left"]) == [8, 6]
        after, *_ = envs.step((search, search))
        assert list(after["calls_left"]) == [7, 5]
    finally:
        envs.close()


def test_rewards_that_are_unscored_in_one_environment_do_not_break_a_vector() -> None:
    class Moody:
        """Scores every second submission."""

        asked = 0

        async def score(self, task: Any, submission: Any) -> RewardReport:
            Moody.asked += 1
            scored = Moody.asked % 2 == 1
            return RewardReport(float(scored), scored, {"search": 1.0 if scored else None})

    envs = make_vec(2, world=WORLD, reward=Moody())
    envs.reset(seed=[1, 2])
    answer = json.dumps(call("answer", prompt="p", references=[]))
    _, reward, _, _, infos = envs.step((answer, answer))
    assert list(infos["reward_valid"]) == [True, False]
    assert list(infos["rewards"]["_search"]) == [True, False]
    assert np.isfinite(reward).all()


def test_shared_memory_is_refused_loudly() -> None:
    with pytest.raises(Exception, match=r"(?i)shared[ _]memory") as refusal:
        gymnasium.make_vec(ENV_ID, num_envs=2, vectorization_mode="async", world=WORLD)
    assert "shared_memory" in str(refusal.value)


def test_gymnasium_s_own_vector_works_without_shared_memory() -> None:
    envs = gymnasium.make_vec(ENV_ID, num_envs=2, vectorization_mode="async", vector_kwargs={"shared_memory": False}, world=WORLD)
    try:
        observations, _ = envs.reset(seed=[0, 1])
        assert all("Today is" in text for text in observations["text"])
    finally:
        envs.close()


def test_the_same_seed_gives_the_same_digest_in_another_process() -> None:
    script = (
        "from wildenv.registration import make_env\n"
        "from tests.test_registration import _play, WORLD\n"
        "env = make_env(world=WORLD)\n"
        "print(*[_play(env, seed)['digest'] for seed in range(4)])\n"
    )
    here = make_env(world=WORLD)
    expected = [_play(here, seed)["digest"] for seed in range(4)]
    assert len(set(expected)) == 4
    for hash_seed in ("1", "2"):
        ran = subprocess.run(
            [sys.executable, "-c", script],
            cwd=Path(__file__).parents[1],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        assert ran.stdout.split() == expected


def test_nothing_hidden_and_nothing_late_is_shown_in_the_miniweb() -> None:
    world = miniworld(WorldConfig(**WORLD))
    env = make_env(world=WORLD, tasks="miniweb:train", limits={"tool_calls": 20})
    kept = dropped = 0
    for number in range(len(env.tasks)):
        task = env.tasks[number]
        env.reset(seed=number, options={"task_id": task.id})
        seen = {action["name"]: env.step(json.dumps(action))[0]["text"] for action in _walk(task.prompt, number)[:3]}
        urls = [word for word in seen["text_search"].split() if word.startswith("https://")]
        for url in urls[:4]:
            seen[url] = env.step(json.dumps(call("web_fetch", url=url, prompt="colour")))[0]["text"]
        *_, info = env.step(json.dumps(call("answer", prompt="p", references=[])))
        told = json.dumps({key: value for key, value in info.items() if key != "messages"}) + json.dumps(env.episode.task)
        for hidden in (*task.ground_truth, *task.facts, *task.rubric):
            assert hidden not in told
            assert not any(hidden in text for text in seen.values())
        assert task.target not in told.replace(task.prompt, "")
        cutoff = task.cutoff.isoformat()
        late_pages = {page.url for page in world.pages if page.published and page.day > cutoff}
        late_pictures = {picture.url for picture in world.pictures if picture.published and picture.day > cutoff}
        assert late_pages
        assert late_pictures
        assert not late_pictures.intersection(" ".join(seen.values()).split())
        # An undated picture is shown with the page it stands on, whatever the date of that page.
        words = {word for name, text in seen.items() if name != "image_search" for word in text.split()}
        assert not late_pages & words
        assert all(word.strip("()") <= cutoff for word in words if word.startswith("(20"))
        kept += sum(decision["kept"] for decision in env.episode.decisions)
        dropped += sum(not decision["kept"] for decision in env.episode.decisions)
    assert kept > dropped > 0


def test_the_miniweb_and_its_judge_keep_the_contracts() -> None:
    world = miniworld(WorldConfig(**WORLD))
    check_provider(MiniwebProvider(world), query="launch picture")
    env = make_env(world=WORLD)
    env.reset(seed=1)
    task = env.tasks.by_id(env.episode.task_id)
    picture = world.pictures[0]
    digest = env.store.put(decode(world.png(picture.url)))
    check_judge(OracleJudge(world), task, Submission("p", (Reference("IMG_001", digest, digest, picture.url),), env.store))


def test_a_recorded_web_replays_the_same_episode(tmp_path: Path) -> None:
    config = WorldConfig(**WORLD)
    provider = MiniwebProvider(miniworld(config))
    with Store(tmp_path / "web.db") as store:
        recording = make_env(world=WORLD, web=WebClient(provider, mode="record", store=store))
        recorded = [_play(recording, seed) for seed in range(3)]
        export_pack(store, tmp_path / "web.pack")
    env = make_env(world=WORLD, web=str(tmp_path / "web.pack"))
    replayed = [_play(env, seed) for seed in range(3)]
    assert [info["messages"] for info in replayed] == [info["messages"] for info in recorded]
    assert [info["rewards"] for info in replayed] == [info["rewards"] for info in recorded]
    env.reset(seed=0)
    *_, truncated, info = env.step(json.dumps(call("text_search", queries=["never asked before"])))
    assert truncated
    assert info["end_reason"] == "web"
    assert CacheMiss.__name__ in info["failure"]
    assert not info["reward_valid"]


def test_names_become_tasks_and_webs(tmp_path: Path) -> None:
    config = WorldConfig(**WORLD)
    assert len(make_tasks("miniweb:test", config)) > 0
    given = tasks()
    assert make_tasks(given) is given
    path = tmp_path / "tasks.jsonl"
    path.write_text("".join(json.dumps(task.to_dict()) + "\n" for task in given), encoding="utf-8")
    assert [task.id for task in make_tasks(str(path))] == [task.id for task in given]  # type: ignore[attr-defined]
    web = make_web("miniweb", config, undated="drop")
    assert web.undated == "drop"
    assert make_web(web) is web


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"tasks": "minweb:train"}, "tasks='minweb:train'"),
        ({"tasks": "miniweb:trian"}, "'trian' is not one of"),
        ({"tasks": "none.jsonl"}, "no such file"),
        ({"web": "no.pack"}, "web='no.pack'"),
        ({"web": "miniweb", "undated": "maybe"}, "undated='maybe'"),
        ({"reward": "nice"}, "reward='nice'"),
        ({"world": {"events": 0}}, "events=0"),
        ({"world": {"colour": 1}}, r"world\.colour is no setting; there are world\.seed, world\.events"),
        ({"limits": {"tool_call": 1}}, r"limits\.tool_call is no setting; there are limits\.tool_calls"),
        ({"limits": {"tool_calls": 0}}, "tool_calls=0"),
        ({"limits": {"tool_calls": "many"}}, r"limits\.tool_calls='many' must be a whole number"),
        ({"limits": 8}, r"limits=8 must be a group of settings"),
        ({"world": {"novelty": "high"}}, r"world\.novelty='high' must be a number"),
        ({"world": {"start": "2026-1-1"}}, r"world\.start='2026-1-1' is no date; write YYYY-MM-DD"),
        ({"pixels": {"max_pixels": 1}}, "max_pixels=1"),
        ({"render_mode": "human"}, "render_mode"),
        ({"image_dir": "/dev/null/pictures"}, "image_dir=/dev/null/pictures cannot be made"),
    ],
)
def test_a_wrong_setting_is_named(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        make_env(**{"world": WORLD, **settings})
    with pytest.raises(ConfigError, match="mode='parallel'"):
        make_vec(1, mode="parallel")
    with pytest.raises(ConfigError, match="num_envs=0"):
        make_vec(0)


def test_plain_values_become_settings(tmp_path: Path) -> None:
    env = make_env(
        world=WORLD,
        limits={"tool_calls": 3},
        pixels={"max_pixels": 784, "multiple": 28},
        image_dir=tmp_path,
        system_prompt="Be brief.",
        show_image_urls=False,
        reward=None,
    )
    assert (env.limits, env.pixels, env.store.root) == (Limits(tool_calls=3), PixelPolicy(784, 28), tmp_path)
    observation, info = env.reset(seed=0)
    assert info["messages"][0]["content"][0]["text"] == "Be brief."
    observation, *_ = env.step(json.dumps(call("image_search", query=observation["text"].split(".")[0])))
    assert ".png" not in observation["text"]
    assert list(tmp_path.rglob("*.png"))
    assert isinstance(make_env(world=WORLD).reward, SearchReward)


def test_importing_the_package_loads_no_model_library() -> None:
    heavy = ["torch", "transformers", "trl", "wandb", "openai", "trafilatura", "datasets"]
    script = f"import sys, wildenv; print([name for name in {heavy!r} if name in sys.modules])"
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"
