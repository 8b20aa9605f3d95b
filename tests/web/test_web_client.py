from __future__ import annotations

import asyncio
import random
import threading
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from wildenv.errors import CacheMiss, ConfigError, ProviderError, ToolError, Unavailable
from wildenv.web.admission import Counts
from wildenv.web.client import WebClient
from wildenv.web.cutoff import PageWithheld
from wildenv.web.found import Found
from wildenv.web.recorder import Usage
from wildenv.web.results import Page, TextHit
from wildenv.web.store import Store

CUTOFF = date(2026, 7, 4)
URL = "https://a.example/0.png"


def error(call: int) -> None:
    raise ProviderError("the service is down")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mode": "offline"}, r"web\.mode='offline' is not one of live, record, refresh, replay"),
        ({}, r"web\.search"),
        ({"mode": "record", "store": "memory"}, r"web\.search"),
        ({"mode": "replay"}, r"web\.store"),
        ({"mode": "record", "provider": "fake"}, r"web\.store"),
        ({"provider": "fake", "overfetch": 0}, r"web\.overfetch=0"),
        ({"provider": "fake", "undated": "maybe"}, r"env\.undated='maybe'"),
        ({"provider": "fake", "mode": "record", "store": "read-only"}, r"web\.store is read-only"),
    ],
)
def test_wrong_settings_are_named(
    arguments: dict[str, Any], message: str, make_provider: Callable[..., Any], tmp_path: Path
) -> None:
    if "provider" in arguments:
        arguments = {**arguments, "provider": make_provider()}
    if "store" in arguments:
        Store(tmp_path / "s.db").close()
        store = Store.memory() if arguments["store"] == "memory" else Store(tmp_path / "s.db", read_only=True)
        arguments = {**arguments, "store": store}
    with pytest.raises(ConfigError, match=message):
        WebClient(**arguments)


def test_search_asks_for_more_filters_and_slices(make_provider: Callable[..., Any]) -> None:
    provider = make_provider(hits=100)
    client = WebClient(provider, overfetch=4)
    found = client.text_search("q", 5, CUTOFF)
    assert provider.limits == [20]
    assert [hit.title for hit in found.results] == [f"q {i}" for i in range(5)]
    assert len(found.decisions) == 20
    provider.published = "2026-07-05"
    assert client.image_search("q", 5, CUTOFF).results == ()
    assert len(client.image_search("q", 5, None).results) == 5


def test_results_behind_removed_ones_move_up(make_provider: Callable[..., Any]) -> None:
    provider = make_provider()
    days = ["2026-07-09", "2026-07-01", None, "2026-08-01", "2026-07-04"]
    hits = [TextHit(str(i), f"https://a.example/{i}", "", day) for i, day in enumerate(days)]
    provider.text_search = lambda query, limit, cutoff: hits
    assert [hit.title for hit in WebClient(provider).text_search("q", 2, CUTOFF).results] == ["1", "2"]
    strict = WebClient(provider, undated="drop").text_search("q", 2, CUTOFF)
    assert [hit.title for hit in strict.results] == ["1", "4"]


def test_record_then_replay_gives_the_same_without_provider(
    make_provider: Callable[..., Any], make_picture: Callable[..., bytes]
) -> None:
    provider, store = make_provider(), Store.memory()
    provider.pictures[URL] = make_picture("teal", "JPEG")

    def run(client: WebClient) -> list[Any]:
        text, image = client.text_search("q", 2, CUTOFF), client.image_search("q", 2, CUTOFF)
        page, picture = client.fetch_page("https://a.example/page", CUTOFF), client.fetch_image(URL)
        with pytest.raises(ToolError, match="there is no page") as refused:
            client.fetch_page("https://a.example/missing", CUTOFF)
        with pytest.raises(ToolError, match="there is no picture") as unseen:
            client.fetch_image("https://a.example/none.png")
        shown = (page.page, page.decisions, picture.tobytes(), str(refused.value), str(unseen.value))
        return [text.results, text.decisions, image.results, image.decisions, *shown]

    live = run(WebClient(provider))
    recorded = run(WebClient(provider, "record", store))
    asked = dict(provider.asked)
    provider.fail = error
    again = WebClient(provider, "record", store)
    assert run(again) == live
    replay = WebClient(mode="replay", store=store)
    assert recorded == live == run(replay)
    assert dict(provider.asked) == asked
    assert replay.usage["fetch_page"] == Usage(calls=0, hits=2, misses=0)
    assert replay.text_search(" q\n", 2, CUTOFF).cached


def test_picture_bytes_are_stored_as_they_came_with_their_type(
    make_provider: Callable[..., Any], make_picture: Callable[..., bytes]
) -> None:
    provider, store = make_provider(), Store.memory()
    for form, media_type in (("JPEG", "image/jpeg"), ("PNG", "image/png"), ("WEBP", "image/webp"), ("GIF", "image/gif")):
        data = provider.pictures[form] = make_picture("teal", form)
        WebClient(provider, "record", store).fetch_image(form)
        request = next(key for key, row in store.requests("fetch_image") if row["params"] == {"url": form})
        response = store.get("fetch_image", request)
        assert response is not None
        assert response["media_type"] == media_type
        assert store.blob(response["blob"]).data == data


def test_refresh_asks_again_and_overwrites(make_provider: Callable[..., Any]) -> None:
    provider, store = make_provider(hits=1), Store.memory()
    WebClient(provider, "record", store).text_search("q", 5, None)
    provider.hits = 2
    assert len(WebClient(provider, "record", store).text_search("q", 5, None).results) == 1
    assert len(WebClient(provider, "refresh", store).text_search("q", 5, None).results) == 2
    assert len(WebClient(mode="replay", store=store).text_search("q", 5, None).results) == 2


def test_errors_are_never_stored(make_provider: Callable[..., Any]) -> None:
    provider, store = make_provider(), Store.memory()
    provider.fail = error
    for mode in ("record", "refresh"):
        client = WebClient(provider, mode, store)
        for call in (
            lambda client=client: client.text_search("q", 5, CUTOFF),
            lambda client=client: client.image_search("q", 5, CUTOFF),
            lambda client=client: client.fetch_page(URL, CUTOFF),
            lambda client=client: client.fetch_image(URL),
        ):
            with pytest.raises(ProviderError):
                call()
    assert len(store) == 0


def test_a_failed_refresh_keeps_the_old_record(make_provider: Callable[..., Any]) -> None:
    provider, store = make_provider(), Store.memory()
    WebClient(provider, "record", store).text_search("q", 5, None)
    provider.fail = error
    with pytest.raises(ProviderError):
        WebClient(provider, "refresh", store).text_search("q", 5, None)
    assert len(WebClient(mode="replay", store=store).text_search("q", 5, None).results) == 3


def test_empty_answers_are_stored_only_when_confirmed(make_provider: Callable[..., Any]) -> None:
    def down_on_second(call: int) -> None:
        if call == 2:
            raise ProviderError("down")

    provider, store = make_provider(hits=0), Store.memory()
    provider.fail = down_on_second
    client = WebClient(provider, "record", store)
    with pytest.raises(ProviderError, match="down"):
        client.text_search("q", 5, None)
    assert len(store) == 0
    assert client.text_search("q", 5, None).results == ()
    assert provider.asked["text_search"] == 4
    assert len(store) == 1
    assert client.text_search("q", 5, None).cached
    provider.fail = lambda call: None
    client.fetch_page("https://a.example/blank", None)
    assert client.admission.counts == Counts(confirmed=2)


def test_emptiness_of_two_kinds_is_no_answer(make_provider: Callable[..., Any]) -> None:
    provider, store = make_provider(), Store.memory()

    def first_absent(url: str, cutoff: date | None) -> Page:
        provider.asked["fetch_page"] += 1
        if provider.asked["fetch_page"] == 1:
            raise ToolError("there is no such page")
        return Page(url, "", "")

    provider.fetch_page = first_absent
    client = WebClient(provider, "record", store)
    with pytest.raises(Unavailable):
        client.fetch_page("https://a.example/odd", None)
    assert (len(store), client.admission.counts) == (0, Counts(refused=1))
    assert client.failures == {"fetch_page": {"unsteady": 1}}


def test_an_empty_answer_that_was_a_slip_is_replaced(make_provider: Callable[..., Any]) -> None:
    def recover(call: int) -> None:
        provider.hits = call - 1

    provider, store = make_provider(), Store.memory()
    provider.fail = recover
    found = WebClient(provider, "record", store).text_search("q", 5, None)
    assert len(found.results) == 1
    assert WebClient(mode="replay", store=store).text_search("q", 5, None).results == found.results


def test_a_miss_names_the_nearest_record_and_what_differs(make_provider: Callable[..., Any]) -> None:
    provider, store = make_provider(), Store.memory()
    recorder = WebClient(provider, "record", store)
    for query in ("teal racer 2026", "red kettle", "an unrelated thing"):
        recorder.text_search(query, 5, CUTOFF)
    recorder.text_search("teal racer 2027", 3, None)
    recorder.image_search("teal racer 2027", 5, CUTOFF)
    client, bare = WebClient(provider, "replay", store), WebClient(mode="replay", store=store)
    asked = dict(provider.asked)
    with pytest.raises(CacheMiss) as miss:
        client.text_search("teal racer 2027", 5, CUTOFF)
    text = str(miss.value)
    assert "'teal racer 2026'" in text
    assert "the nearest record is 'teal racer 2026'; set web.mode=record" in text
    assert "cutoff" not in text
    assert "web.mode=record" in text
    with pytest.raises(CacheMiss, match=r"record has cutoff='2026-07-04' instead of '2026-07-05'; set web.mode"):
        client.text_search("red kettle", 5, date(2026, 7, 5))
    with pytest.raises(CacheMiss, match="the nearest record has limit=20 instead of 84"):
        client.text_search("red kettle", 21, CUTOFF)
    with pytest.raises(CacheMiss, match="nor is anything else of fetch_page"):
        client.fetch_page(URL, CUTOFF)
    with pytest.raises(CacheMiss, match=r"nothing is recorded for fetch_page; set web\.mode=record"):
        bare.fetch_page(URL, CUTOFF)
    assert bare.usage["fetch_page"] == Usage(misses=1)
    assert client.usage["text_search"] == Usage(calls=0, hits=0, misses=3)
    assert dict(provider.asked) == asked


def test_two_providers_in_a_store_are_told_apart(make_provider: Callable[..., Any]) -> None:
    one, other, store = make_provider(hits=1), make_provider(hits=2), Store.memory()
    other.name = "other"
    for provider in (one, other):
        WebClient(provider, "record", store).text_search("q", 5, None)
    with pytest.raises(ConfigError, match=r"several providers \(fake 1, other 1\); name one in web\.search"):
        WebClient(mode="replay", store=store).text_search("q", 5, None)
    assert len(WebClient(mode="replay", store=store, prefer=["other"]).text_search("q", 5, None).results) == 2
    assert len(WebClient(other, "replay", store).text_search("q", 5, None).results) == 2


def test_page_after_the_cutoff_is_withheld_in_every_mode(make_provider: Callable[..., Any]) -> None:
    provider, store = make_provider(published="July 5, 2026"), Store.memory()
    for client in (WebClient(provider), WebClient(provider, "record", store), WebClient(mode="replay", store=store)):
        with pytest.raises(PageWithheld) as refused:
            client.fetch_page("https://a.example/page", CUTOFF)
        assert "SECRET" not in str(refused.value)
        assert refused.value.decision.published == date(2026, 7, 5)
        assert not refused.value.decision.kept


def test_relative_dates_replay_as_they_were_recorded(make_provider: Callable[..., Any]) -> None:
    moments = [datetime(2026, 7, 6, 12, tzinfo=UTC), datetime(2026, 8, 1, tzinfo=UTC)]
    provider, store = make_provider(published="2 days ago"), Store.memory()
    early = WebClient(provider, "record", store, clock=lambda: moments[0]).text_search("q", 5, CUTOFF)
    assert len(early.results) == 3
    assert early.decisions[0].published == CUTOFF
    late = WebClient(mode="replay", store=store, clock=lambda: moments[1]).text_search("q", 5, CUTOFF)
    assert (late.results, late.decisions) == (early.results, early.decisions)
    assert WebClient(provider, clock=lambda: moments[1]).text_search("q", 5, CUTOFF).results == ()


def test_recording_at_another_time_gives_the_same_digest(make_provider: Callable[..., Any]) -> None:
    digests = set()
    for day in (1, 20):
        store = Store.memory()
        recorder = WebClient(make_provider(), "record", store, clock=lambda day=day: datetime(2026, 7, day, tzinfo=UTC))
        recorder.text_search("q", 5, CUTOFF)
        digests.add(WebClient(mode="replay", store=store).digest)
    assert len(digests) == 1


def test_digest_says_what_the_web_is(make_provider: Callable[..., Any]) -> None:
    provider = make_provider()
    assert WebClient(provider).digest == "fake:1"
    provider.digest = "abc"
    assert WebClient(provider).digest == "abc"


def test_replay_does_not_depend_on_order_or_threads(make_provider: Callable[..., Any]) -> None:
    store = Store.memory()
    recorder = WebClient(make_provider(), "record", store)
    queries = [f"query {i}" for i in range(30)]
    expected = {query: recorder.text_search(query, 3, CUTOFF).results for query in queries}
    client = WebClient(mode="replay", store=store)
    calls = queries * 8
    random.Random(0).shuffle(calls)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda query: client.text_search(query, 3, CUTOFF).results, calls))
    assert found == [expected[query] for query in calls]
    assert client.usage["text_search"] == Usage(calls=0, hits=240, misses=0)


@pytest.mark.parametrize("mode", ["live", "record", "refresh"])
def test_concurrent_identical_requests_cost_one_call(make_provider: Callable[..., Any], mode: str) -> None:
    provider, barrier, release = make_provider(), threading.Barrier(32), threading.Event()
    provider.fail = lambda call: None if release.wait(10) else error(call)
    client = WebClient(provider, mode, Store.memory())

    def call() -> Found[TextHit]:
        barrier.wait(10)
        return client.text_search("q", 5, CUTOFF)

    with ThreadPoolExecutor(32) as pool:
        waiting = [pool.submit(call) for _ in range(32)]
        threading.Timer(0.15, release.set).start()
        results = [one.result() for one in waiting]
    assert provider.asked["text_search"] == 1
    assert len({found.results for found in results}) == 1
    usage = client.usage["text_search"]
    assert (usage.calls, usage.hits, usage.misses) == (1, 31, 0 if mode == "live" else 1)


def bomb(width: int, height: int) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return len(body).to_bytes(4, "big") + kind + body + zlib.crc32(kind + body).to_bytes(4, "big")

    header = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes([8, 2, 0, 0, 0])
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    "data",
    [bomb(50_000, 50_000), bomb(9_000, 9_000), b"<html>not a picture</html>", b"", b"<svg xmlns='http://www.w3.org/2000/svg'/>"],
)
def test_bombs_and_other_bytes_are_refused_and_not_kept(make_provider: Callable[..., Any], data: bytes) -> None:
    provider, store = make_provider(), Store.memory()
    provider.pictures[URL] = data
    messages = []
    for client in (WebClient(provider), WebClient(provider, "record", store), WebClient(mode="replay", store=store)):
        with pytest.raises(ToolError, match="cannot be shown") as refused:
            client.fetch_image(URL)
        messages.append(str(refused.value))
    assert len(set(messages)) == 1
    [(key, _)] = store.requests("fetch_image")
    assert store.get("fetch_image", key) == {"absent": messages[0]}


def test_a_truncated_picture_is_refused(make_provider: Callable[..., Any], make_picture: Callable[..., bytes]) -> None:
    provider = make_provider()
    provider.pictures[URL] = make_picture(form="JPEG", size=(64, 64))[:-40]
    with pytest.raises(ToolError, match="cannot be shown"):
        WebClient(provider).fetch_image(URL)


@pytest.mark.parametrize("query", ["", " \n\u3000"])
def test_empty_arguments_are_the_agents_mistake(make_provider: Callable[..., Any], query: str) -> None:
    provider = make_provider()
    client = WebClient(provider)
    for call in (lambda: client.text_search(query, 5, None), lambda: client.fetch_page(query, None)):
        with pytest.raises(ToolError, match="is empty"):
            call()
    with pytest.raises(ToolError, match="k=0"):
        client.text_search("q", 0, None)
    assert not provider.asked


def test_odd_text_round_trips(make_provider: Callable[..., Any], tmp_path: Path) -> None:
    query = "broken \ud83d \x00 é \u2028 日本"
    with Store(tmp_path / "s.db") as store:
        recorded = WebClient(make_provider(), "record", store).text_search(query, 2, None)
        assert WebClient(mode="replay", store=store).text_search(query, 2, None).results == recorded.results


def test_async_twins_answer_alike(make_provider: Callable[..., Any], make_picture: Callable[..., bytes]) -> None:
    provider = make_provider()
    provider.pictures[URL] = make_picture()
    client = WebClient(provider)

    async def run() -> None:
        text, image, page, picture = await asyncio.gather(
            client.atext_search("q", 2, CUTOFF),
            client.aimage_search("q", 2, CUTOFF),
            client.afetch_page("https://a.example/page", CUTOFF),
            client.afetch_image(URL),
        )
        assert text.results == client.text_search("q", 2, CUTOFF).results
        assert image.results == client.image_search("q", 2, CUTOFF).results
        assert page.page == client.fetch_page("https://a.example/page", CUTOFF).page
        assert picture.tobytes() == client.fetch_image(URL).tobytes()

    asyncio.run(run())
