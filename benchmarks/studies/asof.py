"""The miniweb as it was on a day: what appeared later is not there yet.

A miniweb record has the day it really appeared on, which no result shows. Ranking weights words by how common they are in the
whole world, later captions included; otherwise nothing of the future is to be seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from typing import Protocol, TypeVar

from wildenv.errors import ToolError
from wildenv.miniweb.provider import MiniwebProvider, snippet
from wildenv.miniweb.world import MiniWorld
from wildenv.web.results import ImageHit, Page, TextHit


class _Dated(Protocol):
    @property
    def day(self) -> str: ...


Found = TypeVar("Found", bound=_Dated)


class AsOfProvider:
    """Implements `wildenv.web.providers.base.Provider` over a world as of a day; blind to the cutoff, like `MiniwebProvider`.

    Args:
        world: The world.
        day: The last day that has happened.
    """

    local = True

    def __init__(self, world: MiniWorld, day: date) -> None:
        whole = MiniwebProvider(world)
        self.world = world
        self.name = whole.name
        self.version = f"{whole.version}@{day.isoformat()}"
        self.digest = f"{world.digest}@{day.isoformat()}"
        self._whole = whole
        self._day = day.isoformat()

    def text_search(self, query: str, limit: int, cutoff: date | None) -> list[TextHit]:
        """Returns at most `limit` pages that share a word with the query and were there on the day."""
        pages = self._there(self.world.page_index.search, self.world.pages, query, limit)
        return [TextHit(page.title, page.url, snippet(page.text), page.published) for page in pages]

    def image_search(self, query: str, limit: int, cutoff: date | None) -> list[ImageHit]:
        """Returns at most `limit` pictures whose captions share a word with the query and that were there on the day."""
        pictures = self._there(self.world.picture_index.search, self.world.pictures, query, limit)
        return [ImageHit(p.caption, p.url, self.world.pages[p.page].url, p.published) for p in pictures]

    def fetch_page(self, url: str, cutoff: date | None) -> Page:
        """Returns a page; raises `ToolError` if there was none at that address."""
        self._check(self.world.page(url), url)
        return self._whole.fetch_page(url, cutoff)

    def fetch_image(self, url: str) -> bytes:
        """Returns a picture as PNG; raises `ToolError` if there was none at that address."""
        self._check(self.world.picture(url), url)
        return self._whole.fetch_image(url)

    def _there(self, search: Callable[[str, int], list[int]], records: Sequence[Found], query: str, limit: int) -> list[Found]:
        wanted = limit + 8
        while True:
            found = search(query, wanted)
            there = [records[number] for number in found if records[number].day <= self._day]
            if len(there) >= limit or len(found) < wanted:
                return there[:limit]
            wanted *= 2

    def _check(self, record: _Dated, url: str) -> None:
        if record.day > self._day:
            raise ToolError(f"there is nothing at {url}")
