"""What becomes of addresses that cannot be had, and what one run tells all its episodes."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from wildenv.errors import (
    CacheMiss,
    ConfigError,
    DataError,
    DeadlineExceeded,
    ProviderError,
    ToolError,
    Unavailable,
    WebError,
)
from wildenv.web.client import WebClient
from wildenv.web.deadline import tool_deadline
from wildenv.web.packs.pack import export_pack, import_pack, open_pack
from wildenv.web.picture import Picture
from wildenv.web.providers.base import Parts
from wildenv.web.request import WEB_TOOLS
from wildenv.web.results import Link, NewsHit, Page
from wildenv.web.store import Store

URL = "https://a.example/0.png"
PAGE = "https://a.example/page"
DAY = date(2026, 7, 4)


def break_site(provider: Any) -> None:
    def down(url: str, *_: Any) -> Any:
        provider.asked["down"] += 1
        raise Unavailable(url, "http 503", "the site said so")

    provider.fetch_page = provider.fetch_image = down


def message_of(call: Callable[[], Any]) -> str:
    with pytest.raises(Unavailable) as caught:
        call()
    return str(caught.value)


def test_a_gap_holds_no_error_and_replays_as_it_was(make_provider: Callable[..., Any], tmp_path: Path) -> None:
    provider, store = make_provider(), Store(tmp_path / "s.db")
    break_site(provider)
    client = WebClient(provider, "record", store)
    assert message_of(lambda: client.fetch_page(PAGE, DAY)) == message_of(lambda: client.fetch_page(PAGE, DAY))
    message_of(lambda: client.fetch_image(URL))
    assert provider.asked["down"] == 2, "one run asks once"
    assert (len(store), [gap.tool for gap in store.gaps(WEB_TOOLS)]) == (0, ["fetch_image", "fetch_page"])
    assert client.failures == {"fetch_page": {"gap": 1, "http 503": 1}, "fetch_image": {"http 503": 1}}
    kept = (tmp_path / "s.db").read_bytes()
    store.close()
    assert b"503" not in kept
    assert b"said so" not in kept

    text_only = Store(tmp_path / "s.db")
    WebClient(make_provider(), "record", text_only).text_search("q", 5, DAY)
    export_pack(text_only, tmp_path / "s.pack")
    replay = WebClient(mode="replay", store=open_pack(tmp_path / "s.pack"), prefer=["fake"])
    with pytest.raises(Unavailable):
        replay.fetch_page(PAGE, DAY)


def test_gaps_travel_in_packs(make_provider: Callable[..., Any], tmp_path: Path) -> None:
    provider, store = make_provider(), Store(tmp_path / "s.db")
    client = WebClient(provider, "record", store)
    client.fetch_page("https://a.example/other", DAY)
    break_site(provider)
    recorded = message_of(lambda: client.fetch_page(PAGE, DAY))
    digest = export_pack(store, tmp_path / "s.pack")
    replay = WebClient(mode="replay", store=open_pack(tmp_path / "s.pack"))
    assert message_of(lambda: replay.fetch_page(PAGE, DAY)) == recorded
    assert replay.digest == digest
    other = Store.memory()
    import_pack(tmp_path / "s.pack", other)
    assert other.content_digest(WEB_TOOLS) == digest
    assert WebClient(make_provider(), "record", other, retry_gaps=True).fetch_page(PAGE, DAY).page.text
    assert other.gaps(WEB_TOOLS) == []
    assert other.content_digest(WEB_TOOLS) != digest


def test_a_later_run_tries_gaps_again_only_if_told_to(make_provider: Callable[..., Any]) -> None:
    broken, store = make_provider(), Store.memory()
    break_site(broken)
    message_of(lambda: WebClient(broken, "record", store).fetch_page(PAGE, DAY))
    healthy = make_provider()
    message_of(lambda: WebClient(healthy, "record", store).fetch_page(PAGE, DAY))
    assert healthy.asked["fetch_page"] == 0
    again = WebClient(broken, "record", store, retry_gaps=True)
    message_of(lambda: again.fetch_page(PAGE, DAY))
    message_of(lambda: again.fetch_page(PAGE, DAY))
    assert broken.asked["down"] == 2, "asked once more in the second run, not twice"
    assert WebClient(healthy, "record", store, retry_gaps=True).fetch_page(PAGE, DAY).page.url == PAGE
    assert WebClient(mode="replay", store=store).fetch_page(PAGE, DAY).page.url == PAGE


def test_refresh_keeps_the_old_record_of_an_address_that_is_down(make_provider: Callable[..., Any]) -> None:
    provider, store = make_provider(), Store.memory()
    before = WebClient(provider, "record", store).fetch_page(PAGE, DAY).page
    break_site(provider)
    client = WebClient(provider, "refresh", store)
    assert client.fetch_page(PAGE, DAY).page == before
    assert client.fetch_page(PAGE, DAY).page == before
    assert provider.asked["down"] == 1
    assert store.gaps(WEB_TOOLS) == []


def test_refresh_asks_once_a_run(make_provider: Callable[..., Any]) -> None:
    provider, store = make_provider(), Store.memory()
    client = WebClient(provider, "refresh", store)
    for _ in range(3):
        client.text_search("q", 5, DAY)
    assert provider.asked["text_search"] == 1


def test_live_keeps_nothing_but_says_what_failed(make_provider: Callable[..., Any]) -> None:
    provider = make_provider()
    break_site(provider)
    client = WebClient(provider)
    message_of(lambda: client.fetch_page(PAGE, DAY))
    provider.fail = _down
    with pytest.raises(ProviderError):
        client.text_search("q", 5, DAY)
    with pytest.raises(ToolError):
        WebClient(make_provider()).fetch_image(URL)
    assert client.failures == {"fetch_page": {"http 503": 1}, "text_search": {"http 500": 1}}


def test_failures_of_our_own_are_counted_too(make_provider: Callable[..., Any], tmp_path: Path) -> None:
    provider, store = make_provider(), Store(tmp_path / "s.db")
    client = WebClient(provider, "record", store)

    def no_worker(call: int) -> None:
        raise WebError("an extraction worker did not start")

    provider.fail = no_worker
    with pytest.raises(WebError, match="did not start"):
        client.fetch_page(PAGE, DAY)
    provider.fail = lambda call: None
    client.text_search("q", 5, DAY)
    with sqlite3.connect(tmp_path / "s.db") as raw:
        raw.execute("UPDATE entries SET response = '{}'")
    raw.close()
    with pytest.raises(DataError, match="damaged"):
        client.text_search("q", 5, DAY)
    assert client.failures == {"fetch_page": {"failed": 1}, "text_search": {"failed": 1}}
    store.close()


def _down(call: int) -> None:
    raise ProviderError("the service is down", "http 500")


def test_several_pictures_come_in_order_with_their_errors(
    make_provider: Callable[..., Any], make_picture: Callable[..., bytes]
) -> None:
    provider = make_provider()
    provider.local = False
    urls = [f"https://a.example/{i}.png" for i in range(6)]
    provider.pictures = {url: make_picture(size=(10 + i, 8)) for i, url in enumerate(urls) if i != 2}
    store = Store.memory()
    clients = WebClient(provider, "record", store), WebClient(mode="replay", store=store), WebClient(provider)
    recorded, replayed, live = (list(map(_shown, client.fetch_images(urls))) for client in clients)
    assert recorded[:2] == [(10, 8), (11, 8)]
    assert recorded[2] == f"there is no picture {urls[2]}"
    assert recorded == replayed == live


def _shown(found: Picture | ToolError) -> object:
    if isinstance(found, ToolError):
        return str(found)
    with found.opened() as image:
        return image.size


def test_a_tool_call_has_a_deadline_in_every_thread_that_works_for_it(make_provider: Callable[..., Any]) -> None:
    from wildenv.web.deadline import remaining

    provider = make_provider()
    provider.local = False

    def slow(url: str) -> bytes:
        time.sleep(remaining(5.0))
        remaining(5.0)
        return b""

    provider.fetch_image = slow
    started = time.monotonic()
    with pytest.raises(DeadlineExceeded, match=r"env\.tool_deadline_s"), tool_deadline(0.2):
        WebClient(provider).fetch_images([f"https://a.example/{i}.png" for i in range(8)])
    assert time.monotonic() - started < 2.0


def test_who_waited_for_one_without_time_starts_again(make_provider: Callable[..., Any]) -> None:
    from wildenv.web.deadline import remaining

    provider, store = make_provider(), Store.memory()
    calls: list[int] = []

    def first_hangs(url: str, cutoff: date | None) -> Page:
        calls.append(1)
        if len(calls) == 1:
            time.sleep(remaining(2.0))
            remaining(2.0)
        return Page(url, "A page", "text")

    provider.fetch_page = first_hangs
    client = WebClient(provider, "record", store)

    def hasty() -> str:
        with pytest.raises(DeadlineExceeded), tool_deadline(0.3):
            client.fetch_page(PAGE, DAY)
        return "out of time"

    def patient() -> str:
        time.sleep(0.1)
        with tool_deadline(20.0):
            return client.fetch_page(PAGE, DAY).page.text

    with ThreadPoolExecutor(2) as threads:
        assert [one.result() for one in (threads.submit(hasty), threads.submit(patient))] == ["out of time", "text"]


def test_news_is_of_one_day_and_needs_a_provider_that_has_it(make_provider: Callable[..., Any]) -> None:
    provider, store = make_provider(), Store.memory()
    with pytest.raises(ConfigError, match=r"web\.search=fake has no news search"):
        WebClient(provider, "record", store).news_search("q", 3, DAY)

    def news(query: str, limit: int, day: date) -> list[NewsHit]:
        late = NewsHit("late", "https://a.example/late", "s", "Paper", "2026-07-05")
        return [NewsHit(query, "https://a.example/n", "s", "Paper", day.isoformat()), late]

    provider.news_search = news
    found = WebClient(provider, "record", store).news_search("kit", 3, DAY)
    assert [hit.source for hit in found.results] == ["Paper"]
    assert [decision.kept for decision in found.decisions] == [True, False]
    assert WebClient(mode="replay", store=store).news_search("kit", 3, DAY).results == found.results


class EchoReader:
    name, version = "echo", "1"

    def __init__(self) -> None:
        self.calls = 0

    def read(self, page: Page, prompt: str) -> str:
        self.calls += 1
        return f"{prompt}: {page.text}"


def test_what_a_reader_says_is_recorded_by_page_and_prompt() -> None:
    reader, store = EchoReader(), Store.memory()
    page = Page(PAGE, "A page", "words", links=(Link("next", "https://a.example/next"),))

    class Nothing:
        name, version, local = "nothing", "1", True

    parts: Any = Parts(Nothing(), Nothing(), Nothing())  # type: ignore[arg-type]
    client = WebClient(parts, "record", store)
    assert client.read_page(page, "what", reader, DAY) == "what: words"
    assert client.read_page(page, "what", reader, DAY) == "what: words"
    assert client.read_page(Page(PAGE, "A page", "other words"), "what", reader, DAY) == "what: other words"
    assert reader.calls == 2
    replay = WebClient(mode="replay", store=store)
    assert replay.read_page(page, "what", reader, DAY) == "what: words"
    with pytest.raises(CacheMiss, match=r"the nearest record has prompt='what' instead of 'who'"):
        replay.read_page(page, "who", reader, DAY)


def test_a_page_keeps_its_links_and_an_old_one_has_none() -> None:
    page = Page(PAGE, "A page", "words", None, (Link("next", "https://a.example/next"),))
    assert Page.from_dict(page.to_dict()) == page
    assert Page.from_dict({"url": PAGE, "title": "", "text": "", "published": None}).links == ()


def test_a_pack_remembers_how_many_hits_were_asked_for(make_provider: Callable[..., Any], tmp_path: Path) -> None:
    store = Store(tmp_path / "s.db")
    recorded = WebClient(make_provider(hits=9), "record", store, overfetch=2).text_search("q", 3, DAY)
    export_pack(store, tmp_path / "s.pack")
    replay = WebClient(mode="replay", store=open_pack(tmp_path / "s.pack"))
    assert replay.overfetch == 2
    found = replay.text_search("q", 3, DAY)
    assert (found.results, found.decisions) == (recorded.results, recorded.decisions)
    assert WebClient(make_provider(), "record", store).overfetch == 4, "recording goes by its own setting"


@pytest.mark.parametrize(("k", "factor", "hits"), [(2, 2, 2), (3, 1, 3), (3, 5, 3), (6, 1, 6)])
def test_a_search_for_another_number_of_hits_is_answered(
    make_provider: Callable[..., Any], k: int, factor: int, hits: int
) -> None:
    store = Store.memory()
    WebClient(make_provider(hits=9), "record", store, overfetch=2).text_search("q", 3, DAY)
    replay = WebClient(mode="replay", store=store, overfetch=factor)
    assert len(replay.text_search("q", k, DAY).results) == hits
    with pytest.raises(CacheMiss):
        replay.text_search("q", 7, DAY)
