"""SearXNG: its JSON, its pages, and how to tell an outage from an empty answer."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest

from tests.web.fake_services import Asked, FakeService, Hang, Reply, Whole, in_turn, searxng
from wildenv.check import check_provider
from wildenv.errors import ConfigError, ProviderError, ToolError
from wildenv.secrets import Secret
from wildenv.web.net.manners import Rules
from wildenv.web.net.spending import Metered
from wildenv.web.providers.base import NewsProvider
from wildenv.web.providers.searxng import SearxngProvider
from wildenv.web.results import ImageHit, NewsHit, TextHit

pytestmark = pytest.mark.loopback

QUICK = Rules(attempts=3, backoff_s=0.02)


@pytest.fixture
def server() -> Iterator[FakeService]:
    with FakeService(searxng).running() as running:
        yield running


def provider(server: FakeService, **arguments: Any) -> SearxngProvider:
    return SearxngProvider(server.url, **{"rules": QUICK, **arguments})


def finding(server: FakeService, *rows: Any, **more: Any) -> SearxngProvider:
    """A provider whose instance finds these rows on its only page."""
    server.answer = lambda asked: Reply({"results": list(rows) if asked.params["pageno"] == "1" else [], **more})
    return provider(server)


def test_it_keeps_the_contract_of_providers(server: FakeService) -> None:
    found = provider(server)
    check_provider(Whole(search=found))
    assert isinstance(found, NewsProvider)
    assert isinstance(found, Metered)


def test_what_is_sent(server: FakeService) -> None:
    one = SearxngProvider(
        server.url + "/searx/", "de-DE", 2, ["bing", "brave"], authorization=Secret("Basic abcdef=="), rules=QUICK
    )
    one.text_search("a & b", 3, date(2026, 7, 3))
    asked = server.asked[0]
    assert (asked.method, asked.path) == ("GET", "/searx/search")
    assert asked.params == {
        "q": "a & b",
        "format": "json",
        "language": "de-DE",
        "safesearch": "2",
        "engines": "bing,brave",
        "categories": "general",
        "pageno": "1",
    }
    assert asked.headers["authorization"] == "Basic abcdef=="


def test_pages_are_read_until_there_are_enough(server: FakeService) -> None:
    hits = provider(server).text_search("q", 6, None)
    assert [hit.url for hit in hits] == [f"https://site{n}.example/page" for n in range(6)]
    assert [asked.params["pageno"] for asked in server.asked] == ["1", "2"]


def test_pages_are_read_until_nothing_comes(server: FakeService) -> None:
    assert len(provider(server, pages=10).text_search("q", 100, None)) == 12
    assert [asked.params["pageno"] for asked in server.asked] == ["1", "2", "3", "4"]
    assert provider(server, pages=2).spending.requests == 0


def test_no_more_pages_than_allowed(server: FakeService) -> None:
    one = provider(server, pages=2)
    assert len(one.text_search("q", 100, None)) == 8
    assert one.spending.requests == 2


def test_the_same_result_on_two_pages_counts_once(server: FakeService) -> None:
    server.answer = lambda asked: Reply(
        {"results": [{"url": "https://a.example/"}, {"url": f"https://a.example/{asked.params['pageno']}"}]}
    )
    assert len(provider(server, pages=3).text_search("q", 10, None)) == 4


def test_addresses_of_pictures(server: FakeService) -> None:
    page = "https://a.example/dir/page"
    rows = [
        {"url": page, "img_src": source, "title": str(number)}
        for number, source in enumerate(
            ["https://cdn.example/a.png", "//cdn.example/b.png", "/c.png", "d.png", "data:image/png;base64,AAAA", "", None]
        )
    ]
    hits = finding(server, *rows, {"url": page}, {"img_src": "https://cdn.example/e.png"}).image_search("q", 20, None)
    assert [hit.url for hit in hits] == [
        "https://cdn.example/a.png",
        "https://cdn.example/b.png",
        "https://a.example/c.png",
        "https://a.example/dir/d.png",
        "https://cdn.example/e.png",
    ]
    assert hits[0] == ImageHit("0", "https://cdn.example/a.png", page, None)
    assert hits[-1].page == ""


def test_dates(server: FakeService) -> None:
    rows: list[dict[str, Any]] = [
        {"url": "https://a.example/1", "publishedDate": "2026-07-01T00:00:00"},
        {"url": "https://a.example/2", "publishedDate": None},
        {"url": "https://a.example/3", "publishedDate": None, "pubdate": "2026-07-02 10:00:00"},
        {"url": "https://a.example/4"},
    ]
    hits = finding(server, *rows).text_search("q", 9, None)
    assert [hit.published for hit in hits] == ["2026-07-01T00:00:00", None, "2026-07-02 10:00:00", None]
    assert hits[1] == TextHit("https://a.example/2", "https://a.example/2", "", None)


def test_news_of_a_day_are_of_that_day_only(server: FakeService) -> None:
    hits = provider(server).news_search("q", 10, date(2026, 7, 2))
    assert len(hits) == 4
    assert {hit.published for hit in hits} == {"2026-07-02T08:00:00"}
    assert hits[0] == NewsHit("q 1", "https://site1.example/page", "words", "Paper", "2026-07-02T08:00:00")
    undated = finding(server, {"url": "https://a.example/"}, {"url": "https://a.example/2", "publishedDate": "03/07/2026"})
    assert undated.news_search("q", 10, date(2026, 7, 3)) == []


def test_engines_that_did_not_answer_are_an_outage(server: FakeService) -> None:
    silent = [["google", "Suspended: CAPTCHA"], ["bing", "timeout"]]
    with pytest.raises(ProviderError, match="google: Suspended: CAPTCHA, bing: timeout") as raised:
        finding(server, unresponsive_engines=silent).text_search("q", 5, None)
    assert raised.value.kind == "engines failed"


def test_some_engines_that_did_not_answer_are_none(server: FakeService) -> None:
    row = {"url": "https://a.example/"}
    assert len(finding(server, row, unresponsive_engines=[["google", "timeout"]]).text_search("q", 5, None)) == 1


def test_nothing_found_is_an_answer(server: FakeService) -> None:
    assert finding(server, unresponsive_engines=[]).text_search("q", 5, None) == []
    assert finding(server, unresponsive_engines=None).image_search("q", 5, None) == []


@pytest.mark.parametrize("reply", [Reply(b"<!doctype html>"), Reply(b"<html>Forbidden", 403), Reply({}, 403)])
def test_an_instance_without_json_says_what_to_change(server: FakeService, reply: Reply) -> None:
    server.answer = in_turn(reply)
    with pytest.raises(ProviderError, match=r"add json to search\.formats") as raised:
        provider(server).text_search("q", 5, None)
    assert raised.value.kind == "not json"
    assert len(server.asked) == 1


@pytest.mark.parametrize("body", [[], "x", {}, {"results": {}}, {"results": "x"}, 5])
def test_a_wrong_shape_is_the_instances_failure(server: FakeService, body: Any) -> None:
    server.answer = in_turn(Reply(body))
    with pytest.raises(ProviderError, match="unexpected shape"):
        provider(server).text_search("q", 5, None)


def test_a_storm_of_errors_passes(server: FakeService) -> None:
    server.answer = in_turn(Reply(b"<html>", 500), Reply(b"", 429, {"Retry-After": "0"}), Reply({"results": []}))
    one = provider(server)
    assert one.text_search("q", 5, None) == []
    assert one.spending.retries == 2


def test_an_instance_that_hangs_is_given_up(server: FakeService) -> None:
    server.answer = in_turn(Hang())
    with pytest.raises(ProviderError, match=r"web\.search\.timeout_s") as raised:
        provider(server, timeout_s=0.2, rules=Rules(attempts=1)).text_search("q", 5, None)
    assert raised.value.kind == "timeout"


def test_an_endless_query_is_the_agents_mistake(server: FakeService) -> None:
    with pytest.raises(ToolError, match="characters"):
        provider(server).text_search("x" * 100_000, 5, None)
    assert server.asked == []


def test_what_changes_the_answer_is_in_the_cache_key(server: FakeService) -> None:
    variants: list[dict[str, Any]] = [{}, {"language": "de"}, {"safesearch": 0}, {"pages": 1}, {"engines": ("bing",)}]
    assert len({provider(server, **variant).version for variant in variants}) == 5


@pytest.mark.parametrize("wrong", [{"language": "english, please"}, {"safesearch": 3}, {"pages": 0}, {"url": "localhost:8888"}])
def test_wrong_settings_are_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=rf"web\.search\.{next(iter(wrong))}"):
        SearxngProvider(**{"url": "http://127.0.0.1:8888", **wrong})


def test_every_search_asks_its_category(server: FakeService) -> None:
    one = provider(server)
    one.text_search("q", 1, None)
    one.image_search("q", 1, None)
    one.news_search("q", 1, date(2026, 7, 1))
    asked: list[Asked] = server.asked
    assert [one.params["categories"] for one in asked] == ["general", "images", "news"]
