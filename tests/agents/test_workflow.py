"""The fixed pipeline: which stages an intent runs, what each is asked and given, and what is called."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import hydra
import pytest
from hydra.core.global_hydra import GlobalHydra

from agents.baselines.workflow import Workflow
from agents.maker import make_policy
from agents.prompts import load_prompt
from agents.runs import plain
from agents.subject import read_subject
from tests.agents.fake_chat import FakeChat
from tests.fakes import SITE, make_env
from wildenv.budget import Limits
from wildenv.check import check_policy
from wildenv.env import WildEnv
from wildenv.episode import Episode
from wildenv.errors import ConfigError, ProviderError, UsageError
from wildenv.judges.oracle import OracleJudge
from wildenv.messages import text_of
from wildenv.miniweb.provider import MiniwebProvider
from wildenv.miniweb.world import MiniWorld
from wildenv.models.chat import ChatModel
from wildenv.models.reply import ReplyError
from wildenv.models.usage import Usage
from wildenv.policy import Policy
from wildenv.rewards.search import SearchReward
from wildenv.rollout import play
from wildenv.web.client import WebClient

ROOT = Path(__file__).resolve().parents[2]
KEYWORDS = {"text_queries": ["lantern trim", "lantern"], "image_queries": ["lantern"]}
INJECTION = {"prompt": "A teal lantern in scene 1.", "final_image_queries": ["lantern", "lantern"]}
REASONING = {"reasoning_knowledge": "It glows orange."}
REVIEW = {"final_prompt": "A teal lantern, as in the first reference image.", "reference_image": ["IMG_001"]}
BARE = {"final_prompt": "A lantern.", "reference_image": []}


def intent(category: str) -> dict[str, Any]:
    return {"need_process_problem": ["What colour is the lantern?"], "intent_category": f"{category}_Generation"}


def played(model: FakeChat, settings: dict[str, Any] | None = None, **limits: int) -> Episode:
    """Plays one episode of the small web."""
    return asyncio.run(play(make_env(limits=Limits(**limits)), Workflow(model, **settings or {}), "task-1", seed=5))


def stages(model: FakeChat) -> list[str]:
    """Returns the stages that were asked, by their system prompts."""
    names = {load_prompt(f"workflow/{name}"): name for name in ("intent", "keywords", "inject", "reasoning", "review")}
    return [names[text_of(shown.messages[0])] for shown in model.shown]


def called(episode: Episode) -> list[str]:
    return [call["function"]["name"] for message in episode.messages for call in message.get("tool_calls", [])]


SEARCH = ["keywords", "inject"]


@pytest.mark.parametrize(
    ("category", "says", "order"),
    [
        ("Direct", [BARE], []),
        ("Reasoning", [REASONING, BARE], ["reasoning"]),
        ("Search", [KEYWORDS, INJECTION, REVIEW], SEARCH),
        ("Reasoning_Search", [REASONING, KEYWORDS, INJECTION, REVIEW], ["reasoning", *SEARCH]),
        ("Search_Reasoning", [KEYWORDS, INJECTION, REASONING, REVIEW], [*SEARCH, "reasoning"]),
    ],
)
def test_the_intent_chooses_the_stages(category: str, says: list[Any], order: list[str]) -> None:
    model = FakeChat(intent(category), *says)
    episode = played(model)
    assert stages(model) == ["intent", *order, "review"]
    assert episode.end_reason == "answered"
    assert episode.reward == float("Search" in category)
    assert len({shown.seed for shown in model.shown}) == len(model.shown)
    searched = ["text_search", "web_fetch", "web_fetch", "image_search"] if "Search" in category else []
    assert called(episode) == [*searched, "answer"]
    said = " ".join(text_of(message) for message in episode.messages if message["role"] == "assistant")
    assert all(json.dumps(one, ensure_ascii=False) in said for one in [intent(category), *says]), "every stage is in the record"


def test_each_stage_is_given_what_the_ones_before_it_found() -> None:
    model = FakeChat(intent("Search_Reasoning"), KEYWORDS, INJECTION, REASONING, REVIEW)
    episode = played(model)
    first, keywords, inject, reasoning, review = (text_of(shown.messages[1]) for shown in model.shown)
    assert "Today is 2026-05-01." in first
    assert "What colour is the lantern?" in keywords
    assert "The lantern is teal." in inject
    assert "Image queries:\nlantern" in inject
    assert INJECTION["prompt"] in reasoning
    assert REASONING["reasoning_knowledge"] in review
    assert [b["id"] for b in model.shown[4].messages[1]["content"] if b["type"] == "image"] == ["IMG_001"]
    assert model.shown[3].images is not None
    (crop,) = [b["digest"] for b in model.shown[4].messages[1]["content"] if b["type"] == "image"]
    assert crop == episode.images[0]["digest"], "the model sees the picture that the record holds"
    fetched = [c["function"]["arguments"] for m in episode.messages for c in m.get("tool_calls", []) if "url" in str(c)]
    assert [arguments["url"] for arguments in fetched] == [f"{SITE}/launch", f"{SITE}/review"]
    assert fetched[0]["prompt"] == "What colour is the lantern?"


def test_calls_are_kept_for_the_pictures() -> None:
    model = FakeChat(intent("Search"), KEYWORDS, INJECTION, REVIEW)
    assert called(played(model, tool_calls=2)) == ["text_search", "image_search", "answer"]
    model = FakeChat(intent("Search"), KEYWORDS, INJECTION, REVIEW)
    assert called(played(model, tool_calls=1)) == ["image_search", "answer"]


def test_what_cannot_be_had_is_passed_over() -> None:
    nothing = {"prompt": "A lantern.", "final_image_queries": ["zeppelin", "lantern"]}
    model = FakeChat(intent("Search"), KEYWORDS, nothing, REVIEW)
    episode = played(model)
    assert called(episode)[-3:] == ["image_search", "image_search", "answer"]
    assert episode.reward == 1.0
    model = FakeChat(
        intent("Search"), {"text_queries": ["zeppelin"], "image_queries": []}, {**nothing, "final_image_queries": []}, BARE
    )
    episode = played(model)
    assert called(episode) == ["text_search", "answer"]
    assert episode.answer == {"prompt": "A lantern.", "references": []}


def test_a_reference_that_was_not_shown_fits_no_schema() -> None:
    wrong = {**REVIEW, "reference_image": ["IMG_002"]}
    model = FakeChat(intent("Search"), KEYWORDS, INJECTION, wrong, REVIEW)
    episode = played(model)
    assert (episode.usage["unreadable"], episode.reward) == (1, 1.0)
    assert stages(model)[-2:] == ["review", "review"]
    model = FakeChat(intent("Direct"), REVIEW, BARE)
    assert played(model).usage["unreadable"] == 1


def test_a_stage_without_a_usable_reply_costs_turns_and_ends_by_the_rules() -> None:
    bad = ReplyError("no", "refusal", "I will <not>.")
    episode = played(FakeChat(*[bad] * 4))
    assert (episode.end_reason, episode.answer, episode.usage["unreadable"]) == ("turns", None, 4)
    assert text_of(episode.messages[2]) == "(unusable reply, refusal) I will ‹not>."


def test_it_tells_what_its_model_took_in_this_episode_unusable_replies_included() -> None:
    bad = ReplyError("no", "refusal", "No.", Usage(calls=2, prompt_tokens=20, completion_tokens=4, cost=1.0))
    policy = Workflow(FakeChat(bad, intent("Direct"), BARE, intent("Direct"), BARE))
    told = {"model_calls": 4, "model_prompt_tokens": 40, "model_completion_tokens": 8, "model_cost": 2.0}
    assert asyncio.run(play(make_env(), policy, "task-1", seed=5)).usage.items() >= told.items()
    assert asyncio.run(play(make_env(), policy, "task-1", seed=5)).usage["model_calls"] == 2


def test_a_refused_answer_is_reviewed_again() -> None:
    policy = Workflow(model := FakeChat(intent("Direct"), BARE, BARE))
    policy.reset("A lantern.", [], 0)
    asyncio.run(policy.act({"text": "A lantern.", "images": (), "calls_left": 8}))
    refused = "<tool_response>\n[error] no such picture\n</tool_response>"
    asyncio.run(policy.act({"text": refused, "images": (), "calls_left": 8}))
    assert "Your last answer was refused:\n[error] no such picture" in text_of(model.shown[-1].messages[1])


def test_a_model_that_fails_is_no_result() -> None:
    episode = played(FakeChat(intent("Direct"), ProviderError("down", "http 500")))
    assert (episode.end_reason, episode.reward_valid) == ("policy", False)


def test_an_instance_forgets_its_last_episode_even_one_that_waited() -> None:
    bad = ReplyError("no", "refusal", "No.")
    says = [intent("Search"), KEYWORDS, INJECTION, BARE]
    check_policy(Workflow(FakeChat(*says, *says)))
    policy = Workflow(FakeChat(intent("Direct"), *[bad] * 4, intent("Direct"), BARE))
    env = make_env()
    assert asyncio.run(play(env, policy, "task-1", seed=5)).end_reason == "turns"
    assert asyncio.run(play(env, policy, "task-1", seed=5)).end_reason == "answered"


def test_settings_are_checked() -> None:
    for name in ("pages_per_query", "page_chars", "references"):
        with pytest.raises(ConfigError, match=rf"agent\.{name}=0"):
            Workflow(FakeChat(), **{name: 0})
    with pytest.raises(UsageError, match="reset"):
        asyncio.run(Workflow(FakeChat()).act({"text": "", "images": (), "calls_left": 1}))
    assert isinstance(Workflow(FakeChat()), Policy)
    GlobalHydra.instance().clear()
    with hydra.initialize_config_dir(version_base="1.3", config_dir=str(ROOT / "conf")):
        config = plain(hydra.compose("evaluate", overrides=["agent=workflow", "agent.model.model=m"]).agent)
    made = make_policy(config)()
    assert isinstance(made, Workflow)
    assert isinstance(made.model, ChatModel)


def test_it_plays_the_miniweb(small_world: MiniWorld) -> None:
    """With queries by name and the first picture, as a model without insight would choose, it plays to the end."""
    tasks = small_world.tasks("train")
    env = WildEnv(tasks, WebClient(MiniwebProvider(small_world)), SearchReward(OracleJudge(small_world)))
    for number in range(3):
        name = read_subject(tasks[number].prompt).name
        keywords = {"text_queries": [name, f"{name} launch"], "image_queries": [name, f"{name} press"]}
        injection = {"prompt": tasks[number].prompt, "final_image_queries": [name, f"{name} launch"]}
        model = FakeChat(intent("Search"), keywords, injection, REVIEW)
        episode = asyncio.run(play(env, Workflow(model), tasks[number].id, seed=1))
        assert (episode.end_reason, episode.failure) == ("answered", None)
        assert 4 <= episode.usage["tool_calls"] <= 8
        assert all(step["ok"] for step in episode.steps)
        assert "What was read:" in text_of(model.shown[2].messages[1])
