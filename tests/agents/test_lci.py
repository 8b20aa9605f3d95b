"""The scripted policy: its phases, its ablations, and that it plays the miniweb."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from agents.baselines.direct_search import DirectSearch
from agents.baselines.prompt_only import PromptOnly
from agents.baselines.random_search import RandomSearch
from agents.lci.corroborate import Match, best_view, describe, group, nearest, rejected
from agents.lci.isolate import crop_box
from agents.lci.locate import Dossier
from agents.lci.pixels import Sighting
from agents.lci.policy import LciPolicy
from agents.scripted import ScriptedPolicy
from agents.subject import Subject
from agents.turns import Candidate
from wildenv.env import WildEnv
from wildenv.episode import Episode
from wildenv.judges.oracle import OracleJudge
from wildenv.messages import text_of
from wildenv.miniweb.look import Look
from wildenv.miniweb.pictures import Scene, render
from wildenv.miniweb.provider import MiniwebProvider
from wildenv.policy import Policy
from wildenv.rewards.search import SearchReward
from wildenv.rollout import episode_seed, play
from wildenv.web.client import WebClient

TEAL = Look("sneaker", "low", "teal", "orange", "pink", "stripes", "star", "")
RED = Look("sneaker", "low", "red", "orange", "pink", "stripes", "star", "")


@pytest.fixture(scope="module")
def played(small_world) -> Callable[[Callable[[], Policy]], list[Episode]]:  # type: ignore[no-untyped-def]
    """Plays 40 training tasks by a policy."""

    def play_all(make: Callable[[], Policy]) -> list[Episode]:
        tasks = small_world.tasks("train")
        env = WildEnv(tasks, WebClient(MiniwebProvider(small_world)), SearchReward(OracleJudge(small_world)))
        return [asyncio.run(play(env, make(), tasks[i].id, episode_seed(0, tasks[i].id))) for i in range(40)]

    return play_all


def _share(episodes: list[Episode]) -> float:
    assert all(episode.failure is None for episode in episodes)
    return sum(episode.reward for episode in episodes) / len(episodes)


def _only_target(episodes: list[Episode]) -> float:
    rows = [row for e in episodes for verdict in e.verdicts for row in verdict["evidence"]["references"]]
    return sum(row["only_target"] for row in rows) / len(rows)


def test_each_phase_earns_its_keep(played) -> None:  # type: ignore[no-untyped-def]
    full = played(LciPolicy)
    direct, blind = played(DirectSearch), played(lambda: LciPolicy(locate=False))
    hasty = played(lambda: LciPolicy(corroborate=False))
    whole = played(lambda: LciPolicy(isolate=False))
    assert _share(full) >= _share(direct) + 0.2
    assert _share(full) > max(_share(blind), _share(hasty))
    assert _only_target(full) > _only_target(whole)


def test_the_reasoning_names_what_is_seen_before_the_choice(played) -> None:  # type: ignore[no-untyped-def]
    for episode in played(LciPolicy)[:10]:
        thoughts = [text_of(message) for message in episode.messages if message["role"] == "assistant"]
        assert thoughts[0].startswith("Locate:")
        seen = [thought for thought in thoughts if thought.startswith("Corroborate:")]
        assert seen
        for thought in seen:
            assert (
                thought.index("IMG_001" if thought is seen[0] else "Corroborate")
                < thought.index("Wanted:")
                < thought.index("Match:")
            )


def test_the_answer_keeps_the_request_word_for_word(played) -> None:  # type: ignore[no-untyped-def]
    for episode in played(LciPolicy)[:10]:
        assert episode.answer is not None
        assert episode.answer["prompt"].startswith(episode.task["prompt"])


def test_prompt_only_scores_nothing_and_random_little(played) -> None:  # type: ignore[no-untyped-def]
    assert _share(played(PromptOnly)) == 0
    assert _share(played(RandomSearch)) < 0.5


def test_random_is_the_same_for_the_same_seed(played) -> None:  # type: ignore[no-untyped-def]
    assert [e.digest() for e in played(RandomSearch)[:5]] == [e.digest() for e in played(RandomSearch)[:5]]


def _candidate(image_id: str, scene: Scene, title: str = "New at Bemaban") -> Candidate:
    return Candidate(image_id, title, "https://kobex.example/lamir", np.asarray(render(scene).image))


def _dossier(**known: str) -> Dossier:
    dossier = Dossier(Subject("Kobex Lamir", "sneaker", "away"), "2026-07-04")
    dossier.facts.known.update(known)
    dossier.facts.launch = "Bemaban"
    return dossier


def test_candidates_that_contradict_the_facts_are_left_out() -> None:
    candidates = [_candidate("IMG_001", Scene("press", (RED,), 1)), _candidate("IMG_002", Scene("press", (TEAL,), 2))]
    groups = group(candidates, _dossier(main="teal", trim="orange"))
    assert [[match.candidate.id for match in g] for g in groups] == [["IMG_002"]]


def test_candidates_that_cannot_be_told_apart_by_the_facts_form_groups() -> None:
    candidates = [_candidate("IMG_001", Scene("press", (RED,), 1)), _candidate("IMG_002", Scene("press", (TEAL,), 2))]
    assert len(group(candidates, _dossier(trim="orange"))) == 2


def test_the_nearest_is_found_when_nothing_agrees() -> None:
    candidates = [_candidate("IMG_001", Scene("press", (RED,), 1)), _candidate("IMG_002", Scene("press", (TEAL,), 2))]
    dossier = _dossier(main="teal", trim="blue")
    assert group(candidates, dossier) == []
    found = nearest(candidates, dossier)
    assert found is not None
    assert found.candidate.id == "IMG_002"


@pytest.mark.parametrize(
    ("title", "reason"),
    [
        ("Leak: the new Lamir away sneaker?", "leak"),
        ("Kobex Lamir away sneaker, 2025 version", "older"),
        ("Lamir sneaker by Sovik", "other maker"),
        ("Kobex Lamir at Bemaban", ""),
        ("Lamir at Bemaban", ""),
    ],
)
def test_titles_speak_against_a_candidate(title: str, reason: str) -> None:
    assert rejected(_candidate("IMG_001", Scene("press", (TEAL,), 1), title), _dossier()) == reason


def test_a_picture_on_a_distrusted_page_is_rejected() -> None:
    dossier = _dossier()
    candidate = _candidate("IMG_001", Scene("press", (TEAL,), 1))
    assert rejected(candidate, dossier) == ""
    dossier.distrusted.add(candidate.page)
    assert rejected(candidate, dossier) == "leak"


def test_a_description_puts_looks_before_the_id() -> None:
    candidates = [_candidate("IMG_001", Scene("press", (TEAL,), 1)), _candidate("IMG_002", Scene("unrelated", (), 3))]
    text = describe(candidates, _dossier())
    assert text.startswith("teal orange")
    assert text.endswith("nothing IMG_002")


def _match(box: tuple[int, int, int, int], alone: bool) -> Match:
    sighting = Sighting(box, "teal", "orange", None, None, 1.0, True)
    return Match(Candidate("IMG_001", "", "", np.zeros((8, 8, 3), np.uint8)), sighting, 5.0, (), alone)


def test_a_thing_alone_and_large_is_not_cropped() -> None:
    assert crop_box(_match((200, 200, 800, 800), alone=True)) is None


@pytest.mark.parametrize(
    ("box", "alone"), [((103, 205, 455, 790), False), ((400, 400, 500, 500), True), ((0, 0, 300, 1000), False)]
)
def test_a_crop_covers_the_thing_and_stays_in_the_frame(box: tuple[int, int, int, int], alone: bool) -> None:
    cut = crop_box(_match(box, alone))
    assert cut is not None
    assert all(0 <= value <= 1000 and value % 20 == 0 for value in cut)
    assert cut[0] <= box[0]
    assert cut[1] <= box[1]
    assert cut[2] >= box[2]
    assert cut[3] >= box[3]


def test_the_view_that_shows_the_thing_alone_is_preferred() -> None:
    shared, alone = _match((0, 0, 900, 900), False), _match((200, 200, 700, 700), True)
    assert best_view([shared, alone]) is alone


def test_a_script_that_has_ended_says_so() -> None:
    policy: ScriptedPolicy = PromptOnly()
    policy.reset("Draw the Kobex Lamir kit.", [])
    observation: Any = {"text": "Draw the Kobex Lamir kit.", "images": (), "calls_left": 8}
    asyncio.run(policy.act(observation))
    with pytest.raises(RuntimeError, match="nothing left to say"):
        asyncio.run(policy.act(observation))
