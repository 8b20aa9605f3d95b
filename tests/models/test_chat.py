from __future__ import annotations

import asyncio
import copy
import json
import pickle
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.models.fault_server import FaultServer, drip, drop, fail, fault_server, hang, say, send
from wildenv.errors import ConfigError, DeadlineExceeded, MessageError, ProviderError, UsageError
from wildenv.messages import text_block
from wildenv.models.chat import ChatModel
from wildenv.models.reply import ReplyError
from wildenv.models.sampling import Sampling
from wildenv.models.usage import Prices
from wildenv.web.deadline import tool_deadline
from wildenv.web.net.manners import Rules

pytestmark = pytest.mark.loopback

Make = Callable[..., ChatModel]


def chat(text: str = "hello") -> list[dict[str, Any]]:
    return [{"role": "system", "content": [text_block("be brief")]}, {"role": "user", "content": [text_block(text)]}]


def test_a_reply_says_what_it_is_and_where_it_is_from(make: Make, server: FaultServer) -> None:
    reply = make(sampling=Sampling(temperature=0.3, seed=5, max_tokens=99, extra={"top_k": 4})).complete_sync(chat())
    assert (reply.text, reply.finish, reply.model, reply.fingerprint) == ("fine", "stop", "served-1", "fp-7")
    assert (reply.seed, reply.temperature, reply.cached, reply.repaired) == (5, 0.3, False, False)
    assert server.bodies == [
        {
            "model": "tiny",
            "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hello"}],
            "temperature": 0.3,
            "seed": 5,
            "max_tokens": 99,
            "top_k": 4,
        }
    ]


def test_what_is_none_is_left_to_the_endpoint_and_a_seed_is_given_by_the_call(make: Make, server: FaultServer) -> None:
    model = make(sampling=Sampling(temperature=None, seed=None, max_tokens=None))
    assert model.complete_sync(chat()).seed is None
    assert model.complete_sync(chat(), seed=9).seed == 9
    assert [set(body) for body in server.bodies] == [{"model", "messages"}, {"model", "messages", "seed"}]


def test_the_async_form_runs_as_many_at_once_as_the_rules_allow(make: Make, server: FaultServer) -> None:
    server.delay_s = 0.1
    model = make(rules=Rules(concurrency=12))

    async def ask() -> list[str]:
        replies = await asyncio.gather(*(model.complete(chat(f"number {i}")) for i in range(36)))
        return [reply.text for reply in replies]

    assert asyncio.run(ask()) == ["fine"] * 36
    assert server.most_at_once == 12
    # The event loop of the first run is gone; the model is not bound to it.
    assert asyncio.run(ask()) == ["fine"] * 36


def test_the_sync_form_works_from_many_threads_and_inside_a_running_loop(make: Make, server: FaultServer) -> None:
    model = make()
    with ThreadPoolExecutor(20) as threads:
        texts = list(threads.map(lambda i: model.complete_sync(chat(str(i))).text, range(40)))
    assert texts == ["fine"] * 40

    async def inside() -> str:
        return model.complete_sync(chat()).text

    assert asyncio.run(inside()) == "fine"


def test_reasoning_is_kept_apart(make: Make, server: FaultServer) -> None:
    server.script += [
        say("<think>\nhm <tool_call>{}\n</think>\n\nblue"),
        say("red", reasoning_content="because"),
        say("so the template opened it</think> green"),
        say("<think>never ends"),
    ]
    model = make()
    replies = [model.complete_sync(chat()) for _ in range(3)]
    assert [reply.text for reply in replies] == ["blue", "red", "green"]
    assert [reply.reasoning for reply in replies] == ["hm <tool_call>{}", "because", "so the template opened it"]
    with pytest.raises(ReplyError) as caught:
        model.complete_sync(chat())
    assert (caught.value.kind, caught.value.raw) == ("empty", "never ends")


@pytest.mark.parametrize(
    ("turn", "kind", "raw"),
    [
        (say("half of it", "length"), "length", "half of it"),
        (say("half", "content_filter"), "content filter", "half"),
        (say(None, refusal="I will not."), "refusal", "I will not."),
        (say("  "), "empty", "  "),
        (say("half", None), "unfinished", "half"),
        (fail(400, "content_filter", message="the prompt is filtered"), "content filter", "the prompt is filtered"),
    ],
)
def test_what_is_no_whole_answer_is_an_error_of_its_own_kind(
    make: Make, server: FaultServer, turn: Any, kind: str, raw: str
) -> None:
    server.script.append(turn)
    with pytest.raises(ReplyError) as caught:
        make().complete_sync(chat())
    assert caught.value.kind == kind
    assert raw in caught.value.raw
    assert server.calls == 1
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.kind, again.raw) == (str(caught.value), kind, caught.value.raw)
    assert again.usage == caught.value.usage


@pytest.mark.parametrize(
    ("turn", "kind"),
    [
        (fail(500), "http 500"),
        (fail(429), "http 429"),
        (drop, "connection"),
        (send("{not json"), "bad reply"),
        (send("<html>busy</html>", headers={"Content-Type": "text/html"}), "bad reply"),
        (send(b"\xff\xfe"), "bad reply"),
        (send('{"choices": []}'), "no choices"),
        (send('{"choices": [{"message": {"content": {"a": 1}}}]}'), "bad reply"),
        (send('{"choices": [{"message": {"content": "", "tool_calls": [{"id": "x"}]}}]}'), "bad reply"),
        (send('{"error": {"message": "upstream is down", "code": 502}}'), "error in reply"),
        (send("[]"), "bad reply"),
        (send('{"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}], "score": 1e999}'), "bad reply"),
        (send("[" * 100_000), "bad reply"),
    ],
)
def test_what_may_pass_is_tried_again_and_then_a_failure_of_the_service(
    make: Make, server: FaultServer, turn: Any, kind: str
) -> None:
    model = make()
    server.script += [turn, turn]
    assert model.complete_sync(chat()).text == "fine"
    assert (model.spending.requests, model.spending.retries) == (3, 2)
    server.script += [turn] * 3
    with pytest.raises(ProviderError) as caught:
        model.complete_sync(chat())
    assert caught.value.kind == kind
    assert "model" in str(caught.value)
    assert server.calls == 6


@pytest.mark.parametrize(
    ("turn", "kind", "names"),
    [
        (fail(401), "key", "model.api_key_env"),
        (fail(404), "http 404", "model.base_url"),
        (fail(400, message="unknown field top_q"), "http 400", "unknown field top_q"),
        (send('{"detail": "pinned to another model"}', 400), "http 400", "pinned to another model"),
        (fail(429, "insufficient_quota"), "quota", "quota"),
        (fail(400, "context_length_exceeded"), "context length", "too long"),
    ],
)
def test_what_stays_wrong_is_not_tried_again(make: Make, server: FaultServer, turn: Any, kind: str, names: str) -> None:
    server.script.append(turn)
    with pytest.raises(ProviderError, match=names) as caught:
        make().complete_sync(chat())
    assert caught.value.kind == kind
    assert server.calls == 1


def test_retry_after_is_obeyed(make: Make, server: FaultServer) -> None:
    server.script.append(fail(429, headers={"Retry-After": "1"}))
    model = make()
    start = time.monotonic()
    assert model.complete_sync(chat()).text == "fine"
    assert time.monotonic() - start >= 1.0
    assert server.calls == 2


@pytest.mark.parametrize("turn", [hang, drip])
def test_a_hang_and_a_drip_end_at_the_timeout_and_leave_the_model_usable(make: Make, server: FaultServer, turn: Any) -> None:
    server.script.append(turn)
    model = make(timeout_s=0.4)
    start = time.monotonic()
    with pytest.raises(ProviderError, match=r"model\.timeout_s") as caught:
        model.complete_sync(chat())
    assert caught.value.kind == "timeout"
    assert time.monotonic() - start < 2.5
    assert server.calls == 1
    assert model.complete_sync(chat()).text == "fine"


def test_the_deadline_of_the_tool_call_comes_first_and_says_so(make: Make, server: FaultServer) -> None:
    server.script.append(hang)
    start = time.monotonic()
    with tool_deadline(0.3), pytest.raises(DeadlineExceeded, match=r"env\.tool_deadline_s"):
        make(timeout_s=30).complete_sync(chat())
    assert time.monotonic() - start < 2.5


def test_the_deadline_reaches_the_async_form(make: Make, server: FaultServer) -> None:
    server.script.append(hang)
    model = make(timeout_s=30)

    async def ask() -> None:
        with tool_deadline(0.3):
            await model.complete(chat())

    with pytest.raises(DeadlineExceeded):
        asyncio.run(ask())


def test_a_cancelled_call_returns_at_once(make: Make, server: FaultServer) -> None:
    server.script.append(hang)
    model = make(timeout_s=1.0)

    async def give_up() -> float:
        start = time.monotonic()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(model.complete(chat()), 0.2)
        return time.monotonic() - start

    assert asyncio.run(give_up()) < 0.8


def test_a_model_that_is_closed_fails_what_is_under_way_and_opens_again(make: Make, server: FaultServer) -> None:
    server.script.append(hang)
    model = make()
    threading.Timer(0.3, model.close).start()
    with pytest.raises(UsageError, match="closed"):
        model.complete_sync(chat())
    assert model.complete_sync(chat()).text == "fine"


def test_an_endpoint_that_is_not_there_names_the_setting() -> None:
    with (
        ChatModel("tiny", "http://127.0.0.1:9/v1", rules=Rules(attempts=1), setting="judge.model") as model,
        pytest.raises(ProviderError, match=r"judge\.model\.base_url") as caught,
    ):
        model.complete_sync(chat())
    assert caught.value.kind == "connection"


def test_keys_are_sent_and_never_shown(make: Make, server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINY_KEY", "sk-verysecret-123")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-private")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody-else")
    model = make(api_key_env="TINY_KEY")
    server.script += [say("you sent sk-verysecret-123"), fail(400, message="bad key sk-verysecret-123"), fail(401)]
    reply = model.complete_sync(chat())
    assert reply.text == "you sent [secret]"
    with pytest.raises(ProviderError) as caught:
        model.complete_sync(chat())
    shown = "".join(traceback.format_exception(caught.value))
    assert "[secret]" in shown
    assert "verysecret" not in shown
    sent = json.dumps(server.headers)
    assert server.headers[0]["authorization"] == "Bearer sk-verysecret-123"
    assert "org-private" not in sent
    assert "somebody" not in sent
    assert "verysecret" not in repr(vars(model))


def test_a_header_with_a_secret_comes_from_the_environment(
    make: Make, server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATE_KEY", "gate-verysecret-1")
    model = make(headers={"X-Team": "blue"}, headers_env={"X-API-Key": "GATE_KEY"})
    server.script += [say("you sent gate-verysecret-1")]
    assert model.complete_sync(chat()).text == "you sent [secret]"
    assert (server.headers[0]["x-api-key"], server.headers[0]["x-team"]) == ("gate-verysecret-1", "blue")
    monkeypatch.delenv("GATE_KEY")
    with pytest.raises(ConfigError, match=r"GATE_KEY.*model\.headers_env\.X-API-Key"):
        make(headers_env={"X-API-Key": "GATE_KEY"}).complete_sync(chat())


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_and_a_failure(
    make: Make, server: FaultServer, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setenv("GATE_KEY", "gate-verysecret-1")
    with fault_server() as other:
        server.script += [send("", status, {"Location": f"{other.url}/chat/completions"})]
        with pytest.raises(ProviderError, match=r"redirect.*model\.base_url") as error:
            make(headers_env={"X-API-Key": "GATE_KEY"}).complete_sync(chat())
        assert (error.value.kind, server.calls, other.calls) == (f"http {status}", 1, 0)


@pytest.mark.parametrize("header", ["Authorization", "proxy-authorization", "X-API-Key", "Cookie", "x-auth-token"])
def test_a_secret_in_a_plain_header_is_refused(make: Make, header: str) -> None:
    with pytest.raises(ConfigError, match=rf"model\.headers\.{header} would be written to disk.*model\.headers_env\.{header}"):
        make(headers={header: "value-1"})


def test_a_key_that_is_not_set_is_named(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TINY_KEY", raising=False)
    with pytest.raises(ConfigError, match=r"TINY_KEY.*model\.api_key_env"):
        make(api_key_env="TINY_KEY").complete_sync(chat())


@pytest.mark.parametrize("name", ["prompt_tokens", "completion_tokens"])
def test_tokens_beyond_belief_count_as_not_told(make: Make, server: FaultServer, name: str) -> None:
    server.script += [say(usage={"prompt_tokens": 5, "completion_tokens": 5, name: 10**400})]
    usage = make(prices=Prices(prompt=2.0, completion=10.0)).complete_sync(chat()).usage
    assert (usage.unmetered, usage.prompt_tokens, usage.completion_tokens, usage.cost) == (1, 0, 0, 0.0)


def test_tokens_and_money_add_up(make: Make, server: FaultServer) -> None:
    details = {"prompt_tokens": 1_000, "completion_tokens": 50, "prompt_tokens_details": {"cached_tokens": 400}}
    server.script += [say(usage=details), say(usage=None), say("cut", "length"), say(usage={"prompt_tokens": "many"})]
    model = make(prices=Prices(prompt=2.0, completion=10.0, cached_prompt=0.5))
    first = model.complete_sync(chat()).usage
    assert first.cost == pytest.approx((600 * 2 + 400 * 0.5 + 50 * 10) / 1e6)
    model.complete_sync(chat())
    with pytest.raises(ReplyError):
        model.complete_sync(chat())
    model.complete_sync(chat())
    total = model.usage
    assert (total.calls, total.prompt_tokens, total.completion_tokens) == (4, 1_100, 60)
    assert (total.cached_prompt_tokens, total.unmetered) == (400, 2)
    assert total.cost == pytest.approx((700 * 2 + 400 * 0.5 + 60 * 10) / 1e6)
    assert total.to_dict()["cost"] == total.cost
    assert model.spending.credits == 1_160
    assert model.spending.cost == pytest.approx(total.cost)
    assert model.spending.bytes > 100


@pytest.mark.parametrize(
    ("turns", "kind", "calls"),
    [([say("cut", "length")], "length", 1), ([say("no json")] * 2, "schema", 2), ([say("no json"), say("")], "empty", 2)],
)
def test_a_reply_that_cannot_be_used_says_what_it_took(
    make: Make, server: FaultServer, turns: list[Any], kind: str, calls: int
) -> None:
    server.script += turns
    model = make(prices=Prices(prompt=2.0, completion=10.0))
    with pytest.raises(ReplyError) as caught:
        model.complete_sync(chat(), schema={"type": "object"})
    assert caught.value.kind == kind
    assert caught.value.usage.calls == calls
    assert caught.value.usage == model.usage
    assert caught.value.usage.cost > 0


def test_totals_of_many_threads_are_exact(make: Make) -> None:
    model = make(prices=Prices(prompt=3.0, completion=15.0))
    with ThreadPoolExecutor(16) as threads:
        costs = [reply.usage.cost for reply in threads.map(lambda i: model.complete_sync(chat(str(i))), range(64))]
    assert model.usage.calls == 64
    assert model.usage.prompt_tokens == 6_400
    assert model.usage.cost == pytest.approx(sum(costs))


def test_native_tool_calls_come_back_readable(make: Make, server: FaultServer) -> None:
    tool = {"type": "function", "function": {"name": "text_search", "parameters": {"type": "object"}}}
    function = {"name": "text_search", "arguments": '{"queries": ["lantern"]}'}
    server.script += [
        say(None, "tool_calls", tool_calls=[{"id": "a", "type": "function", "function": function}]),
        say("", "tool_calls", tool_calls=[{"id": "b", "function": {"name": "text_search", "arguments": '{"queries": ['}}]),
        say("no tool today"),
    ]
    model = make()
    (call,) = model.complete_sync(chat(), tools=[tool]).action().calls
    assert (call.id, call.name, call.arguments) == ("a", "text_search", {"queries": ["lantern"]})
    assert server.bodies[0]["tools"] == [tool]
    broken = model.complete_sync(chat(), tools=[tool])
    with pytest.raises(MessageError, match="not valid JSON"):
        broken.action()
    assert broken.message()["tool_calls"][0]["function"]["arguments"] == '{"queries": ['
    with pytest.raises(MessageError, match="no tool call"):
        model.complete_sync(chat(), tools=[tool]).action()


def test_a_model_is_shared_when_what_holds_it_is_copied(make: Make) -> None:
    model = make()
    assert copy.deepcopy({"model": model})["model"] is model


def test_a_config_of_plain_values_makes_a_model(server: FaultServer) -> None:
    config = {
        "model": "tiny",
        "base_url": server.url,
        "sampling": {"temperature": None, "max_tokens": 7},
        "dialect": {"tools": "hermes", "limit": "max_completion_tokens"},
        "pictures": {"format": "jpeg", "quality": 80, "pixels": {"max_pixels": 50_176, "multiple": 28}},
        "rules": {"concurrency": 2},
        "prices": {"prompt": 1.0},
        "timeout_s": 5,
    }
    with ChatModel.from_config(config, setting="judge.model") as model:
        assert model.complete_sync(chat()).text == "fine"
        assert model.usage.cost == pytest.approx(100 / 1e6)
    assert server.bodies[0]["max_completion_tokens"] == 7
    assert "temperature" not in server.bodies[0]
    assert model.pictures.pixels is not None
    assert model.pictures.pixels.max_pixels == 50_176


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"model": ""}, r"judge\.model is not set|judge: judge\.model is not set"),
        ({"base_url": "localhost:8000"}, r"judge\.base_url"),
        ({"base_url": "http://me:pw@h/v1"}, r"judge\.api_key_env"),
        ({"timeout_s": 0}, r"judge\.timeout_s"),
        ({"mode": "sometimes"}, r"judge\.mode='sometimes'"),
        ({"mode": "replay"}, r"judge\.mode=replay needs a store"),
        ({"sampling": {"temperature": 3}}, r"judge\.sampling: temperature=3"),
        ({"sampling": {"extra": {"stream": True}}}, r"judge\.sampling: extra\.stream"),
        ({"sampling": {"heat": 3}}, r"judge\.sampling: .*'heat'"),
        ({"dialect": {"tools": "xml"}}, r"judge\.dialect: tools='xml'"),
        ({"pictures": {"format": "gif"}}, r"judge\.pictures: format='gif'"),
        ({"pictures": {"format": "jpeg", "quality": 100}}, r"judge\.pictures: quality=100"),
        ({"pictures": {"pixels": {"max_pixels": 1}}}, r"judge\.pictures\.pixels"),
        ({"prices": {"prompt": -1}}, r"judge\.prices: prompt=-1"),
        ({"rules": {"attempts": 0}}, r"judge\.rules: attempts=0"),
        ({"endpoint": "x"}, r"judge: .*'endpoint'"),
    ],
)
def test_a_wrong_setting_is_named(change: dict[str, Any], says: str) -> None:
    config = {"model": "tiny", "base_url": "http://127.0.0.1:1/v1", **change}
    with pytest.raises(ConfigError, match=says):
        ChatModel.from_config(config, setting="judge")
