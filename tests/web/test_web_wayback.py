"""Pages as they were before the cutoff: never a later capture, and an archive that is down is not a page that does not exist."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from typing import Any

import pytest

from tests.web.fake_services import Asked, FakeService, Hang, Reply
from wildenv.errors import DeadlineExceeded, ProviderError, ToolError, Unavailable
from wildenv.web.cutoff import apply_cutoff
from wildenv.web.deadline import tool_deadline
from wildenv.web.extract import Extractor
from wildenv.web.net.fetch import Fetcher, FetchLimits
from wildenv.web.net.manners import Rules
from wildenv.web.providers.base import PageProvider
from wildenv.web.providers.wayback import WaybackPages
from wildenv.web.results import Page

pytestmark = pytest.mark.loopback

URL = "https://site.example/news?id=7"
CUTOFF = date(2026, 7, 3)
FIELDS = ["timestamp", "original", "mimetype"]
QUICK = Rules(concurrency=4, attempts=2, backoff_s=0.01)
HTML = {"Content-Type": "text/html; charset=utf-8"}


class Archive:
    """An archive: captures by time, of one page, and what it says in their place where a test puts something there."""

    def __init__(self, *stamps: str) -> None:
        self.captures: dict[str, str] = {stamp: f"as of {stamp}" for stamp in stamps}
        self.types: dict[str, str] = {}
        self.index: Reply | None = None
        self.played: dict[str, Reply] = {}

    def answer(self, asked: Asked) -> Reply:
        if asked.path == "/cdx/search/cdx":
            return self.index or self._list(asked.params)
        stamp = asked.path.split("/")[2].removesuffix("id_")
        return self.played.get(stamp) or Reply(self.captures[stamp].encode(), headers=HTML)

    def _list(self, params: dict[str, str]) -> Reply:
        """The rows up to ``to``, the last of them, oldest first, as the real index does."""
        last = params.get("to", "9")
        rows = [[stamp, URL, self.types.get(stamp, "text/html")] for stamp in sorted(self.captures) if stamp <= last]
        return Reply([FIELDS, *rows[int(params["limit"]) :]] if rows else [])


class PlainExtractor(Extractor):
    """Takes the whole document for the text, and a first line ``on DATE`` for the date."""

    def page(self, data: bytes, url: str, media_type: str, charset: str | None) -> Page:
        text = data.decode()
        first, _, rest = text.partition("\n")
        return Page(url, "A page", rest or text, first.removeprefix("on ") if first.startswith("on ") else None)


@pytest.fixture
def archive() -> Archive:
    return Archive("20250101000000", "20260630120000", "20260703235959", "20260704000000", "20270101000000")


@pytest.fixture
def server(archive: Archive) -> Iterator[FakeService]:
    with FakeService(archive.answer).running() as running:
        yield running


def pages(server: FakeService, allowed: bool = True, timeout_s: float = 2.0) -> WaybackPages:
    limits = FetchLimits(connect_s=1.0, first_byte_s=0.5, total_s=1.0)
    allow = (server.url.removeprefix("http://"),) if allowed else ()
    return WaybackPages(Fetcher(limits, QUICK, allow), PlainExtractor(), server.url, QUICK, timeout_s)


def played(server: FakeService) -> list[str]:
    """The captures that were fetched, in turn."""
    return [asked.path for asked in server.asked if asked.path.startswith("/web/")]


def test_the_last_capture_of_the_cutoff_day_is_the_page(server: FakeService) -> None:
    provider = pages(server)
    page = provider.fetch_page(URL + "#comments", CUTOFF)
    assert page == Page(URL + "#comments", "A page", "as of 20260703235959", "2026-07-03")
    index, capture = server.asked
    assert index.params == {
        "url": URL,
        "matchType": "exact",
        "filter": "statuscode:200",
        "fl": "timestamp,original,mimetype",
        "output": "json",
        "limit": "-50",
        "to": "20260703235959",
    }
    assert (capture.path, capture.params) == ("/web/20260703235959id_/https://site.example/news", {"id": "7"})
    assert provider.spending.requests == 1


@pytest.mark.parametrize(
    ("cutoff", "stamp"),
    [
        (date(2026, 7, 4), "20260704000000"),
        (date(2026, 7, 2), "20260630120000"),
        (date(2025, 1, 1), "20250101000000"),
        (None, "20270101000000"),
    ],
)
def test_each_day_has_its_page(server: FakeService, cutoff: date | None, stamp: str) -> None:
    page = pages(server).fetch_page(URL, cutoff)
    assert page.text == f"as of {stamp}"
    assert page.published is not None
    assert cutoff is None or page.published <= cutoff.isoformat()


def test_what_was_not_captured_by_then_does_not_exist(server: FakeService) -> None:
    with pytest.raises(ToolError) as absent:
        pages(server).fetch_page(URL, date(2024, 12, 31))
    assert type(absent.value) is ToolError
    assert str(absent.value) == f"there is no page at {URL}"
    assert played(server) == []


def test_an_index_that_ignores_the_date_is_not_believed(server: FakeService, archive: Archive) -> None:
    archive.index = Reply(
        [
            FIELDS,
            ["20270101000000", URL, "text/html"],
            ["20260630120000", URL, "text/html"],
            ["2026", URL, "text/html"],
            ["20261399000000", URL, "text/html"],
        ]
    )
    assert pages(server).fetch_page(URL, CUTOFF).text == "as of 20260630120000"
    assert [path.split("/")[2] for path in played(server)] == ["20260630120000id_"]


@pytest.mark.parametrize("target", ["20270101000000", "20260704000000", "20260231000000"])
def test_an_archive_that_leads_on_to_a_later_capture_is_not_followed(server: FakeService, archive: Archive, target: str) -> None:
    archive.captures.setdefault(target, "as of no day")
    archive.played["20260703235959"] = Reply(b"", 302, {"Location": f"/web/{target}id_/{URL}"})
    assert pages(server).fetch_page(URL, CUTOFF).text == "as of 20260630120000"
    archive.played["20260630120000"] = archive.played["20250101000000"] = archive.played["20260703235959"]
    with pytest.raises(ToolError, match="there is no page"):
        pages(server).fetch_page(URL, CUTOFF)


def test_a_capture_that_leads_to_an_earlier_one_is_dated_by_that(server: FakeService, archive: Archive) -> None:
    archive.played["20260703235959"] = Reply(b"", 302, {"Location": f"{server.url}/web/20250101000000id_/{URL}"})
    page = pages(server).fetch_page(URL, CUTOFF)
    assert (page.text, page.published) == ("as of 20250101000000", "2025-01-01")


def test_a_capture_that_cannot_be_played_gives_way_to_the_one_before(server: FakeService, archive: Archive) -> None:
    archive.played["20260703235959"] = Reply(b"not found", 404)
    assert pages(server).fetch_page(URL, CUTOFF).text == "as of 20260630120000"


def test_captures_of_other_types_are_passed_over(server: FakeService, archive: Archive) -> None:
    archive.types["20260703235959"] = "image/png"
    archive.types["20260630120000"] = "warc/revisit"
    assert pages(server).fetch_page(URL, CUTOFF).text == "as of 20250101000000"
    archive.types["20250101000000"] = "application/pdf"
    assert pages(server).fetch_page(URL, CUTOFF).text == "as of 20250101000000"


@pytest.mark.parametrize(
    ("says", "published"),
    [
        ("on 2026-07-01", "2026-07-01"),
        ("on July 1, 2026", "July 1, 2026"),
        ("on 02/07/2026", "02/07/2026"),
        ("on 2026-08-15", "2026-07-03"),
        ("on 2 days ago", "2026-07-01"),
        ("on 2 months ago", "2026-07-03"),
        ("on some day", "2026-07-03"),
        ("no date", "2026-07-03"),
    ],
)
def test_a_page_is_dated_by_what_it_says_or_by_its_capture(
    server: FakeService, archive: Archive, says: str, published: str
) -> None:
    archive.captures["20260703235959"] = f"{says}\nwords"
    page = pages(server).fetch_page(URL, CUTOFF)
    assert page.published == published
    assert apply_cutoff([page], CUTOFF, "drop" if "/" not in published else "keep")[0] == [page]


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply("slow down", 429, {"Retry-After": "3600"}), "http 429"),
        (Reply("oops", 503), "http 503"),
        (Reply(b"<html>busy</html>", 200), "not json"),
        (Reply({"error": "?"}, 200), "unexpected reply"),
        (Reply([["a"], ["b"]], 200), "unexpected reply"),
        (Reply(["a"], 200), "unexpected reply"),
        (Reply("no", 403), "http 403"),
        (Hang(), "timeout"),
    ],
)
def test_an_index_that_fails_is_the_archives_failure(server: FakeService, archive: Archive, reply: Reply, kind: str) -> None:
    archive.index = reply
    with pytest.raises(ProviderError, match="the archive's index") as failed:
        pages(server, timeout_s=0.3).fetch_page(URL, CUTOFF)
    assert failed.value.kind == kind


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply("slow down", 429, {"Retry-After": "3600"}), "http 429"),
        (Reply("oops", 502), "http 502"),
        (Reply("no", 403), "http 403"),
        (Hang(), "timeout"),
    ],
)
def test_so_is_a_capture_that_it_does_not_hand_out(server: FakeService, archive: Archive, reply: Reply, kind: str) -> None:
    archive.played["20260703235959"] = reply
    with pytest.raises(ProviderError, match=r"web\.pages") as failed:
        pages(server).fetch_page(URL, CUTOFF)
    assert failed.value.kind == kind


def test_an_archive_on_a_private_address_must_be_allowed(server: FakeService) -> None:
    with pytest.raises(ProviderError) as failed:
        pages(server, allowed=False).fetch_page(URL, CUTOFF)
    assert failed.value.kind == "refused address"
    assert played(server) == []


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply(b"", 200, HTML), "empty"),
        (Reply(b"\0\0", 200, {"Content-Type": "video/mp4"}), "unsupported type"),
        (Reply(b"junk", 200, {**HTML, "Content-Encoding": "gzip"}), "bad encoding"),
    ],
)
def test_a_capture_that_cannot_be_read_is_that_of_one_address(
    server: FakeService, archive: Archive, reply: Reply, kind: str
) -> None:
    archive.played["20260703235959"] = reply
    with pytest.raises(Unavailable) as failed:
        pages(server).fetch_page(URL, CUTOFF)
    assert (failed.value.url, failed.value.kind) == (URL, kind)


@pytest.mark.parametrize(
    "why", ["AdministrativeAccessControlException: Blocked Site Error", "RobotAccessControlException: Blocked By Robots"]
)
def test_a_site_that_the_archive_leaves_out_has_no_pages(server: FakeService, archive: Archive, why: str) -> None:
    archive.index = Reply(f"org.archive.util.io.RuntimeIOException: org.archive.wayback.exception.{why}".encode(), 403)
    with pytest.raises(ToolError) as absent:
        pages(server).fetch_page(URL, CUTOFF)
    assert type(absent.value) is ToolError


def test_the_deadline_of_the_tool_call_holds(server: FakeService, archive: Archive) -> None:
    archive.index = Hang()
    with tool_deadline(0.2), pytest.raises(DeadlineExceeded):
        pages(server, timeout_s=5.0).fetch_page(URL, CUTOFF)
    archive.index, archive.played["20260703235959"] = None, Hang()
    with tool_deadline(0.2), pytest.raises(DeadlineExceeded):
        pages(server).fetch_page(URL, CUTOFF)


def test_it_is_a_page_provider_with_the_extractor_in_its_key() -> None:
    extractor = PlainExtractor()
    make: Callable[..., Any] = WaybackPages
    provider: PageProvider = make(Fetcher(), extractor)
    assert (provider.name, provider.local) == ("wayback", False)
    assert provider.extractor == extractor.version  # type: ignore[attr-defined]
