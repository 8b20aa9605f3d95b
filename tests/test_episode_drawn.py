"""Schema 2: what was drawn, and the pictures judges looked at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import call, make_env, tasks
from tests.rewards.fakes_reward import Draws, always
from wildenv.env import WildEnv
from wildenv.episode import ROWS, SCHEMA_VERSION, Episode, EpisodeWriter, read_episodes
from wildenv.errors import DataError
from wildenv.images import ImageStore, encode
from wildenv.judges.base import Submission, Verdict
from wildenv.rewards.combined import CombinedReward
from wildenv.rewards.generation import GenerationComponent
from wildenv.rewards.judged import Judged
from wildenv.task import Task

GIVEN = {"identity": 1.0, "context": 0.5}


class Compares:
    """A judge that puts the ground truth into the store, as judges with eyes do."""

    id = "compares-1"

    async def judge(self, task: Task, submission: Submission) -> Verdict:
        from PIL import Image

        digest = submission.store.put(Image.new("RGB", (30, 20), "gold"))
        return Verdict(self.id, 1.0, "alike", {"ground_truth": [digest]}, {"total_tokens": 12}, GIVEN)


def _played(generator: Draws | None = None) -> WildEnv:
    components = [GenerationComponent(Compares()), Judged("search", always(1.0))]
    env = make_env(reward=CombinedReward(components, {"generation": 1.0}, generator or Draws(), seed=9))
    env.reset(seed=5, options={"task_id": tasks()[0].id})
    env.step(call("image_search", query="lantern"))
    env.step(call("answer", prompt="a teal lantern", references=["IMG_001"]))
    return env


def _row() -> dict[str, Any]:
    row: dict[str, Any] = json.loads(json.dumps(_played().episode.to_dict()))
    return row


def test_an_episode_tells_what_was_drawn_and_how_it_was_judged() -> None:
    env = _played()
    episode = env.episode
    assert episode.schema_version == SCHEMA_VERSION == 2
    assert episode.drawn is not None
    assert (episode.drawn["generator"], episode.drawn["seed"]) == ("draws-1", 9)
    assert env.store.get(episode.drawn["digest"]).size == (32, 24)
    assert episode.rewards == {"generation": pytest.approx(0.9), "identity": 1.0, "context": 0.5, "search": 1.0}
    assert episode.verdicts[0]["parts"] == GIVEN
    assert (episode.reward_valid, episode.reward) == (True, pytest.approx(0.9))


def test_what_was_drawn_and_the_ground_truth_are_kept_beside_the_episode(tmp_path: Path) -> None:
    env = _played()
    EpisodeWriter(tmp_path).append(env.episode, env.store)
    (episode,) = read_episodes(tmp_path)
    drawn, truth = episode.judged_pictures()
    assert episode.drawn is not None
    assert episode.drawn["digest"] == drawn
    images = ImageStore(tmp_path / "images")
    assert [images.get(digest).size for digest in (drawn, truth)] == [(32, 24), (30, 20)]
    assert encode(images.get(drawn)) == env.store.png(drawn)
    assert episode.digest() == env.episode.digest()


@pytest.mark.parametrize("which", [0, 1])
def test_a_picture_that_is_lost_is_named_and_the_folder_stays_readable(tmp_path: Path, which: int) -> None:
    env = _played()
    lost = env.episode.judged_pictures()[which]
    store = ImageStore()
    for row in env.episode.images:
        for digest in (row["digest"], row["source"]):
            store.put_png(env.store.png(digest))
    for digest in env.episode.judged_pictures():
        if digest != lost:
            store.put_png(env.store.png(digest))
    writer = EpisodeWriter(tmp_path)
    with pytest.raises(DataError, match=lost[:12]):
        writer.append(env.episode, store)
    writer.append(env.episode, env.store)
    assert len(list(read_episodes(tmp_path))) == 1


def test_a_row_of_version_1_is_read_as_one_without_a_drawing(tmp_path: Path) -> None:
    row = _row()
    del row["drawn"]
    row["schema_version"] = 1
    for verdict in row["verdicts"]:
        del verdict["parts"]
    (tmp_path / ROWS).write_text(json.dumps(row) + "\n", encoding="utf-8")
    (episode,) = read_episodes(tmp_path)
    assert (episode.drawn, episode.schema_version) == (None, SCHEMA_VERSION)
    assert episode.rewards["search"] == 1.0
    assert len(episode.judged_pictures()) == 1


def test_a_generator_that_fails_leaves_the_episode_to_be_rolled_again() -> None:
    episode = _played(Draws(failing=True)).episode
    assert (episode.end_reason, episode.reward_valid, episode.reward) == ("judge", False, 0.0)
    assert episode.drawn is None
    assert episode.failure is not None
    assert "draws-1" in episode.failure
    assert "out of paint" in episode.verdicts[0]["reason"]
    assert episode.rewards["generation"] is None


def test_the_drawing_is_part_of_the_digest() -> None:
    row = _row()
    changed = {**row, "drawn": {**row["drawn"], "seed": 1}}
    assert Episode.from_dict(row).digest() != Episode.from_dict(changed).digest()
