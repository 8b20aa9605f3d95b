"""The web of the storm: a search service that fails in every way it can, whose results lead to traps and to healthy pages.

What it says about a query, and how it fails, depends on the query alone, so that a test can say of every recorded answer whether
it is what the service had to say. A query is ``kestrel 17``; of every `QUERIES` numbers the first meet one kind of bad weather
each, all others are answered. The service speaks the protocols of Serper and of SearXNG.
"""

from __future__ import annotations

import io
import random
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from PIL import Image, ImageDraw

from tests.web.fake_services import Asked, DripBody, FakeService, Hang, NoHttp, Reply, Short, bomb
from tests.web.hostile import HostileWeb, Trap, hostile_process

KEY = "storm-key-4f9a7c21d0e85b36"
"""What must be found nowhere."""

FAILING = ("storm", "error in 200", "hang", "drip", "no json", "short", "no http", "bomb", "wrong shape", "busy for long")
"""Weather that ends an episode: the service has no answer, however often it is asked."""

PASSING = ("empty", "empty once", "busy once", "storm once", "echo")
"""Weather that is got through: an answer in the end, which may be that there is nothing."""

WEATHER = (*FAILING, *PASSING)
QUERIES = 150
"""Different queries of each tool that lead to the same pages and pictures; the next so many lead to others."""

HITS = 8
SITE_PAGES = 60
SPREAD = 12
"""Addresses of each trap: one that was met is a gap, and not met again."""

_GONE = 7
_LATE = 5
_HUGE = 11


@dataclass(frozen=True, slots=True)
class StormWeb:
    """Who is out there.

    Attributes:
        service: The search service.
        site: The healthy pages and pictures.
        hostile: The traps.
        calm: Once set, the search service answers every query.
    """

    service: FakeService
    site: FakeService
    hostile: HostileWeb
    calm: threading.Event

    @property
    def allow(self) -> tuple[str, ...]:
        """Addresses that a fetcher must be allowed."""
        return (*self.hostile.allow, urlsplit(self.site.url).netloc)

    def hits(self, kind: str, query: str) -> list[dict[str, Any]]:
        """Returns what the service finds, as title, url, page, snippet and date."""
        if not self.calm.is_set() and weather(kind, query) == "empty":
            return []
        # No address twice: some services leave the second one out.
        return list({hit["url"]: hit for hit in (self._hit(kind, query, number) for number in range(HITS))}.values())

    def trap(self, url: str) -> Trap | None:
        """Returns the trap at an address."""
        parts = urlsplit(url)
        found = self.hostile.traps.get(parts.path.strip("/"))
        return found if found is not None and urlsplit(found.url).netloc == parts.netloc else None

    def _hit(self, kind: str, query: str, number: int) -> dict[str, Any]:
        rng = random.Random(f"{kind} {query} {number}")
        region = _number(query) // QUERIES
        tool = "fetch_image" if kind == "images" else "fetch_page"
        traps = [trap for trap in self.hostile.traps.values() if trap.tool == tool]
        # Slow traps are rare: each takes a thread for all the time it may.
        quick = [trap for trap in traps if trap.fetched != ("timeout",)]
        if rng.random() < 0.5:
            chosen = rng.choice(traps if rng.random() < 0.25 else quick)
            url = f"{chosen.url}?n={region * SPREAD + rng.randrange(SPREAD)}"
        else:
            place = region * SITE_PAGES + rng.randrange(SITE_PAGES)
            url = f"{self.site.url}/{'picture' if kind == 'images' else 'page'}/{place}"
        title = f"{query} hit {number}"
        if weather(kind, query) == "echo":
            title += f" {KEY}"
        dates = (None, "Apr 2, 2026", "2026-05-01", "3 hours ago", "Aug 9, 2026")
        page = f"{self.site.url}/page/{number}"
        return {"title": title, "url": url, "page": page, "snippet": f"words about {query}", "date": rng.choice(dates)}


def weather(kind: str, query: str) -> str:
    """Returns how the service is when it is asked this: one of `WEATHER`, or ``fair``.

    Args:
        kind: ``search`` or ``images``.
        query: What it is asked.
    """
    number = _number(query) % QUERIES
    return WEATHER[number] if number < len(WEATHER) else "fair"


def _number(query: str) -> int:
    return int(query.rpartition(" ")[2])


@dataclass(slots=True)
class _Service:
    """Answers as the weather is."""

    web: StormWeb
    asked: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, asked: Asked) -> Reply:
        serper = asked.method == "POST"
        kind, query = (asked.path.strip("/"), asked.body["q"]) if serper else (_category(asked), asked.params["q"])
        with self.lock:
            self.asked[f"{kind} {query}"] += 1
            first = self.asked[f"{kind} {query}"] == 1
        now = "fair" if self.web.calm.is_set() else weather(kind, query)
        return self._bad(now, first, serper) or self._found(kind, query, asked, empty=now == "empty once" and first)

    def _bad(self, now: str, first: bool, serper: bool) -> Reply | None:
        replies: Mapping[str, Reply] = {
            "storm": Reply({"message": f"Error 500 for {KEY}"}, 500),
            "error in 200": Reply({"message": f"Error 500 for {KEY}", "statusCode": 500} if serper else {"error": "Error 500"}),
            "hang": Hang(),
            "drip": DripBody(),
            "no json": Reply(f"<title>Error 500</title> {KEY}".encode()),
            "short": Short(),
            "no http": NoHttp(),
            "bomb": _BOMB,
            "wrong shape": Reply({"searchParameters": {}, "organic": "Error 500", "images": "Error 500", "results": "Error 500"}),
            "busy for long": Reply({"message": "Error 429"}, 429, {"Retry-After": "0.2"}),
        }
        if first:
            replies = {
                **replies,
                "busy once": Reply({"message": "Error 429"}, 429, {"Retry-After": "0.5"}),
                "storm once": Reply({"message": f"Error 503 for {KEY}"}, 503),
            }
        return replies.get(now)

    def _found(self, kind: str, query: str, asked: Asked, empty: bool) -> Reply:
        hits = [] if empty else self.web.hits(kind, query)
        if asked.method == "POST":
            rows = [{"title": hit["title"], "date": hit["date"]} for hit in hits]
            for row, hit in zip(rows, hits, strict=True):
                row |= {"link": hit["page"], "imageUrl": hit["url"]} if kind == "images" else {"link": hit["url"]}
                row |= {} if kind == "images" else {"snippet": hit["snippet"]}
            return Reply({"searchParameters": asked.body, "organic" if kind == "search" else "images": rows, "credits": 1})
        found = [
            {"title": hit["title"], "content": hit["snippet"], "publishedDate": hit["date"]}
            | ({"url": hit["page"], "img_src": hit["url"]} if kind == "images" else {"url": hit["url"]})
            for hit in (hits if asked.params["pageno"] == "1" else [])
        ]
        return Reply({"query": query, "results": found, "unresponsive_engines": []})


_BOMB = bomb(30)


def _category(asked: Asked) -> str:
    return "images" if asked.params["categories"] == "images" else "search"


def page_of(number: int) -> tuple[str, str | None] | None:
    """Returns what the healthy page says and the day it was published; None if it is gone."""
    if number % _GONE == 6:
        return None
    return f"Sighting number {number} of the copper kestrel", "2026-06-30" if number % _LATE == 4 else "2026-05-02"


def picture_of(number: int, huge_side: int) -> bytes | None:
    """Returns a healthy picture, None if it is gone; one in eleven is huge, though of few bytes."""
    number %= SITE_PAGES
    return None if number % _GONE == 6 else _drawn(number, huge_side)


@cache
def _drawn(number: int, huge_side: int) -> bytes:
    side = huge_side if number % _HUGE == 3 else 240
    image = Image.new("RGB", (side, side), (number * 4 % 256, 90, 160))
    ImageDraw.Draw(image).rectangle((20, 20, 60 + number, 120), fill=(250, 240, number * 3 % 256))
    data = io.BytesIO()
    image.save(data, "PNG", compress_level=1)
    return data.getvalue()


def _site(huge_side: int) -> FakeService:
    def answer(asked: Asked) -> Reply:
        kind, _, number = asked.path.strip("/").partition("/")
        if kind == "picture":
            picture = picture_of(int(number), huge_side)
            return Reply(b"", 404) if picture is None else Reply(picture, headers={"Content-Type": "image/png"})
        page = page_of(int(number))
        if page is None:
            return Reply(b"<title>Error 404</title>", 404)
        said, day = page
        body = f"<p>{said}. {'It sat on the mast by the river and was seen by many. ' * 6}</p>" * 3
        date = f"<meta property='article:published_time' content='{day}'>"
        head = f"<!DOCTYPE html><html><head><title>Kestrel {number}</title>{date}</head>"
        html = f"{head}<body><article>{body}</article></body></html>"
        return Reply(html.encode(), headers={"Content-Type": "text/html; charset=utf-8"})

    return FakeService(answer)


@contextmanager
def storm_web(huge_side: int) -> Iterator[StormWeb]:
    """Runs the services: the traps in a process of their own, the others in threads of this one.

    Args:
        huge_side: Of the largest healthy pictures, in pixels.
    """
    for number in range(SITE_PAGES):
        picture_of(number, huge_side)
    with ExitStack() as stack:
        hostile = stack.enter_context(hostile_process())
        service = FakeService(lambda asked: Reply())
        web = StormWeb(service, _site(huge_side), hostile, threading.Event())
        service.answer = _Service(web).answer
        stack.enter_context(service.running())
        stack.enter_context(web.site.running())
        yield web
