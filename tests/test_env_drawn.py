"""An episode on the miniweb whose answer is drawn and judged, from plain values to the record."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from tests.fakes import call
from wildenv.episode import EpisodeWriter, read_episodes
from wildenv.errors import ConfigError
from wildenv.images import ImageStore
from wildenv.miniweb.truth import WorldTruth
from wildenv.registration import ENV_ID, make_env, make_reward, miniworld, world_config
from wildenv.task import load_jsonl

WORLD = {"events": 60, "seed": 3}
REWARD = {
    "components": ["search", "generation", "sufficiency", "format", "cost"],
    "weights": {"search": 0.3, "generation": 0.4, "sufficiency": 0.2, "format": 0.05, "cost": 0.05},
    "generator": {"kind": "compositor"},
    "judge": {"kind": "oracle"},
    "seed": 4,
}


@pytest.fixture(scope="module", autouse=True)
def _cached_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WILDENV_CACHE", str(tmp_path_factory.mktemp("worlds")))
        yield


def _play(env: gymnasium.Env[Any, Any], seed: int = 1, references: int = 1) -> dict[str, Any]:
    env.reset(seed=seed)
    prompt = env.unwrapped.task_prompt  # type: ignore[attr-defined]
    env.step(json.dumps(call("image_search", query=prompt.split(".")[0])))
    ids = [f"IMG_{number:03d}" for number in range(1, references + 1)]
    *_, info = env.step(json.dumps(call("answer", prompt=prompt, references=ids)))
    return dict(info)


def test_an_episode_is_drawn_judged_and_recorded(tmp_path: Path) -> None:
    env = make_env(world=WORLD, reward=REWARD)
    info = _play(env)
    episode = env.episode
    assert info["reward_valid"]
    assert set(info["rewards"]) == {"search", "generation", "identity", "context", "sufficiency", "format", "cost"}
    assert [verdict["judge"].split(":")[0] for verdict in episode.verdicts] == [
        "oracle-1",
        "oracle-generation-1",
        "oracle-sufficiency-1",
    ]
    assert episode.drawn is not None
    assert (episode.drawn["generator"], episode.drawn["seed"]) == ("compositor-1", 4)
    assert set(episode.verdicts[1]["parts"]) == {"identity", "context"}
    assert (info["rewards"]["format"], info["rewards"]["cost"]) == (1.0, 7 / 8)
    EpisodeWriter(tmp_path).append(episode, env.store)
    (read,) = read_episodes(tmp_path)
    assert read.digest() == info["digest"]
    assert ImageStore(tmp_path / "images").get(episode.drawn["digest"]).size == (448, 336)


def test_the_same_seed_gives_the_same_bytes_again() -> None:
    first, again, other = (make_env(world=WORLD, reward={**REWARD, "seed": seed}) for seed in (4, 4, 5))
    digests = [_play(env, references=2)["digest"] for env in (first, first, again, other)]
    assert digests[0] == digests[1] == digests[2] != digests[3]


def test_a_reward_is_shared_by_environments_and_survives_gymnasium_s_copying() -> None:
    reward = make_reward(REWARD, "miniweb:train", WORLD)
    envs = [gymnasium.make(ENV_ID, world=WORLD, reward=reward) for _ in range(2)]
    assert envs[0].unwrapped.reward is envs[1].unwrapped.reward is reward  # type: ignore[attr-defined]
    assert copy.deepcopy(reward) is reward
    assert _play(envs[0])["digest"] == _play(make_env(world=WORLD, reward=REWARD))["digest"]


def test_the_agent_is_not_shown_what_judges_say() -> None:
    info = _play(make_env(world=WORLD, reward=REWARD))
    said = json.dumps(info["messages"])
    assert "oracle" not in said
    assert "compositor" not in said


def test_ground_truth_of_the_miniweb_and_of_a_task_file(tmp_path: Path) -> None:
    world = miniworld(world_config(WORLD))
    task = world.tasks("train")[0]
    (picture,) = WorldTruth(world).pictures(task)
    folder = tmp_path / "bench"
    assert ImageStore(folder / "images").put(picture) == task.ground_truth[0]
    (folder / "tasks.jsonl").write_text(json.dumps(task.to_dict()) + "\n", encoding="utf-8")
    model = {"judge": {"kind": "model", "model": {"model": "m", "base_url": "http://127.0.0.1:1/v1"}}}
    for tasks in (str(folder / "tasks.jsonl"), load_jsonl(folder / "tasks.jsonl")):
        reward = make_reward(model, tasks, WORLD)
        (kept,) = reward.components[0].judge.truth.pictures(task)  # type: ignore[union-attr]
        assert kept.tobytes() == picture.tobytes()

    class Mine:
        def __len__(self) -> int:
            return 1

        def __getitem__(self, index: int) -> Any:
            return task

        def by_id(self, task_id: str) -> Any:
            return task

    with pytest.raises(ConfigError, match=r"judge=model needs ground truth"):
        make_reward(model, Mine(), WORLD)
    assert make_reward({}, Mine(), WORLD) is not None


@pytest.mark.parametrize(
    ("reward", "named"),
    [("orcale", "reward='orcale'"), ({"weight": 1}, r"reward\.weight is no setting"), ({"judge": "model"}, r"judge\.kind=model")],
)
def test_wrong_rewards_are_named(reward: Any, named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        make_env(world=WORLD, reward=reward)


def test_the_search_reward_of_plain_values_is_the_oracle_s() -> None:
    search = {"components": ["search"], "weights": {"search": 1.0}, "judge": {"kind": "oracle"}, "generator": {"kind": "none"}}
    envs = [make_env(world=WORLD, reward=reward) for reward in ("oracle", search)]
    first, second = (_play(env) for env in envs)
    assert first["digest"] == second["digest"]
    assert envs[1].episode.drawn is None
