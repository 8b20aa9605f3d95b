"""The Jina reader: what it returns, and whose failure a failure is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.web.fake_services import FakeService, Hang, Reply, Whole, in_turn, jina
from wildenv.check import check_provider
from wildenv.errors import ConfigError, ProviderError, ToolError, Unavailable
from wildenv.secrets import Secret
from wildenv.web.net.manners import Rules
from wildenv.web.net.spending import Metered
from wildenv.web.providers.jina import JinaPages
from wildenv.web.results import Link, Page

pytestmark = pytest.mark.loopback

QUICK = Rules(attempts=3, backoff_s=0.02)
URL = "https://a.example/news"


@pytest.fixture
def server() -> Iterator[FakeService]:
    with FakeService(jina).running() as running:
        yield running


def pages(server: FakeService, key: str | None = None, **arguments: Any) -> JinaPages:
    return JinaPages(None if key is None else Secret(key), server.url, **{"rules": QUICK, **arguments})


def reading(server: FakeService, data: Any, status: int = 200) -> JinaPages:
    server.answer = in_turn(Reply({"code": 200, "status": 20000, "data": data}, status))
    return pages(server)


def test_it_keeps_the_contract_of_providers(server: FakeService) -> None:
    one = pages(server)
    check_provider(Whole(pages=one))
    assert isinstance(one, Metered)


def test_a_page_is_read(server: FakeService) -> None:
    page = pages(server).fetch_page(URL + "#part", None)
    assert page == Page(
        URL,
        "A page",
        "First paragraph.\n\nSecond paragraph.",
        "Wed, 01 Jul 2026 08:00:00 GMT",
        (Link("More", "https://other.example/more"), Link("Up", "https://a.example/")),
    )
    asked = server.asked[0]
    assert (asked.method, asked.path, asked.body) == ("POST", "/", {"url": URL})
    assert "authorization" not in asked.headers


def test_tokens_beyond_belief_count_as_not_told(server: FakeService) -> None:
    server.answer = in_turn(Reply({"code": 200, "data": {"title": "t", "content": "c", "usage": {"tokens": 10**400}}}))
    one = pages(server, "jina_0123456789", price=20.0)
    assert one.fetch_page(URL, None).text == "c"
    assert (one.spending.credits, one.spending.cost) == (0, 0.0)


def test_a_key_is_sent_and_tokens_are_counted(server: FakeService) -> None:
    one = pages(server, "jina_0123456789", price=20.0, links=False)
    assert one.fetch_page(URL, None).links == ()
    assert server.asked[0].headers["authorization"] == "Bearer jina_0123456789"
    assert one.spending.credits == 1200
    assert one.spending.cost == pytest.approx(0.024)
    assert one.version != pages(server).version


@pytest.mark.parametrize(
    "links", [{"More": "https://b.example/", "Bad": None, "Odd": "javascript:x"}, [["More", "https://b.example/"], ["x"], 5]]
)
def test_both_forms_of_links(server: FakeService, links: Any) -> None:
    assert reading(server, {"content": "x", "links": links}).fetch_page(URL, None).links == (Link("More", "https://b.example/"),)


def test_what_is_missing_is_empty(server: FakeService) -> None:
    assert reading(server, {"content": None, "title": None, "links": None}).fetch_page(URL, None) == Page(URL, "", "")


@pytest.mark.parametrize("status", [404, 410])
def test_a_page_that_is_not_there(server: FakeService, status: int) -> None:
    data = {"content": "Unknown.", "title": "", "warning": f"Target URL returned error {status}: Not Found"}
    with pytest.raises(ToolError, match="there is no page") as raised:
        reading(server, data).fetch_page(URL, None)
    assert not isinstance(raised.value, Unavailable)


@pytest.mark.parametrize("status", [400, 403, 429, 500, 503])
def test_a_site_that_fails_is_not_the_readers_failure(server: FakeService, status: int) -> None:
    data = {"content": "Go away", "warning": f"This is a cached snapshot.\nTarget URL returned error {status}: No"}
    with pytest.raises(Unavailable) as raised:
        reading(server, data).fetch_page(URL, None)
    assert raised.value.kind == f"http {status}"
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("code", "message", "kind"),
    [
        (422, "Failed to goto https://a.example/news: Error: net::ERR_CERT_COMMON_NAME_INVALID", "not opened"),
        (413, "The file is too large", "too large"),
        (451, "Anonymous access to domain a.example blocked", "refused"),
        (400, "Domain 'a.example' could not be resolved", "dns"),
    ],
)
@pytest.mark.parametrize("inside", [False, True])
def test_a_page_that_cannot_be_opened(server: FakeService, code: int, message: str, kind: str, inside: bool) -> None:
    server.answer = in_turn(Reply({"data": None, "code": code, "message": message}, 200 if inside else code))
    with pytest.raises(Unavailable) as raised:
        pages(server).fetch_page(URL, None)
    assert (raised.value.kind, raised.value.url, raised.value.detail) == (kind, URL, message)


def test_a_question_for_humans_is_not_the_page(server: FakeService) -> None:
    warning = "This page maybe requiring CAPTCHA, please make sure you are authorized to access this page."
    with pytest.raises(Unavailable) as raised:
        reading(server, {"content": "Just a moment...", "warning": warning}).fetch_page(URL, None)
    assert raised.value.kind == "captcha"


def test_another_warning_is_no_failure(server: FakeService) -> None:
    warning = "This is a cached snapshot of the original page, consider retry with caching opt-out."
    assert reading(server, {"content": "words", "warning": warning}).fetch_page(URL, None).text == "words"


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply({"code": 401, "message": "Invalid API key"}, 401), "http 401"),
        (Reply({"code": 402, "message": "Account balance not enough"}, 402), "quota"),
        (Reply({"code": 500, "message": "Cannot read properties of undefined"}, 500), "http 500"),
        (Reply({"code": 429, "message": "Rate limit"}, 429, {"Retry-After": "0"}), "http 429"),
        (Reply({"code": 400, "message": "No such option"}, 400), "http 400"),
        (Reply({"code": 404, "message": "No such method"}, 404), "http 404"),
        (Reply(b"<html>"), "not json"),
        (Reply(b"<html>422", 422), "http 422"),
        (Reply([]), "unexpected reply"),
        (Reply({"code": 200}), "unexpected reply"),
        (Reply({"code": 200, "data": "text"}), "unexpected reply"),
        (Reply({"code": 200, "data": {"content": ["a"]}}), "unexpected reply"),
    ],
)
def test_a_reader_that_fails(server: FakeService, reply: Reply, kind: str) -> None:
    server.answer = in_turn(reply)
    with pytest.raises(ProviderError, match="jina") as raised:
        pages(server, "jina_0123456789").fetch_page(URL, None)
    assert raised.value.kind == kind
    if kind == "http 401":
        assert "JINA_API_KEY" in str(raised.value)


def test_a_storm_of_errors_passes(server: FakeService) -> None:
    server.answer = in_turn(Reply({}, 502), Reply(b"", 503), Reply({"data": {"content": "words"}}))
    assert pages(server).fetch_page(URL, None).text == "words"


def test_a_reader_that_hangs_is_given_up(server: FakeService) -> None:
    server.answer = in_turn(Hang())
    with pytest.raises(ProviderError, match=r"web\.pages\.timeout_s"):
        pages(server, timeout_s=0.2, rules=Rules(attempts=1)).fetch_page(URL, None)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a.example/x",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "a.example/x",
        "http://",
        "http://localhost/",
        "http://127.0.0.1/",
        "http://127.1/",
        "http://0x7f000001/",
        "http://2130706433/",
        "http://[::1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.5/",
        "http://192.168.1.1:8080/",
        "http://intranet/",
        "http://wiki.internal/",
        "http://METADATA.google.internal/",
        "http://printer.local/",
        "http://nas.lan/",
        "http://user:password@a.example/",
        "http://a.example:22/",
    ],
)
def test_addresses_that_are_not_passed_on(server: FakeService, url: str) -> None:
    with pytest.raises(Unavailable) as raised:
        pages(server).fetch_page(url, None)
    assert raised.value.kind == "not safe"
    assert server.asked == []


@pytest.mark.parametrize("wrong", [{"price": -1.0}, {"timeout_s": -1}, {"url": "r.jina.ai"}])
def test_wrong_settings_are_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=rf"web\.pages\.{next(iter(wrong))}"):
        JinaPages(**wrong)
