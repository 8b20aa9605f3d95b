from __future__ import annotations

from typing import Any

import pytest

from tests.fakes import LATE, SITE, FakeProvider, call, make_env
from wildenv.budget import Limits
from wildenv.env import WildEnv
from wildenv.tools.text_search import TextSearch
from wildenv.web.results import Page


def _env(**settings: Any) -> WildEnv:
    env = make_env(**settings)
    env.reset(seed=0)
    return env


def _search(env: WildEnv, **arguments: Any) -> str:
    return env.step(call("text_search", **arguments))[0]["text"]


def test_hits_are_numbered_with_date_address_and_snippet() -> None:
    lines = _search(_env(), queries=["launch"]).split("\n")
    assert lines == [
        "<tool_response>",
        f"[1] Lantern launch (2026-05-01) {SITE}/launch",
        "The lantern is teal. Its trim is orange. A crowd came.",
        "</tool_response>",
    ]


def test_an_undated_hit_has_no_date_and_a_late_one_is_not_there() -> None:
    env = _env()
    text = _search(env, queries=["lantern"])
    assert f"Lantern fans {SITE}/undated" in text
    assert LATE not in text
    decisions = {decision["url"]: decision for decision in env.episode.decisions}
    assert not decisions[f"{SITE}/later"]["kept"]
    assert decisions[f"{SITE}/undated"]["kept"]
    assert {decision["call"] for decision in env.episode.decisions} == {"call_1_1"}


def test_each_query_has_its_results_under_its_name() -> None:
    text = _search(_env(), queries=["launch", "nothing_like_it", "review"])
    assert text.index("Results for launch:") < text.index("Results for nothing_like_it:\nNo results; try other words.")
    assert "Results for review:\n[1] Lantern review" in text


def test_k_bounds_the_hits() -> None:
    assert "[3]" not in _search(_env(), queries="lantern", k=2)
    assert "[3]" in _search(_env(), queries="lantern", k=10)


def test_a_query_is_not_asked_for_as_it_was_spaced() -> None:
    env = _env()
    assert _search(env, queries=["  launch \n lantern "]) == _search(env, queries=["launch lantern"])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "needs 'queries', one to 3 strings (none given)"),
        ({"queries": []}, "(0 given)"),
        ({"queries": ["a"] * 10}, "(10 given)"),
        ({"queries": 5}, "(not a list)"),
        ({"queries": ["  "]}, "non-empty string"),
        ({"queries": [""]}, "non-empty string"),
        ({"queries": ["a", 3]}, "non-empty string"),
        ({"queries": ["x" * 401]}, "has 401 characters; at most 400"),
        ({"queries": ["a"], "k": 0}, "from 1 to 10, not '0'"),
        ({"queries": ["a"], "k": True}, "whole number"),
        ({"queries": ["a"], "k": 2.5}, "whole number"),
        ({"queries": ["a"], "date_before": "2026"}, "no argument 'date_before'; it takes queries, k"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments: dict[str, Any], says: str) -> None:
    env = _env()
    text = _search(env, **arguments)
    assert "[error] text_search" in text
    assert says in text
    assert not env.episode.steps[0]["ok"]
    assert "Lantern launch" in _search(env, queries=["lantern"])


def test_a_reply_that_is_too_long_is_cut_and_says_so() -> None:
    pages = [Page(f"{SITE}/{i}", f"Lantern {i}", "lantern " * 60, None) for i in range(10)]
    env = _env(provider=FakeProvider(pages), limits=Limits(chars_per_result=500))
    text = _search(env, queries=["lantern"], k=10)
    assert "more characters; ask for fewer results]" in text
    assert len(text) < 650
    assert "characters of the results for 'lantern'" in env.episode.steps[0]["notes"][0]


def test_the_cutoff_is_in_no_schema() -> None:
    assert not any(word in str(make_env().tools_schema()).lower() for word in ("cutoff", "before", "until", "issued"))


def test_a_long_snippet_is_cut_and_says_so() -> None:
    env = _env(tools=[TextSearch(snippet_chars=10)])
    assert "The lanter [cut]" in _search(env, queries=["launch"])
    assert any("characters of the snippet" in note for note in env.episode.steps[-1]["notes"])
