"""Serper: what is sent, what is read, what it costs, and real replies recorded by others."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.web.fake_services import Asked, FakeService, Reply, Whole, in_turn, serper
from wildenv.check import check_provider
from wildenv.errors import ConfigError, ProviderError, ToolError
from wildenv.secrets import Secret
from wildenv.web.client import WebClient
from wildenv.web.net.manners import Rules
from wildenv.web.net.spending import Metered
from wildenv.web.providers.base import NewsProvider, Parts
from wildenv.web.providers.serper import SerperProvider
from wildenv.web.results import ImageHit, NewsHit, TextHit
from wildenv.web.store import Store

pytestmark = pytest.mark.loopback

RECORDED = Path(__file__).parents[3] / "shared" / "data" / "serper-recorded"
QUICK = Rules(attempts=3, backoff_s=0.02)
DAY = date(2026, 7, 3)


@pytest.fixture
def server() -> Iterator[FakeService]:
    with FakeService(serper).running() as running:
        yield running


def provider(server: FakeService, key: str = "serper-test-key", **arguments: Any) -> SerperProvider:
    return SerperProvider(Secret(key), server.url, **{"rules": QUICK, **arguments})


def answering(server: FakeService, *bodies: Any) -> SerperProvider:
    server.answer = in_turn(*(body if isinstance(body, Reply) else Reply(body) for body in bodies))
    return provider(server)


def test_it_keeps_the_contract_of_providers(server: FakeService) -> None:
    found = provider(server)
    check_provider(Whole(search=found))
    assert isinstance(found, NewsProvider)
    assert isinstance(found, Metered)


def test_windows_are_sent_as_the_paper_does(server: FakeService) -> None:
    one = provider(server, gl="de", hl="de")
    one.text_search("lantern", 5, DAY)
    one.image_search("lantern", 200, DAY)
    one.news_search("lantern", 20, DAY)
    one.text_search("lantern", 5, None)
    until, day = "cdr:1,cd_min:1/1/2000,cd_max:7/3/2026", "cdr:1,cd_min:7/3/2026,cd_max:7/3/2026"
    common = {"q": "lantern", "gl": "de", "hl": "de"}
    assert [(asked.method, asked.path, asked.body) for asked in server.asked] == [
        ("POST", "/search", {**common, "num": 10, "tbs": until}),
        ("POST", "/images", {**common, "num": 100, "tbs": until}),
        ("POST", "/news", {**common, "num": 20, "tbs": day}),
        ("POST", "/search", {**common, "num": 10}),
    ]


def test_what_changes_the_answer_is_in_the_cache_key(server: FakeService) -> None:
    versions = {provider(server, gl=gl, hl=hl).version for gl in ("us", "de") for hl in ("en", "de")}
    assert len(versions) == 4


def test_more_pictures_than_asked_for_are_cut(server: FakeService) -> None:
    hits = provider(server).image_search("lantern", 7, None)
    assert hits[0] == ImageHit("lantern 1", "https://site0.example/0.jpg", "https://site1.example/page")
    assert len(hits) == 7


def test_what_is_missing_is_left_out_or_empty(server: FakeService) -> None:
    link = "https://a.example/"
    rows = [
        {"title": "no link"},
        {"link": None},
        {"link": 7},
        "row",
        None,
        {"link": link, "title": None, "snippet": None, "date": None},
    ]
    one = answering(server, {"searchParameters": {}, "organic": rows})
    assert one.text_search("q", 5, None) == [TextHit(link, link, "", None)]
    picture = {"imageUrl": "https://a.example/p.jpg"}
    one = answering(server, {"searchParameters": {}, "images": [{"link": link}, {"imageUrl": "data:x"}, picture]})
    assert one.image_search("q", 5, None) == [ImageHit("", "https://a.example/p.jpg", "", None)]
    one = answering(server, {"searchParameters": {}, "news": [{"link": link, "date": "Jul 3, 2026"}, {"title": "x"}]})
    assert one.news_search("q", 5, DAY) == [NewsHit(link, link, "", "", "Jul 3, 2026")]


@pytest.mark.parametrize("body", [{"searchParameters": {}}, {"searchParameters": {}, "organic": None}, {"organic": []}])
def test_no_list_is_an_empty_answer(server: FakeService, body: Any) -> None:
    assert answering(server, body).text_search("q", 5, None) == []


@pytest.mark.parametrize(
    "body", [[], "text", 5, None, {}, {"images": []}, {"organic": {}}, {"organic": "x"}, {"searchParameters": {}, "organic": 3}]
)
def test_a_wrong_shape_is_the_services_failure(server: FakeService, body: Any) -> None:
    with pytest.raises(ProviderError, match="serper sent a reply of an unexpected shape") as raised:
        answering(server, body).text_search("q", 5, None)
    assert raised.value.kind == "unexpected reply"


@pytest.mark.parametrize("status", [200, 403])
def test_a_refused_key_names_its_variable(server: FakeService, status: int) -> None:
    server.answer = in_turn(Reply({"message": "Unauthorized.", "statusCode": 403}, status))
    with pytest.raises(ProviderError, match="MY_KEY") as raised:
        provider(server, key="wrong-key-wrong", key_env="MY_KEY").text_search("q", 5, None)
    assert raised.value.kind == "http 403"
    assert "wrong-key-wrong" not in str(raised.value)
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [200, 400])
def test_spent_credits_are_a_quota_and_not_tried_again(server: FakeService, status: int) -> None:
    one = answering(server, Reply({"message": "Not enough credits", "statusCode": 400}, status))
    with pytest.raises(ProviderError, match="no credits left") as raised:
        one.text_search("q", 5, None)
    assert raised.value.kind == "quota"
    assert len(server.asked) == 1


def test_an_error_without_status_is_an_error(server: FakeService) -> None:
    with pytest.raises(ProviderError, match="Something broke"):
        answering(server, {"message": "Something broke"}).text_search("q", 5, None)


def test_a_storm_of_errors_passes(server: FakeService) -> None:
    one = answering(server, Reply({}, 500), Reply({}, 429, {"Retry-After": "0"}), {"organic": [{"link": "https://a.example/"}]})
    assert len(one.text_search("q", 5, None)) == 1
    assert one.spending.to_dict() | {"bytes": 0} == {"requests": 3, "retries": 2, "credits": 1, "cost": 0.0, "bytes": 0}


@pytest.mark.parametrize("body", [{"organic": [], "credits": 10**400}, {"organic": [], "credits": -(10**400)}])
def test_credits_beyond_belief_count_as_not_told(server: FakeService, body: Any) -> None:
    server.answer = in_turn(Reply(body))
    one = provider(server, price=0.5, quota=10)
    assert one.text_search("q", 5, None) == []
    assert one.spending.credits == 1


def test_credits_and_cost_are_counted(server: FakeService) -> None:
    one = provider(server, price=0.5)
    one.text_search("q", 5, None)
    one.image_search("q", 5, None)
    server.answer = in_turn(
        Reply({"organic": []}), Reply({"organic": [], "credits": None}), Reply({"organic": [], "credits": "2"})
    )
    for _ in range(3):
        one.text_search("q", 5, None)
    assert one.spending.credits == 1 + 2 + 3 * 1
    assert one.spending.cost == pytest.approx(0.003)


def test_a_quota_warns_once_and_then_stops(server: FakeService, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    one = provider(server, quota=10)
    for _ in range(10):
        one.text_search("q", 5, None)
    with pytest.raises(ProviderError, match=r"web\.search\.quota") as raised:
        one.text_search("q", 5, None)
    assert raised.value.kind == "quota"
    assert len(server.asked) == 10
    assert [record.getMessage() for record in caplog.records if "quota" in record.getMessage()] == [
        "serper: 9 of the 10 credits of web.search.quota are used"
    ]


def test_many_threads_stay_within_the_quota(server: FakeService) -> None:
    one = provider(server, quota=12)

    def search(number: int) -> bool:
        try:
            return bool(one.text_search(f"q {number}", 5, None))
        except ProviderError:
            return False

    with ThreadPoolExecutor(32) as threads:
        assert sum(threads.map(search, range(40))) == 12
    assert len(server.asked) == 12


def test_failed_requests_are_not_charged(server: FakeService) -> None:
    one = provider(server, quota=1)
    server.answer = in_turn(Reply({}, 400))
    for _ in range(3):
        with pytest.raises(ProviderError, match="refuses"):
            one.text_search("q", 5, None)
    server.answer = serper
    assert one.text_search("q", 5, None)


def test_an_endless_query_is_the_agents_mistake(server: FakeService) -> None:
    with pytest.raises(ToolError, match="characters"):
        provider(server).text_search("x" * 5000, 5, None)
    assert server.asked == []


@pytest.mark.parametrize("wrong", [{"price": -1}, {"gl": "u s"}, {"hl": ""}, {"quota": -3}, {"timeout_s": 0}, {"url": "serper"}])
def test_wrong_settings_are_named(server: FakeService, wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=rf"web\.search\.{next(iter(wrong))}"):
        SerperProvider(Secret("serper-test-key"), **wrong)


SHAPED = json.loads((Path(__file__).parent / "fixtures" / "serper_replies.json").read_text(encoding="utf-8"))
"""Replies in the shape of Serper's, written for these tests."""


def test_of_a_search_reply_the_organic_results_are_read(server: FakeService) -> None:
    one = answering(server, SHAPED["search"])
    assert one.text_search("teal lantern festival", 10, DAY) == [
        TextHit("Teal Lantern Festival", "https://lanterns.example/", "Hundreds of paper lamps are lit along the harbour."),
        TextHit("Harbour lamps are back", "https://paper.example/2026/lamps", "The town counts its visitors.", "Jul 2, 2026"),
        TextHit("https://untitled.example/a", "https://untitled.example/a", "A page without a title.", "3 days ago"),
    ]
    assert one.spending.credits == 1


def test_of_an_image_reply_pictures_with_an_address_are_read(server: FakeService) -> None:
    one = answering(server, SHAPED["images"])
    assert one.image_search("teal lantern festival", 10, DAY) == [
        ImageHit("Lamps along the quay", "https://cdn.example/quay.jpg", "https://paper.example/2026/lamps"),
        ImageHit("Without its page", "https://cdn.example/alone.png", ""),
    ]
    assert one.spending.credits == 2


def test_of_a_news_reply_relative_dates_are_kept_and_cut_off(server: FakeService) -> None:
    body = SHAPED["news"]
    server.answer = lambda asked: Reply(body)
    assert provider(server).news_search("teal lantern festival", 10, DAY) == [
        NewsHit("Lamps lit", "https://paper.example/lit", "The first evening drew a crowd.", "The Paper", "6 hours ago"),
        NewsHit("Storm warning", "https://weather.example/s", "", "Weather", "1 day ago"),
    ]
    pages = Whole()
    asked = datetime(2026, 7, 4, 3, tzinfo=UTC)
    client = WebClient(Parts(provider(server), pages, pages), overfetch=1, clock=lambda: asked)
    found = client.news_search("teal lantern festival", 10, date(2026, 7, 2))
    assert [decision.published for decision in found.decisions] == [date(2026, 7, 3), date(2026, 7, 3)]
    assert found.results == ()


def recorded(name: str) -> Any:
    if not RECORDED.is_dir():
        pytest.skip("the recorded replies of Serper are not part of the repository")
    return json.loads((RECORDED / name).read_text(encoding="utf-8"))


def replaying(server: FakeService, name: str, clock: datetime | None = None, **arguments: Any) -> tuple[WebClient, Any]:
    """A client that is answered with a recorded reply."""
    body = recorded(name)
    server.answer = lambda asked: Reply(body)
    pages = Whole()
    given = {} if clock is None else {"clock": lambda: clock}
    return WebClient(Parts(provider(server), pages, pages), overfetch=1, **given, **arguments), body


def test_every_recorded_reply_is_read(server: FakeService) -> None:
    if not RECORDED.is_dir():
        pytest.skip("the recorded replies of Serper are not part of the repository")
    read = {}
    for path in sorted(RECORDED.glob("*.json")):
        body = json.loads(path.read_text(encoding="utf-8"))
        kind = body["searchParameters"]["type"]
        server.answer = lambda asked, body=body: Reply(body)
        one = provider(server)
        ask = {"images": one.image_search, "news": one.news_search}.get(kind, one.text_search)
        read[path.name] = len(ask(body["searchParameters"]["q"], 100, DAY))
        expected = {"search": "organic", "images": "images", "news": "news"}.get(kind)
        assert read[path.name] == (0 if expected is None else len(body[expected]))
    assert sum(read.values()) > 20, read


def test_recorded_pages_and_pictures(server: FakeService) -> None:
    client, body = replaying(server, "search_apple_inc.json")
    hits = client.text_search("Apple Inc.", 3, None).results
    assert [hit.url for hit in hits] == [row["link"] for row in body["organic"][:3]]
    assert hits[1].title == "Apple Inc. - Wikipedia"
    client, body = replaying(server, "images_lion.json")
    pictures = client.image_search("Lion", 4, None).results
    assert [(hit.url, hit.page) for hit in pictures] == [(row["imageUrl"], row["link"]) for row in body["images"][:4]]


def test_recorded_relative_dates_are_read_from_the_moment_of_asking(server: FakeService) -> None:
    client, body = replaying(server, "news_tesla_inc.json", datetime(2023, 5, 4, 0, 30, tzinfo=UTC))
    found = client.news_search("Tesla Inc.", 20, date(2023, 5, 4))
    dates = {row["date"]: decision.published for row, decision in zip(body["news"], found.decisions, strict=True)}
    assert dates["5 mins ago"] == date(2023, 5, 4)
    assert dates["6 hours ago"] == date(2023, 5, 3)
    assert dates["22 hours ago"] == date(2023, 5, 3)
    assert dates["1 day ago"] == date(2023, 5, 3)
    assert len(found.results) == len(body["news"])
    before = client.news_search("Tesla Inc.", 20, date(2023, 5, 3))
    assert [hit.published for hit in before.results] == [row["date"] for row in body["news"] if row["date"] != "5 mins ago"]


def test_recorded_minutes_do_not_change_when_replayed_years_later(server: FakeService, tmp_path: Path) -> None:
    day = date(2023, 5, 4)
    store = Store(tmp_path / "web.sqlite")
    client, _ = replaying(server, "news_qdr_h_tesla_inc.json", datetime(2023, 5, 4, 10, tzinfo=UTC), mode="record", store=store)
    then = client.news_search("Tesla Inc.", 10, day)
    later = WebClient(mode="replay", store=store, overfetch=1, clock=lambda: datetime(2026, 1, 1, tzinfo=UTC))
    now = later.news_search("Tesla Inc.", 10, day)
    assert now.results == then.results
    assert now.decisions == then.decisions
    assert {decision.published for decision in now.decisions} == {day}


def test_ambiguous_dates_count_as_undated(server: FakeService) -> None:
    said = ["03/04/2026", "2 months ago", "July 2026", "2026", "soon", "Jul 2, 2026", "Jul 4, 2026", None]
    rows = [{"link": f"https://a.example/{number}", "date": text} for number, text in enumerate(said)]
    server.answer = in_turn(Reply({"organic": rows}))
    pages = Whole()
    kept = {}
    for undated in ("keep", "drop"):
        client = WebClient(
            Parts(provider(server), pages, pages), undated=undated, overfetch=1, clock=lambda: datetime(2026, 7, 3, tzinfo=UTC)
        )
        found = client.text_search("q", 10, DAY)
        kept[undated] = [hit.published for hit in found.results]
        assert [decision.published for decision in found.decisions] == [None] * 5 + [date(2026, 7, 2), date(2026, 7, 4), None]
    assert kept["keep"] == [text for text in said if text != "Jul 4, 2026"]
    assert kept["drop"] == ["Jul 2, 2026"]


def test_an_outage_is_not_recorded(server: FakeService, tmp_path: Path) -> None:
    server.answer = lambda asked: Reply({}, 500)
    pages = Whole()
    store = Store(tmp_path / "web.sqlite")
    client = WebClient(Parts(provider(server), pages, pages), "record", store)
    with pytest.raises(ProviderError):
        client.text_search("q", 5, DAY)
    assert client.failures == {"text_search": {"http 500": 1}}
    server.answer = serper
    assert len(client.text_search("q", 5, DAY).results) == 5


def test_no_key_is_recorded(server: FakeService, tmp_path: Path) -> None:
    key = "serper-test-key"

    def echo(asked: Asked) -> Reply:
        return Reply({"organic": [{"link": f"https://a.example/?k={key}", "title": key, "snippet": asked.headers["x-api-key"]}]})

    server.answer = echo
    path = tmp_path / "web.sqlite"
    pages = Whole()
    client = WebClient(Parts(provider(server), pages, pages), "record", Store(path))
    assert key not in repr(client.text_search("q", 5, DAY))
    assert all(key.encode() not in file.read_bytes() for file in tmp_path.iterdir())
