from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fakes import LATE, SITE, FakeProvider, call, draw, image_hits, make_env
from wildenv.budget import Limits
from wildenv.env import WildEnv
from wildenv.errors import Unavailable
from wildenv.messages import read_observation
from wildenv.policy import Observation
from wildenv.tools.image_search import ImageSearch
from wildenv.web.client import WebClient
from wildenv.web.results import ImageHit
from wildenv.web.store import Store


def _env(provider: FakeProvider | None = None, **settings: Any) -> WildEnv:
    env = make_env(provider, **settings)
    env.reset(seed=0)
    return env


def _search(env: WildEnv, **arguments: Any) -> Observation:
    return env.step(call("image_search", **arguments))[0]


def test_five_candidates_are_shown_with_id_title_page_and_address() -> None:
    env = _env()
    observation = _search(env, query="lantern")
    (blocks,) = read_observation(observation["text"])
    assert blocks[0] == f"IMG_001: lantern teal | {SITE}/launch | {SITE}/teal.png"
    assert blocks[1::2] == ["<image>"] * 5
    assert [block[:7] for block in blocks[::2]] == [f"IMG_00{i}" for i in range(1, 6)]
    assert len(observation["images"]) == 5
    assert [row["url"].split("/")[-1] for row in env.episode.images] == [
        "teal.png",
        "red.png",
        "undated.png",
        "blue.png",
        "green.png",
    ]


def test_what_was_left_out_is_noted_and_not_shown() -> None:
    env = _env()
    text = _search(env, query="lantern")["text"]
    notes = env.episode.steps[0]["notes"]
    assert any("posing.png" in note and "cannot be shown" in note for note in notes)
    assert any("copy.png: same picture as IMG_001" in note for note in notes)
    assert not any(name in text for name in ("posing", "copy", "later", LATE))
    assert [d["url"] for d in env.episode.decisions if not d["kept"]] == [f"{SITE}/later.png"]


def test_pictures_are_shown_in_the_size_of_the_policy_and_are_fresh_arrays() -> None:
    env = _env()
    first, second = _search(env, query="lantern")["images"], _search(env, query="lantern")["images"]
    assert first[0].shape == (112, 112, 3)
    assert all(np.array_equal(a, b) and not np.shares_memory(a, b) for a, b in zip(first, second, strict=True))
    assert [row["id"] for row in env.episode.images] == [f"IMG_00{i}" for i in range(1, 6)]


def test_a_known_address_is_not_downloaded_again() -> None:
    provider = FakeProvider()
    env = _env(provider)
    _search(env, query="teal")
    asked = provider.asked["fetch_image"]
    _search(env, query="teal")
    assert provider.asked["fetch_image"] == asked > 0


def test_ids_count_on_from_search_to_search() -> None:
    env = _env()
    _search(env, query="teal")
    assert "IMG_002: lantern red" in _search(env, query="red")["text"]


def test_fewer_can_be_asked_for_as_gen_searcher_does() -> None:
    env = _env()
    assert len(_search(env, query="lantern", top_k=2)["images"]) == 2
    assert len(_search(env, query="lantern", k=20)["images"]) == 5


def test_the_address_of_the_picture_can_be_left_out() -> None:
    env = _env(tools=[ImageSearch(show_url=False)])
    assert _search(env, query="teal")["text"].split("\n")[1] == f"IMG_001: lantern teal | {SITE}/launch"


def test_nothing_found_says_so_and_keeps_the_decisions() -> None:
    env = _env(FakeProvider(pictures=[(ImageHit("lantern", f"{SITE}/a.png", SITE, "2026-06-01"), draw("red"))]))
    assert "No pictures found; try other words." in _search(env, query="lantern")["text"]
    assert [decision["kept"] for decision in env.episode.decisions] == [False]


def test_pictures_that_are_all_gone_are_not_called_not_found_in_any_mode(tmp_path: Path) -> None:
    hits = [(ImageHit(f"lantern {i}", f"{SITE}/gone{i}.png", SITE, "2026-05-01"), b"") for i in range(3)]
    provider = FakeProvider(pictures=hits)

    def down(tool: str) -> None:
        if tool == "fetch_image" and provider.asked[tool] % 2:
            raise Unavailable("https://a.example", "timeout")

    provider.before = down
    with Store(tmp_path / "web.sqlite") as store:
        texts = [
            _search(_env(web=WebClient(provider, mode, store)), query="lantern")["text"]
            for mode in ("record", "record", "replay")
        ]
    assert "3 pictures were found and none of them could be fetched; try other words." in texts[0]
    assert texts[0] == texts[1] == texts[2]


def test_the_picture_budget_cuts_and_says_so() -> None:
    env = _env(limits=Limits(images=7))
    _search(env, query="lantern")
    observation = _search(env, query="lantern grey")
    assert len(observation["images"]) == 2
    assert "[cut: all 7 pictures of the episode have been shown]" in observation["text"]
    assert "no pictures left" in env.episode.steps[1]["notes"][-1]
    assert "[error] no pictures left: 7 have been shown" in _search(env, query="lantern")["text"]
    assert "[error] no pictures left" in env.step(call("crop_image", image_id="IMG_001", box=[0, 0, 500, 500]))[0]["text"]
    assert env.episode.usage["images"] == 7


def test_a_picture_that_is_gone_is_skipped() -> None:
    provider = FakeProvider()
    provider.pictures = [(hit, data) for hit, data in image_hits() if hit.title == "lantern teal"]
    provider.pictures.insert(0, (ImageHit("lantern gone", f"{SITE}/gone.png", SITE, "2026-05-01"), b""))
    assert len(_search(_env(provider), query="lantern")["images"]) == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "needs 'query', a non-empty string"),
        ({"query": " "}, "needs 'query'"),
        ({"query": ["a"]}, "needs 'query'"),
        ({"query": "x" * 401}, "at most 400"),
        ({"query": "a", "k": 0}, "from 1 to 20"),
        ({"query": "a", "color": "red"}, "no argument 'color'"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments: dict[str, Any], says: str) -> None:
    env = _env()
    text = _search(env, **arguments)["text"]
    assert "[error] image_search" in text
    assert says in text
    assert len(_search(env, query="lantern")["images"]) == 5
