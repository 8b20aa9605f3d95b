from __future__ import annotations

from typing import Any

import pytest

from tests.fakes import LATE, SITE, FakeProvider, call, make_env
from wildenv.budget import Limits
from wildenv.env import WildEnv
from wildenv.tools.web_fetch import PASSAGE_CHARS
from wildenv.web.results import Page


def _env(text: str | None = None, **settings: Any) -> WildEnv:
    provider = None if text is None else FakeProvider([Page(f"{SITE}/page", "Page", text, "2026-05-01")])
    env = make_env(provider, **settings)
    env.reset(seed=0)
    return env


def _fetch(env: WildEnv, **arguments: Any) -> str:
    return env.step(call("web_fetch", **arguments))[0]["text"]


def test_a_page_is_shown_with_title_date_address_and_passages() -> None:
    assert _fetch(_env(), url=f"{SITE}/launch", prompt="trim colour").split("\n") == [
        "<tool_response>",
        f"Lantern launch (2026-05-01) {SITE}/launch",
        "The lantern is teal.",
        "Its trim is orange.",
        "A crowd came.",
        "</tool_response>",
    ]


def test_the_passages_that_fit_are_chosen_and_kept_in_order() -> None:
    filler = [f"Filler number {i} about the weather in town. " + "It rained. " * 20 for i in range(20)]
    passages = [*filler[:10], "The trim of the lantern is orange.", *filler[10:], "The emblem is a star."]
    env = _env("\n\n".join(passages))
    text = _fetch(env, url=f"{SITE}/page", prompt="emblem and trim of the lantern")
    assert text.index("trim of the lantern is orange") < text.index("emblem is a star")
    assert "passages of the page that fit the prompt less are left out]" in text
    assert len(text) < 1_700
    assert "passages of" in env.episode.steps[0]["notes"][0]


def test_a_page_without_paragraphs_is_read_by_its_sentences() -> None:
    text = _fetch(
        _env("It rained in town. " * 400 + "The trim is orange. " + "It was dry. " * 400), url=f"{SITE}/page", prompt="trim"
    )
    assert "The trim is orange." in text
    assert len(text) < 1_700


def test_one_endless_word_is_cut_into_pieces() -> None:
    text = _fetch(_env("x" * 10_000 + " trim"), url=f"{SITE}/page", prompt="trim")
    assert "x" * PASSAGE_CHARS in text
    assert len(text) < 1_700


def test_an_empty_page_says_so_and_keeps_its_decision() -> None:
    env = _env()
    assert "The page has no text." in _fetch(env, url=f"{SITE}/blank", prompt="trim")
    assert [decision["url"] for decision in env.episode.decisions] == [f"{SITE}/blank"]


def test_a_late_page_is_withheld_without_saying_why() -> None:
    env = _env()
    text = _fetch(env, url=f"{SITE}/later", prompt="colour")
    assert f"[error] the page {SITE}/later is not available" in text
    assert LATE not in text
    assert "2026" not in text
    (decision,) = env.episode.decisions
    assert not decision["kept"]
    assert "after the cutoff" in decision["reason"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"url": f"{SITE}/nowhere", "prompt": "x"}, "there is no page"),
        ({"url": "", "prompt": "x"}, "needs 'url', a non-empty string"),
        ({"url": ["a"], "prompt": "x"}, "needs 'url'"),
        ({"url": "u"}, "needs 'prompt'"),
        ({"url": "u" * 2_001, "prompt": "x"}, "at most 2000"),
        ({"url": "u", "prompt": "x", "page": 2}, "no argument 'page'"),
    ],
)
def test_what_cannot_be_fetched_is_an_error_observation(arguments: dict[str, Any], says: str) -> None:
    env = _env()
    text = _fetch(env, **arguments)
    assert "[error]" in text
    assert says in text
    assert "teal" in _fetch(env, url=f"{SITE}/launch", prompt="colour")


def test_a_reply_that_is_too_long_is_cut_and_says_so() -> None:
    env = _env("lantern " * 300, limits=Limits(chars_per_result=200))
    assert "fetch again with a narrower prompt]" in _fetch(env, url=f"{SITE}/page", prompt="lantern")
