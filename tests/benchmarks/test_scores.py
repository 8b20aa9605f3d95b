"""Scores from episodes alone."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from benchmarks.savanna.scores import FAILURES, bucket_of, kind_of_failure, score
from benchmarks.savanna.tables import comparison_table, component_table, failure_table, score_table
from wildenv.episode import Episode


def _reference(role: str = "target", legible: bool = True, only: bool = True) -> dict[str, Any]:
    target = role == "target"
    shown = [{"entity": "e", "role": role, "share": 1.0, "pixels": [90, 90]}] if role else []
    return {"id": "IMG_001", "shown": shown, "target": target, "legible": target and legible, "only_target": target and only}


def _episode(
    task: str, value: float | None, domain: str = "Sports", end: str = "answered", rows: list[Any] | None = None, **more: Any
) -> Episode:
    answer = more.pop("answer", {"prompt": "p", "references": ["IMG_001"]} if end in ("answered", "judge") else None)
    verdict = {"judge": "j", "value": value, "reason": "", "evidence": {"references": rows or []}, "usage": {}}
    return Episode(
        task={"id": task, "domain": domain},
        web="w",
        seed=0,
        policy="p",
        tools=[],
        messages=[],
        answer=answer,
        verdicts=[verdict],
        rewards={"search": value},
        reward=value or 0.0,
        reward_valid=value is not None,
        end_reason=end,  # type: ignore[arg-type]
        usage={"turns": 2, "tool_calls": 3},
        **more,
    )


def test_unscored_episodes_leave_the_denominator() -> None:
    unscored = [_episode("c", None, end="judge"), _episode("d", None, end="web")]
    scores = score([_episode("a", 1.0), _episode("b", 0.0), *unscored])
    assert scores.search is not None
    assert (scores.search.mean, scores.search.n) == (0.5, 2)
    assert scores.unscored == {"judge": 1, "web": 1}


def test_missing_references_count_as_failures() -> None:
    scores = score([_episode("a", 1.0), _episode("b", 0.0, answer={"prompt": "p", "references": []})])
    assert scores.search is not None
    assert scores.search.mean == 0.5
    assert scores.failures == {"no references": 1}


def test_domains_and_kappa_buckets() -> None:
    episodes = [_episode("a", 1.0, "Sports"), _episode("b", 0.0, "Culture"), _episode("c", 1.0, "Culture")]
    scores = score(episodes, {"a": 0.25, "b": 1.0, "c": 0.875}.__getitem__)
    assert {name: interval.mean for name, interval in scores.by_domain.items()} == {"Culture": 0.5, "Sports": 1.0}
    assert list(scores.by_kappa) == ["0 ≤ κ < 0.5", "0.75 ≤ κ < 1", "κ = 1"]


@pytest.mark.parametrize(
    ("kappa", "bucket"), [(0.0, "0 ≤ κ < 0.5"), (0.5, "0.5 ≤ κ < 0.75"), (0.75, "0.75 ≤ κ < 1"), (1.0, "κ = 1")]
)
def test_bucket_edges_belong_to_the_upper_bucket(kappa: float, bucket: str) -> None:
    assert bucket_of(kappa) == bucket


@pytest.mark.parametrize(
    ("episode", "kind"),
    [
        (_episode("a", 0.0, rows=[_reference("sibling")]), "wrong version"),
        (_episode("a", 0.0, rows=[_reference("older")]), "older version"),
        (_episode("a", 0.0, rows=[_reference("namesake")]), "namesake"),
        (_episode("a", 0.0, rows=[_reference("rumour")]), "rumour"),
        (_episode("a", 0.0, rows=[_reference("")]), "unrelated"),
        (_episode("a", 0.0, rows=[_reference(legible=False)]), "too small"),
        (_episode("a", 0.0, rows=[_reference(), _reference("sibling"), _reference("older")]), "misleading set"),
        (_episode("a", 0.0, rows=[]), "judged wrong"),
        (_episode("a", 0.0, end="budget"), "no answer: calls used up"),
        (_episode("a", 0.0, end="turns"), "no answer: turns used up"),
        (_episode("a", 0.0, end="context"), "no answer: context used up"),
    ],
)
def test_failures_are_told_apart(episode: Episode, kind: str) -> None:
    assert kind_of_failure(episode) == kind
    assert kind in FAILURES


def test_clean_references_answers_and_readable_turns_are_counted() -> None:
    unread = {"call": "", "name": "", "ok": False, "error": "", "notes": []}
    episodes = [
        _episode("a", 1.0, rows=[_reference()]),
        _episode("b", 1.0, rows=[_reference(only=False)]),
        _episode("c", 0.0, end="turns", steps=[unread, unread]),
    ]
    scores = score(episodes)
    assert (scores.clean, scores.answered) == (0.5, pytest.approx(2 / 3))
    assert scores.readable == pytest.approx(1 - 2 / 6)
    assert scores.calls == 3


def test_nothing_to_score_is_an_error() -> None:
    with pytest.raises(ValueError, match="no episodes"):
        score([])


def test_tables_show_the_numbers() -> None:
    good = score([_episode("a", 1.0, rows=[_reference()]), _episode("b", 1.0, rows=[_reference()])], lambda _: 1.0)
    bad = score([_episode("a", 0.0, rows=[_reference("sibling")]), _episode("b", None, end="judge")])
    console = Console(width=160, record=True, file=StringIO())
    console.print(score_table(good, "good"), failure_table(bad, 2), comparison_table({"x": bad, "y": good}, "x", "both"))
    text = console.export_text()
    assert "100.0 [100.0, 100.0]" in text
    assert "wrong version" in text
    assert "unscored: judge" in text
    assert "κ = 1" in text
    compared = [line.split() for line in text.splitlines() if line.startswith((" x ", " y "))]
    assert [line[1] for line in compared] == ["1/2", "2/2"], "how many are scored, and of how many"
    assert "+100.0 (1)" in text


def test_a_component_counts_by_itself_and_says_what_is_unscored() -> None:
    rewards = [{"search": 1.0, "generation": None, "identity": None}, {"search": 0.0, "generation": 0.2, "identity": 0.0}]
    episodes = [_episode("a", None, end="judge"), _episode("b", 0.0)]
    for one, given in zip(episodes, rewards, strict=True):
        one.rewards = dict(given)
    scores = score(episodes)
    assert scores.components["generation"] is not None
    assert (scores.components["generation"].mean, scores.components["generation"].n) == (0.2, 1)
    assert scores.search is not None
    assert (scores.search.mean, scores.search.n) == (0.5, 2)
    console = Console(width=100, file=StringIO())
    console.print(component_table(scores, 2))
    lines = [line.split() for line in console.file.getvalue().splitlines() if line.startswith("│")]  # type: ignore[attr-defined]
    assert [(line[1], line[3], line[5]) for line in lines] == [
        ("search", "2", "0"),
        ("identity", "1", "1"),
        ("generation", "1", "1"),
    ]


def test_a_reward_without_a_search_component_leaves_nothing_unscored() -> None:
    episodes = [_episode("a", 0.5), _episode("b", None, end="web")]
    episodes[0].rewards, episodes[1].rewards = {"kscore": 0.5}, {}
    scores = score(episodes)
    assert (scores.search, scores.unscored) == (None, {"web": 1})
    assert scores.components["kscore"] is not None
