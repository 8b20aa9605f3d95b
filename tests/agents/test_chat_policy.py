"""A chat model as a policy: what is asked, what is sent on, and what stays between the two."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import hydra
import pytest
from hydra.core.global_hydra import GlobalHydra

from agents.chat import ChatPolicy
from agents.chat_model import from_config, unusable
from agents.maker import make_policy
from agents.prompts import load_prompt
from agents.runs import plain
from tests.agents.fake_chat import FakeChat, hermes, reply
from tests.fakes import make_env
from tests.models import fault_server as faults
from wildenv.budget import Limits
from wildenv.check import check_policy
from wildenv.episode import Episode
from wildenv.errors import ConfigError, MessageError, ProviderError, UsageError
from wildenv.messages import parse_action, text_of
from wildenv.models.base import Chat
from wildenv.models.chat import ChatModel
from wildenv.models.dialect import Dialect
from wildenv.models.reply import ReplyError
from wildenv.models.usage import Usage
from wildenv.policy import Policy
from wildenv.rollout import play, rollout
from wildenv.web.net.manners import Rules

ROOT = Path(__file__).resolve().parents[2]
ANSWER = hermes("Enough.", "answer", prompt="A teal lantern.", references=[])
LOOK = hermes("Look.", "text_search", queries=["lantern"])


def see(query: str) -> str:
    return hermes("See.", "image_search", query=query)


def played(policy: Policy, **limits: int) -> Episode:
    """Plays one episode of the small web."""
    return asyncio.run(play(make_env(limits=Limits(**limits)), policy, "task-1", seed=5))


def roles(episode: Episode) -> str:
    return "".join(message["role"][0] for message in episode.messages)


def test_it_asks_for_one_turn_after_another_and_keeps_to_itself_what_it_need_not_say() -> None:
    model = FakeChat(LOOK, see("lantern"), ANSWER)
    policy = ChatPolicy(model, prompt="react")
    assert isinstance(policy, Policy)
    assert isinstance(model, Chat)
    episode = played(policy)
    assert (episode.end_reason, roles(episode)) == ("answered", "suatata")
    assert text_of(episode.messages[0]) == load_prompt("react")
    assert [len(shown.messages) for shown in model.shown] == [2, 4, 6]
    assert all(shown.tool_names[-1] == "answer" and len(shown.tools) == 5 for shown in model.shown)
    assert len({shown.seed for shown in model.shown}) == 3
    assert all(shown.seed is not None and 0 <= shown.seed < 2**31 for shown in model.shown)
    assert not policy.counts


def test_seeds_follow_the_episode_and_can_be_left_out() -> None:
    def seeds(seed: int, **settings: Any) -> list[int | None]:
        model = FakeChat(LOOK, ANSWER)
        asyncio.run(play(make_env(), ChatPolicy(model, **settings), "task-1", seed=seed))
        return [shown.seed for shown in model.shown]

    assert seeds(1) == seeds(1) != seeds(2)
    assert seeds(1, send_seed=False) == [None, None]


def test_without_calls_left_only_an_answer_is_asked_for() -> None:
    model = FakeChat(LOOK, see("lantern"), ANSWER)
    policy = ChatPolicy(model)
    episode = played(policy, tool_calls=2)
    assert (episode.end_reason, policy.counts) == ("answered", {"answer_now": 1})
    assert model.shown[1].tool_names != ["answer"] == model.shown[2].tool_names
    assert model.shown[2].last == load_prompt("asides/answer_now")
    assert load_prompt("asides/answer_now") not in str(episode.messages)
    assert [message["role"] for message in model.shown[2].messages[-2:]] == ["tool", "user"]


def test_the_last_turn_may_come_before_the_last_call() -> None:
    model = FakeChat(LOOK, ANSWER)
    policy = ChatPolicy(model, max_turns=2)
    assert played(policy).end_reason == "answered"
    assert model.shown[1].tool_names == ["answer"]


def test_lost_turns_bring_the_last_turn_nearer() -> None:
    """Two more turns than calls: with one call, the third turn is the last."""
    model = FakeChat("no call", "none either", ANSWER)
    assert played(ChatPolicy(model), tool_calls=1).end_reason == "answered"
    assert [shown.tool_names == ["answer"] for shown in model.shown] == [False, False, True]


def test_who_goes_on_searching_without_calls_is_asked_once_more_and_then_ends_by_the_rules() -> None:
    model = FakeChat(LOOK, see("lantern"), see("teal lantern"))
    policy = ChatPolicy(model)
    episode = played(policy, tool_calls=1)
    assert (episode.end_reason, episode.answer) == ("budget", None)
    assert policy.counts == {"answer_now": 1, "answer_again": 1}
    assert model.shown[2].last == load_prompt("asides/answer_again")
    called = [call["function"]["arguments"] for message in episode.messages for call in message.get("tool_calls", [])]
    assert called == [{"queries": ["lantern"]}, {"query": "teal lantern"}], "the first search beyond the budget was not sent on"


def test_who_goes_on_searching_after_the_last_turn_searches_nothing() -> None:
    model = FakeChat(LOOK, see("lantern"), see("teal lantern"), see("red lantern"), ANSWER)
    policy = ChatPolicy(model, max_turns=2)
    episode = played(policy)
    assert (episode.end_reason, episode.usage["tool_calls"], episode.usage["unreadable"]) == ("answered", 1, 2)
    refused = [text_of(m) for m in episode.messages if m["role"] == "assistant" and not m.get("tool_calls")]
    assert refused == ["(not sent on, for want of turns: image_search) See."] * 2
    assert policy.counts == {"answer_now": 3, "answer_again": 1}


def test_who_never_answers_gets_no_answer() -> None:
    model = FakeChat(LOOK, *["I cannot decide."] * 20)
    episode = played(ChatPolicy(model, max_turns=2))
    assert (episode.end_reason, episode.answer, episode.rewards["search"]) == ("turns", None, 0.0)
    assert len(model.shown) == 1 + 2 + 3, "the second chance is given once an episode"


def test_a_refused_answer_is_asked_for_again() -> None:
    wrong = hermes("That one.", "answer", prompt="A lantern.", references=["IMG_009"])
    model = FakeChat(LOOK, wrong, ANSWER)
    episode = played(ChatPolicy(model), tool_calls=1)
    assert (episode.end_reason, roles(episode)) == ("answered", "suatata")
    assert "IMG_009" in text_of(model.shown[2].messages[-2])


@pytest.mark.parametrize("again", ["lantern", "  LANTERN "])
def test_a_search_made_before_is_held_back_once(again: str) -> None:
    model = FakeChat(see("lantern"), see(again), see("red lantern"), ANSWER)
    policy = ChatPolicy(model)
    episode = played(policy)
    assert policy.counts == {"repeats": 1, "reminders": 1}
    assert episode.usage["tool_calls"] == 2
    assert model.shown[2].last == load_prompt("asides/asked_before").format(query=again)
    assert model.shown[2].messages[:-1] == model.shown[1].messages, "the turn held back is not shown again"


def test_whoever_insists_searches_again_and_is_reminded_no_more_than_agreed() -> None:
    model = FakeChat(see("lantern"), see("lantern"), see("lantern"), see("lantern"), ANSWER)
    policy = ChatPolicy(model, reminders=1)
    episode = played(policy)
    assert policy.counts == {"repeats": 3, "reminders": 1}
    assert episode.usage["tool_calls"] == 3
    policy.reset("A lantern.", [], 0)
    assert not policy.counts


@pytest.mark.parametrize(
    "other",
    [
        see('"lantern"'),
        see("lantern -red"),
        hermes("Look.", "text_search", queries=["lantern"], k=9),
        hermes("Look.", "text_search", queries=["lantern", "teal"]),
        hermes("Read.", "web_fetch", url="https://lantern.example/launch", prompt="lantern"),
        hermes("Odd.", "image_search", query=7),
        hermes("Odd.", "lantern", query="lantern"),
    ],
)
def test_what_asks_for_something_else_is_no_repeat(other: str) -> None:
    policy = ChatPolicy(FakeChat(see("lantern"), LOOK, other, ANSWER))
    assert played(policy).end_reason == "answered"
    assert not policy.counts


def test_a_repeat_is_found_within_a_turn_and_among_several_queries() -> None:
    twice = reply("", ("text_search", {"queries": ["a", "b"]}), ("text_search", {"queries": ["B"]}))
    one = reply("now", ("text_search", {"query": "b"}))
    policy = ChatPolicy(FakeChat(twice, LOOK, one, ANSWER), reminders=1)
    played(policy)
    assert policy.counts == {"repeats": 1, "reminders": 1}, "what was held back does not count as asked"
    policy = ChatPolicy(FakeChat(twice, one, ANSWER), reminders=0)
    played(policy)
    assert policy.counts == {"repeats": 2}


def test_a_reply_cut_off_is_asked_for_once_more() -> None:
    cut = ReplyError("too long", "length", "I think " * 9)
    model = FakeChat(cut, LOOK, ANSWER)
    policy = ChatPolicy(model)
    episode = played(policy)
    assert (episode.end_reason, roles(episode), policy.counts) == ("answered", "suata", {"too_long": 1})
    assert model.shown[1].last == load_prompt("asides/be_brief")
    assert len(model.shown[1].messages) == len(model.shown[0].messages), "two user messages in a row are one"


def test_a_second_one_is_a_turn_without_a_call_whatever_it_holds() -> None:
    whole = ReplyError("too long", "length", f"{LOOK} and so on")
    model = FakeChat(whole, whole, ANSWER)
    policy = ChatPolicy(model)
    episode = played(policy)
    assert (episode.usage["unreadable"], episode.usage["tool_calls"]) == (1, 0)
    assert text_of(episode.messages[2]).startswith("(unusable reply, length) Look.\n‹tool_call>")
    assert policy.counts == {"too_long": 1, "unusable": 1}


@pytest.mark.parametrize("kind", ["content filter", "refusal", "empty", "unfinished"])
def test_other_replies_that_are_none_are_turns_without_a_call(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "agents.chat")
    policy = ChatPolicy(FakeChat(ReplyError("no", kind, "" if kind == "empty" else "I will not."), ANSWER))
    episode = played(policy)
    assert (episode.end_reason, episode.usage["unreadable"]) == ("answered", 1)
    assert text_of(episode.messages[2]) == f"(unusable reply, {kind})" + " I will not." * (kind != "empty")
    assert kind in caplog.text


@pytest.mark.parametrize(
    "raw", ["", LOOK, '{"name": "answer", "arguments": {}}', '[{"name": "answer", "arguments": {}}]', '<answer>{"a": 1}</answer>']
)
def test_no_call_is_read_from_an_unusable_reply(raw: str) -> None:
    with pytest.raises(MessageError, match="no tool call"):
        parse_action(unusable(ReplyError("no", "length", raw)))


def test_it_tells_what_its_model_took_in_this_episode_unusable_replies_included() -> None:
    cut = ReplyError("too long", "length", "I think", Usage(calls=1, prompt_tokens=10, completion_tokens=99, cost=4.0))
    policy = ChatPolicy(FakeChat(cut, LOOK, ANSWER, LOOK, ANSWER))
    told = {"model_calls": 3, "model_prompt_tokens": 30, "model_completion_tokens": 103, "model_unmetered": 0, "model_cost": 5.0}
    assert played(policy).usage.items() >= told.items()
    assert played(policy).usage["model_calls"] == 2


def test_a_model_that_fails_is_no_result() -> None:
    episode = played(ChatPolicy(FakeChat(LOOK, ProviderError("down", "http 500"))))
    assert (episode.end_reason, episode.reward_valid) == ("policy", False)
    assert "down" in (episode.failure or "")


def test_an_instance_forgets_its_last_episode() -> None:
    says = [LOOK, see("lantern"), ANSWER]
    check_policy(ChatPolicy(FakeChat(*says, *says)))
    policy = ChatPolicy(FakeChat(*says, LOOK, ANSWER))
    played(policy)
    played(policy)
    assert not policy.counts


def test_settings_are_checked(tmp_path: Path) -> None:
    for wrong in ({"prompt": "none"}, {"max_turns": 0}, {"reminders": -1}):
        with pytest.raises(ConfigError, match="prompt" if "prompt" in wrong else rf"agent\.{next(iter(wrong))}"):
            ChatPolicy(FakeChat(), **wrong)
    with pytest.raises(UsageError, match="reset"):
        asyncio.run(ChatPolicy(FakeChat()).act({"text": "", "images": (), "calls_left": 1}))
    own = tmp_path / "mine.txt"
    own.write_text("Find it.\n", encoding="utf-8")
    assert ChatPolicy(FakeChat(), prompt=str(own)).system_prompt == "Find it."
    with pytest.raises(ConfigError, match=r"agent\.model\.model is not set"):
        from_config(model="", base_url="http://127.0.0.1:9/v1")
    with pytest.raises(ConfigError, match=r"agent\.model.*temperature"):
        from_config(model="m", base_url="http://127.0.0.1:9/v1", sampling={"temperature": 9})
    with pytest.raises(ConfigError, match=r"agent\.model\.store=.*agent\.model\.mode=record"):
        from_config(tmp_path / "no.sqlite", model="m", base_url="http://127.0.0.1:9/v1", mode="replay")


def test_the_prompts_are_whole_sentences_without_markup() -> None:
    folder = ROOT / "agents" / "prompts"
    files = sorted(folder.rglob("*.txt"))
    assert {"react", "direct", "lci"} <= {file.stem for file in files}
    for file in files:
        text = load_prompt(file.relative_to(folder).with_suffix("").as_posix())
        assert text.endswith((".", "}")) or "\n" in text
        assert not set(text) & set("<>")


def agent(*overrides: str) -> dict[str, Any]:
    """Returns a composed ``agent`` config."""
    GlobalHydra.instance().clear()
    with hydra.initialize_config_dir(version_base="1.3", config_dir=str(ROOT / "conf")):
        config = hydra.compose("evaluate", overrides=list(overrides))
    chosen: dict[str, Any] = plain(config.agent)
    return chosen


@pytest.mark.parametrize(("name", "turns"), [("chat", None), ("react", 10), ("direct", 2)])
def test_the_configs_make_policies_that_share_a_model(name: str, turns: int | None) -> None:
    make = make_policy(agent(f"agent={name}", "agent.model.model=m", "agent.model.dialect.tools=hermes", "agent.reminders=2"))
    one, other = make(), make()
    assert isinstance(one, ChatPolicy)
    assert isinstance(other, ChatPolicy)
    assert one is not other
    assert one.model is other.model
    assert isinstance(one.model, ChatModel)
    assert (one.model.dialect, one.model.model, one.max_turns, one.reminders) == (Dialect("hermes"), "m", turns, 2)
    assert one.system_prompt == load_prompt("lci" if name == "chat" else name)
    with pytest.raises(ConfigError, match=r"agent\.model\.model is not set"):
        make_policy(agent(f"agent={name}"))


@pytest.mark.loopback
@pytest.mark.slow
@pytest.mark.parametrize("tools", ["native", "hermes"])
def test_against_an_endpoint_that_fails_in_every_way(tmp_path: Path, tools: str) -> None:
    """One episode through every fault an endpoint recovers from, then one that it does not."""

    def turn(text: str, name: str, **arguments: Any) -> faults.Turn:
        if tools == "hermes":
            return faults.say(hermes(text, name, **arguments))
        (call,) = reply(text, (name, arguments)).tool_calls
        return faults.say(text, "tool_calls", tool_calls=[dict(call)])

    rules = Rules(attempts=3, backoff_s=0.01, longest_wait_s=5.0)
    with faults.fault_server() as server, ChatModel("tiny", server.url, rules=rules, dialect=Dialect(tools)) as model:
        server.script.extend(
            [
                faults.fail(500),
                faults.drop,
                turn("See.", "image_search", query="lantern"),
                faults.say("On and on", "length"),
                faults.say("and on", "length"),
                faults.fail(429, headers={"Retry-After": "0"}),
                faults.say("", "content_filter"),
                turn("See.", "image_search", query="Lantern"),
                faults.send("<html>"),
                turn("Cut.", "crop_image", image_id="IMG_001", box=[0, 0, 500, 500]),
                turn("No.", "web_fetch", url="https://lantern.example/launch", prompt="trim"),
                turn("IMG_001.", "answer", prompt="A teal lantern.", references=["IMG_001"]),
            ]
        )
        policy = ChatPolicy(model, max_turns=5)
        episode = asyncio.run(play(make_env(), policy, "task-1", seed=5))
        assert (episode.end_reason, episode.reward) == ("answered", 1.0)
        assert not server.script
        assert (episode.usage["unreadable"], episode.usage["tool_calls"]) == (2, 2)
        assert policy.counts == {
            "too_long": 1,
            "unusable": 2,
            "repeats": 1,
            "reminders": 1,
            "answer_now": 1,
            "answer_again": 1,
        }
        last = server.bodies[-1]
        sent = str(last["messages"])
        assert "IMG_001: lantern" in sent
        assert "data:image/png;base64" in sent
        assert load_prompt("asides/answer_again") in sent
        if tools == "native":
            assert [tool["function"]["name"] for tool in last["tools"]] == ["answer"]
            assert "Picture IMG_001:" in sent
        else:
            assert "tools" not in last
            assert '"name": "answer"' in last["messages"][0]["content"]
        server.script.extend([faults.fail(500)] * 9)
        summary = asyncio.run(rollout(make_env, lambda: ChatPolicy(model), ["task-1"], tmp_path, progress=False))
        assert summary.end_reasons == {"policy": 1}
        assert "500" in summary.failures[0][1]
