from __future__ import annotations

from typing import Any

import pytest

from tests.fakes import call, make_env
from wildenv.env import WildEnv


def _env() -> WildEnv:
    env = make_env()
    env.reset(seed=0)
    env.step(call("image_search", query="red"))
    return env


def test_a_crop_has_its_own_id_and_names_its_parent() -> None:
    env = _env()
    observation = env.step(call("crop_image", image_id="IMG_001", box=[100, 0, 600.4, 1000]))[0]
    assert observation["text"] == "<tool_response>\nIMG_002 = IMG_001 [100,0,600,1000]\n<image>\n</tool_response>"
    assert len(observation["images"]) == 1
    assert env.episode.images[1]["parent"] == "IMG_001"
    nested = env.step(call("crop_image", img_id="IMG_002", bbox=[0, 0, 500, 500]))[0]
    assert "IMG_003 = IMG_002 [0,0,500,500]" in nested["text"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"image_id": "IMG_099", "box": [0, 0, 500, 500]}, "there is no image 'IMG_099'; images so far: IMG_001 to IMG_001"),
        ({"image_id": "x" * 5_000, "box": [0, 0, 500, 500]}, "at most 40"),
        ({"image_id": 1, "box": [0, 0, 500, 500]}, "needs 'image_id'"),
        ({"image_id": "IMG_001", "box": [0, 0, 1001, 500]}, "within 0 to 1000"),
        ({"image_id": "IMG_001", "box": [-1, 0, 100, 500]}, "within 0 to 1000"),
        ({"image_id": "IMG_001", "box": [500, 0, 500, 500]}, "x1 below x2"),
        ({"image_id": "IMG_001", "box": [0, 0, 5, 5]}, "less than 8 pixels"),
        ({"image_id": "IMG_001", "box": [0, 0, 500]}, "four numbers"),
        ({"image_id": "IMG_001", "box": "0,0,1,1"}, "four numbers"),
        ({"image_id": "IMG_001", "box": [0, 0, "a", 1]}, "four numbers"),
        ({"image_id": "IMG_001", "box": [0, 0, True, 1]}, "four numbers"),
        ({"image_id": "IMG_001", "box": [0, 0, 10**400, 1]}, "four numbers"),
        ({"image_id": "IMG_001"}, "four numbers"),
    ],
)
def test_a_crop_that_makes_no_sense_is_an_error_observation(arguments: dict[str, Any], says: str) -> None:
    env = _env()
    text = env.step(call("crop_image", **arguments))[0]["text"]
    assert "[error]" in text
    assert says in text
    assert len(text) < 300
    assert len(env.episode.images) == 1
    assert "IMG_002" in env.step(call("crop_image", image_id="IMG_001", box=[0, 0, 500, 500]))[0]["text"]
