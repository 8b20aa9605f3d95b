"""Pages and pictures from their own sites, through the client that agents use."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from tests.fakes import call, make_env
from tests.web import hostile, hostile_bodies
from tests.web.hostile import HostileWeb, hostile_web
from wildenv.errors import ToolError, Unavailable
from wildenv.web.client import WebClient
from wildenv.web.extract import Extractor
from wildenv.web.net.fetch import Fetcher, FetchLimits
from wildenv.web.net.manners import Rules
from wildenv.web.net.spending import Metered
from wildenv.web.providers.base import PageProvider, Parts, PictureProvider
from wildenv.web.providers.direct import DirectPages, DirectPictures
from wildenv.web.results import ImageHit, Page
from wildenv.web.store import Store

pytestmark = pytest.mark.loopback

LIMITS = FetchLimits(connect_s=2.0, first_byte_s=0.5, total_s=1.0)
POLITE = Rules(attempts=2, backoff_s=0.01)


class NoSearch:
    """Stands where a search provider is needed and none is asked."""

    name = "none"
    version = "1"
    local = True

    def text_search(self, query: str, limit: int, cutoff: date | None) -> list[object]:
        raise AssertionError

    image_search = text_search


class PlainExtractor(Extractor):
    """Takes note of what it is given; says that an empty document cannot be read."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[tuple[str, str, str | None]] = []

    def page(self, data: bytes, url: str, media_type: str, charset: str | None) -> Page:
        self.given.append((url, media_type, charset))
        if b"unreadable" in data:
            raise Unavailable(url, "unreadable", "it says so")
        return Page(url, "title", data.decode("utf-8", "replace"))


@pytest.fixture(scope="module")
def web() -> Iterator[HostileWeb]:
    with hostile_web() as running:
        yield running


@pytest.fixture(scope="module")
def extractor() -> Iterator[Extractor]:
    real = Extractor(workers=1, seconds=5.0)
    yield real
    real.close()


def parts(web: HostileWeb, extractor: Extractor, limits: FetchLimits = LIMITS) -> Parts:
    fetcher = Fetcher(limits, POLITE, web.allow)
    pages: PageProvider = DirectPages(fetcher, extractor)
    pictures: PictureProvider = DirectPictures(fetcher)
    return Parts(NoSearch(), pages, pictures)  # type: ignore[arg-type]


def outcome(client: WebClient, trap: hostile.Trap) -> tuple[str, str]:
    """Returns what came of it, and what the agent is told."""
    try:
        if trap.tool == "fetch_page":
            return "answer", client.fetch_page(trap.url, None).page.text
        picture = client.fetch_image(trap.url)
        assert picture.mode == "RGB"
        return "answer", f"{picture.size}"
    except Unavailable as error:
        return error.kind, str(error)
    except ToolError as error:
        return "absent", str(error)


def test_an_extractor_is_given_what_the_server_said(web: HostileWeb) -> None:
    extractor = PlainExtractor()
    pages = parts(web, extractor).pages
    page = pages.fetch_page(web.traps["moved"].url, None)
    assert page.url == web.traps["page"].url
    assert "The kestrel" in page.text
    pages.fetch_page(web.traps["latin-1"].url, None)
    assert extractor.given == [(web.traps["page"].url, "text/html", None), (web.traps["latin-1"].url, "text/html", "iso-8859-1")]
    assert pages.extractor == extractor.version  # type: ignore[attr-defined]
    assert isinstance(pages, Metered)
    assert pages.spending.requests == 3


def test_what_cannot_be_read_is_named_as_it_was_asked_for(web: HostileWeb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hostile_bodies, "article", lambda: b"unreadable")
    url = web.traps["moved"].url
    with pytest.raises(Unavailable) as failed:
        parts(web, PlainExtractor()).pages.fetch_page(url, None)
    assert (failed.value.url, failed.value.kind, failed.value.detail) == (url, "unreadable", "it says so")


@pytest.mark.parametrize("name", [name for name in hostile.NAMES if name in hostile_bodies.PICTURES or "picture" in name])
def test_every_picture_has_its_outcome(web: HostileWeb, name: str) -> None:
    trap = web.traps[name]
    client = WebClient(parts(web, PlainExtractor()), "live")
    assert outcome(client, trap)[0] in trap.outcomes


SIZES = {"rotated-jpeg": (64, 96), "cmyk-jpeg": (96, 64), "palette-alpha-png": (96, 64), "16-bit-png": (64, 64), "avif": (96, 64)}


@pytest.mark.parametrize("name", SIZES)
def test_odd_pictures_are_shown_as_they_are_meant(web: HostileWeb, name: str) -> None:
    picture = WebClient(parts(web, PlainExtractor()), "live").fetch_image(web.traps[name].url)
    assert picture.size == SIZES[name]
    darkest, lightest = picture.convert("L").getextrema()
    assert darkest < 40
    assert lightest > 200


READ = [
    "page",
    "no-type",
    "error-page-with-200",
    "moved",
    "gzip",
    "unknown-charset",
    "wrong-charset",
    "latin-1",
    "a-program",
    "broken-pdf",
]


def test_pages_have_their_outcome_with_the_real_extractor(web: HostileWeb, extractor: Extractor) -> None:
    client = WebClient(parts(web, extractor), "live")
    said = {name: outcome(client, web.traps[name]) for name in READ}
    assert {name: (kind, kind in web.traps[name].outcomes) for name, (kind, _) in said.items()} == {
        name: (kind, True) for name, (kind, _) in said.items()
    }
    assert "copper band on its left wing" in said["gzip"][1]
    assert "Größe und Überfluß: çà et là." in said["wrong-charset"][1]
    assert "hall by the ríver" in said["latin-1"][1]


def test_a_recording_holds_answers_and_absence_and_replays_what_agents_were_told(web: HostileWeb, tmp_path: Path) -> None:
    names = [
        "page",
        "moved",
        "not-found",
        "gone",
        "forbidden",
        "storm",
        "gzip-bomb",
        "to-metadata",
        "drip-body",
        "png",
        "truncated-png",
    ]
    names += ["pixel-bomb", "html-as-jpeg", "svg", "no-such-picture", "picture-never"]
    path = tmp_path / "web.sqlite"
    recording = WebClient(parts(web, PlainExtractor()), "record", Store(path))
    told = {name: outcome(recording, web.traps[name]) for name in names}
    assert {name: kind in web.traps[name].outcomes for name, (kind, _) in told.items()} == dict.fromkeys(names, True)
    before = web.counters()
    replaying = WebClient(mode="replay", store=Store(path, read_only=True))
    again = {name: outcome(replaying, web.traps[name]) for name in names}
    assert {name: words for name, (_, words) in again.items()} == {name: words for name, (_, words) in told.items()}
    # What could not be had is a gap: that it was asked for is kept, why it failed is not.
    kept = {name: kind for name, (kind, _) in again.items()}
    assert kept == {name: kind if kind in ("answer", "absent") else "gap" for name, (kind, _) in told.items()}
    assert web.counters() == before


class Dripping(NoSearch):
    """Finds nothing but pictures that never arrive."""

    def __init__(self, web: HostileWeb) -> None:
        names = ("picture-never", "drip-head") * 4
        self.urls = [f"{web.traps[name].url}?{number}" for number, name in enumerate(names)]

    def image_search(self, query: str, limit: int, cutoff: date | None) -> list[object]:
        return [ImageHit(f"picture {url}", url, url, "2026-05-01") for url in self.urls][:limit]


def test_a_search_full_of_pictures_that_drip_ends_no_episode(web: HostileWeb, extractor: Extractor) -> None:
    # As the defaults are to each other: 15 s a fetch and 60 s a tool call.
    limits = FetchLimits(connect_s=0.5, first_byte_s=1.0, total_s=1.5)
    given = replace(parts(web, extractor, limits), search=Dripping(web))  # type: ignore[arg-type]
    env = make_env(web=WebClient(given), tool_deadline_s=4 * limits.total_s)
    env.reset(seed=0)
    started = time.monotonic()
    observation, _, _, truncated, _ = env.step(call("image_search", query="lantern"))
    assert "8 pictures were found and none of them could be fetched; try other words." in observation["text"]
    assert not truncated
    assert time.monotonic() - started < 2 * limits.total_s + 1.0
    assert env.web.failures == {"fetch_image": {"timeout": 8}}
