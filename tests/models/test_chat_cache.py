from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import draw
from tests.models.fault_server import FaultServer, fail, say
from wildenv.errors import CacheMiss, ConfigError, DataError, ProviderError
from wildenv.images import ImageStore
from wildenv.messages import image_block, text_block
from wildenv.models.chat import NAMESPACE, ChatModel
from wildenv.models.dialect import Dialect
from wildenv.models.pictures import Pictures
from wildenv.models.reply import ReplyError
from wildenv.models.sampling import Sampling
from wildenv.models.usage import Prices
from wildenv.web.store import Store

pytestmark = pytest.mark.loopback

Make = Callable[..., ChatModel]
NOWHERE = "http://127.0.0.1:9/v1"
SCHEMA = {"type": "object", "properties": {"score": {"enum": [0, 0.5, 1]}}, "required": ["score"]}


def chat(text: str = "hello") -> list[dict[str, Any]]:
    return [{"role": "user", "content": [text_block(text)]}]


def test_concurrent_identical_requests_cost_one_call(make: Make, server: FaultServer) -> None:
    server.delay_s = 0.3
    model = make(store=Store.memory(), prices=Prices(prompt=1.0))

    async def ask() -> list[Any]:
        return await asyncio.gather(*(model.complete(chat()) for _ in range(32)))

    replies = asyncio.run(ask())
    assert server.calls == 1
    assert len(set(map(repr, (reply.text for reply in replies)))) == 1
    assert sum(not reply.cached for reply in replies) == 1
    assert (model.usage.calls, model.usage.cached) == (1, 31)
    assert model.usage.cost == pytest.approx(100 / 1e6)
    with ThreadPoolExecutor(16) as threads:
        assert all(reply.cached for reply in threads.map(lambda _: model.complete_sync(chat()), range(32)))
    assert server.calls == 1


def test_without_a_store_equal_requests_are_asked_each(make: Make, server: FaultServer) -> None:
    server.delay_s = 0.2
    model = make()

    async def ask() -> None:
        await asyncio.gather(*(model.complete(chat()) for _ in range(4)))

    asyncio.run(ask())
    assert server.calls == 4


def test_replies_replay_offline_and_equal(make: Make, server: FaultServer, tmp_path: Path) -> None:
    server.script += [say("<think>hm</think>one"), say('{"score": 3}'), say('{"score": 1}')]
    with Store(tmp_path / "chat.sqlite") as store:
        model = make(store=store, prices=Prices(prompt=1.0))
        first, second = model.complete_sync(chat()), model.complete_sync(chat(), schema=SCHEMA)
    assert second.repaired
    assert second.usage.calls == 2
    with Store(tmp_path / "chat.sqlite", read_only=True) as store:
        # Neither an endpoint nor a key is needed.
        away = ChatModel("tiny", NOWHERE, store=store, prices=Prices(prompt=1.0), api_key_env="NO_SUCH_KEY")
        assert away.mode == "replay"
        again = away.complete_sync(chat()), away.complete_sync(chat(), schema=SCHEMA)
        assert again == (first, second)
        assert [reply.cached for reply in again] == [True, True]
        assert (away.usage.calls, away.usage.cached, away.usage.cost) == (0, 2, 0.0)
        with pytest.raises(CacheMiss, match=r"model\.mode=record"):
            away.complete_sync(chat("something else"))
    assert server.calls == 3


@pytest.mark.parametrize(
    ("turns", "error"),
    [
        ([say("half", "length")], ReplyError),
        ([say("no", "content_filter")], ReplyError),
        ([say(None, refusal="no")], ReplyError),
        ([say("")], ReplyError),
        ([fail(400)], ProviderError),
        ([fail(503)] * 3, ProviderError),
        ([say("no json")] * 2, ReplyError),
    ],
)
def test_failures_and_refusals_are_not_stored(make: Make, server: FaultServer, turns: list[Any], error: Any) -> None:
    store = Store.memory()
    model = make(store=store)
    schema = SCHEMA if len(turns) == 2 else None
    server.script += turns
    with pytest.raises(error):
        model.complete_sync(chat(), schema=schema)
    assert len(store) == 0
    server.script.append(say('{"score": 1}'))
    assert not model.complete_sync(chat(), schema=schema).cached


def test_what_can_change_a_reply_changes_its_key(make: Make, server: FaultServer) -> None:
    images = ImageStore()
    picture, other = images.put_png(_png("red")), images.put_png(_png("blue"))
    seen = [{"role": "user", "content": [text_block("look"), image_block("IMG_001", picture)]}]
    renamed = [{"role": "user", "content": [text_block("look"), image_block("IMG_009", picture)]}]
    changed = [{"role": "user", "content": [text_block("look"), image_block("IMG_001", other)]}]
    tool = {"type": "function", "function": {"name": "text_search", "parameters": {"type": "object"}}}
    store = Store.memory()
    asks: list[tuple[dict[str, Any], list[Any], dict[str, Any]]] = [
        ({}, seen, {}),
        ({"model": "other"}, seen, {}),
        ({"sampling": Sampling(temperature=1.0)}, seen, {}),
        ({"sampling": Sampling(extra={"top_k": 1})}, seen, {}),
        ({"pictures": Pictures("jpeg")}, seen, {}),
        ({}, changed, {}),
        ({}, seen, {"seed": 4}),
        ({}, seen, {"tools": [tool]}),
        ({"dialect": Dialect("hermes")}, seen, {"tools": [tool]}),
        ({}, chat(), {}),
    ]
    for number, (settings, messages, arguments) in enumerate(asks, 1):
        assert not make(store=store, **settings).complete_sync(messages, images=images, **arguments).cached
        assert len(store) == number
    same: list[tuple[dict[str, Any], list[Any]]] = [
        ({"headers": {"X-Team": "blue"}, "timeout_s": 3.0}, seen),
        ({"base_url": NOWHERE}, seen),
        ({}, renamed),
        ({"dialect": Dialect(structured="schema")}, seen),
    ]
    for settings, messages in same:
        assert make(store=store, **settings).complete_sync(messages, images=images).cached
    # The form of pictures matters to chats with pictures only.
    assert make(store=store, pictures=Pictures("jpeg")).complete_sync(chat()).cached
    assert server.calls == len(asks)


def test_refresh_asks_once_again_and_overwrites(make: Make, server: FaultServer) -> None:
    store = Store.memory()
    server.script += [say("old"), say("new")]
    assert make(store=store).complete_sync(chat()).text == "old"
    model = make(store=store, mode="refresh")
    assert [model.complete_sync(chat()).text for _ in range(3)] == ["new"] * 3
    assert make(store=store).complete_sync(chat()).text == "new"
    assert server.calls == 2


def test_live_does_not_look_at_the_store(make: Make, server: FaultServer) -> None:
    store = Store.memory()
    model = make(store=store, mode="live")
    model.complete_sync(chat())
    model.complete_sync(chat())
    assert (server.calls, len(store)) == (2, 0)


def test_a_read_only_store_cannot_be_recorded_into(tmp_path: Path) -> None:
    Store(tmp_path / "s.sqlite").close()
    with Store(tmp_path / "s.sqlite", read_only=True) as store, pytest.raises(ConfigError, match="read-only"):
        ChatModel("tiny", NOWHERE, store=store, mode="record")


def test_nothing_secret_and_no_picture_is_stored(make: Make, server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINY_KEY", "sk-verysecret-987")
    images = ImageStore()
    digest = images.put_png(_png("red"))
    store = Store.memory()
    server.script.append(say("it is sk-verysecret-987"))
    seen = [{"role": "user", "content": [text_block("look"), image_block("IMG_001", digest)]}]
    make(store=store, api_key_env="TINY_KEY").complete_sync(seen, images=images)
    ((key, request),) = store.requests(NAMESPACE)
    written = json.dumps([request, store.get(NAMESPACE, key)])
    assert digest in written
    assert "base64" not in written
    assert "verysecret" not in written
    assert server.url not in written


def test_a_stored_reply_of_another_form_says_how_to_mend_it(make: Make, server: FaultServer) -> None:
    store = Store.memory()
    model = make(store=store)
    model.complete_sync(chat())
    ((key, request),) = store.requests(NAMESPACE)
    store.put(NAMESPACE, key, request, {"completion": {"text": "of the future"}})
    with pytest.raises(DataError, match=r"model\.mode=refresh"):
        model.complete_sync(chat())


def _png(colour: str) -> bytes:
    return draw(colour, (56, 56))
