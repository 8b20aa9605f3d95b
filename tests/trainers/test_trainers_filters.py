from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.trainers.sample_rows import call
from trainers.filters import FilterReport, FilterSettings, conditions, idle_searches, judge, keep, lost_conditions
from wildenv.episode import Episode
from wildenv.errors import ConfigError
from wildenv.messages import Message, image_block, text_block

PROMPT = "Draw the new Dutan Manolan final poster on a sandy beach at sunset, next to a street lamp."
KEPT = "The Dutan Manolan final poster from the first reference, standing on a sandy beach at sunset beside a street lamp"


def search(number: int, tool: str, reply: list[dict[str, Any]], **arguments: Any) -> list[Message]:
    said: Message = {"role": "assistant", "content": [text_block("Search.")], "tool_calls": [call(number, tool, **arguments)]}
    return [said, {"role": "tool", "tool_call_id": f"call_{number}", "name": tool, "content": reply}]


def pictures(*digests: str) -> list[dict[str, Any]]:
    return [block for digest in digests for block in (text_block("IMG: a picture"), image_block("IMG_001", digest))]


def hits(*urls: str) -> list[dict[str, Any]]:
    return [
        text_block("\n".join(f"[{n}] Some title (2026-01-02) {url}\na snippet of {url}/never" for n, url in enumerate(urls, 1)))
    ]


def episode(messages: list[Message], refined: str = KEPT, score: float | None = 1.0, **changes: Any) -> Episode:
    answer: Message = {
        "role": "assistant",
        "content": [],
        "tool_calls": [call(99, "answer", prompt=refined, references=[])],
    }
    values: dict[str, Any] = {
        "task": {"id": "t1", "prompt": PROMPT},
        "web": "w",
        "seed": 7,
        "policy": "p",
        "tools": [],
        "messages": [*messages, answer],
        "answer": {"prompt": refined, "references": []},
        "rewards": {"search": score},
    }
    return Episode(**{**values, **changes})


def test_a_good_episode_is_kept() -> None:
    good = search(1, "text_search", hits("https://a", "https://b"), queries=["dutan manolan"]) + search(
        2, "image_search", pictures("d1", "d2"), query="dutan manolan poster"
    )
    report = FilterReport()
    assert keep(episode(good), FilterSettings(), report)
    assert (report.kept, report.total) == (1, 1)


@pytest.mark.parametrize(("score", "reason"), [(0.0, "search score 0"), (None, "unscored")])
def test_the_reference_must_match(score: float | None, reason: str) -> None:
    assert judge(episode([], score=score), FilterSettings()) == ("reference does not match", reason)
    assert judge(episode([], score=score), FilterSettings(reference_matches=False)) is None


@pytest.mark.parametrize(
    ("refined", "lost"),
    [
        (KEPT, []),
        (KEPT.replace("at sunset ", ""), ["sunset"]),
        (KEPT.replace("street lamp", "cat"), ["street lamp"]),
        ("A poster", ["Dutan Manolan final poster", "sandy beach", "sunset", "street lamp"]),
        (KEPT.replace("sandy beach", "sandy beaches").upper(), []),
    ],
)
def test_every_condition_of_the_request_must_be_kept(refined: str, lost: list[str]) -> None:
    assert lost_conditions(PROMPT, refined, 0.6) == lost
    verdict = judge(episode([], refined=refined), FilterSettings())
    assert (verdict is None) == (not lost)


def test_conditions_are_runs_of_content_words() -> None:
    assert conditions("Show it in light rain, close to an old-fashioned clock.") == [
        ["light", "rain"],
        ["old-fashioned", "clock"],
    ]


def test_a_search_that_brings_nothing_new_is_found() -> None:
    again = search(1, "image_search", pictures("d1", "d2"), query="kettle") + search(
        2, "image_search", pictures("d2"), query="pot"
    )
    assert idle_searches(again) == ["image_search pot"]
    assert judge(episode(again), FilterSettings(idle_searches=1)) is None
    verdict = judge(episode(again), FilterSettings())
    assert verdict is not None
    assert verdict[0] == "repeated search"


def test_a_repeated_query_counts_when_it_finds_nothing() -> None:
    empty = [text_block("No results; try other words.")]
    first = search(1, "text_search", empty, queries=["teal kettle"])
    assert idle_searches(first) == []
    assert idle_searches(first + search(2, "text_search", empty, queries=["Kettle, teal"])) == ["text_search Kettle, teal"]


def test_pages_and_pictures_are_told_apart_and_new_results_count() -> None:
    messages = search(1, "text_search", hits("https://a"), queries=["kettle"])
    messages += search(2, "image_search", pictures("d1"), query="kettle")
    messages += search(3, "text_search", hits("https://a", "https://b"), queries=["kettle"])
    assert idle_searches(messages) == []


def test_unfinished_and_unreadable_episodes_are_removed_first() -> None:
    assert judge(episode([], end_reason="budget", answer=None), FilterSettings()) == ("not finished", "ended by budget")
    mute: Message = {"role": "assistant", "content": []}
    verdict = judge(episode([mute]), FilterSettings())
    assert verdict is not None
    assert verdict[0] == "unreadable turn"


def test_the_report_names_episodes(tmp_path: Path) -> None:
    report = FilterReport()
    keep(episode([], score=0.0), FilterSettings(), report)
    report.write(tmp_path / "filters.json")
    written = json.loads((tmp_path / "filters.json").read_text())
    assert written["counts"]["reference does not match"] == 1
    assert written["removed"]["reference does not match"][0]["episode"] == "t1#7"


@pytest.mark.parametrize("settings", [{"conditions_kept": 0.0}, {"conditions_kept": 1.1}, {"idle_searches": -1}])
def test_settings_out_of_range_are_named(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(settings))):
        FilterSettings(**settings)
