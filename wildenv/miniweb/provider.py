"""The miniweb as a search provider: the same protocol as any search service, without a network.

It is blind to the cutoff, as a service that ignores its date parameter is: results after it are returned like any other, and it
is the web client that removes them and records that it did. Ask for more results than are to be shown.
"""

from __future__ import annotations

from datetime import date

from wildenv.miniweb.config import GENERATOR_VERSION
from wildenv.miniweb.world import MiniWorld
from wildenv.web.results import ImageHit, Page, TextHit

SNIPPET = 160


class MiniwebProvider:
    """Implements `wildenv.web.providers.base.Provider` over a world.

    Args:
        world: The world it serves.
    """

    local = True

    def __init__(self, world: MiniWorld) -> None:
        self.world = world
        self.name = "miniweb"
        self.digest = world.digest
        self.version = f"{GENERATOR_VERSION}.{world.digest[:16]}"

    def text_search(self, query: str, limit: int, cutoff: date | None) -> list[TextHit]:
        """Returns at most `limit` pages that share a word with the query."""
        pages = [self.world.pages[number] for number in self.world.page_index.search(query, limit)]
        return [TextHit(page.title, page.url, snippet(page.text), page.published) for page in pages]

    def image_search(self, query: str, limit: int, cutoff: date | None) -> list[ImageHit]:
        """Returns at most `limit` pictures whose captions share a word with the query."""
        world = self.world
        pictures = [world.pictures[number] for number in world.picture_index.search(query, limit)]
        return [ImageHit(p.caption, p.url, world.pages[p.page].url, p.published) for p in pictures]

    def fetch_page(self, url: str, cutoff: date | None) -> Page:
        """Returns a page; raises `ToolError` if there is none at that address."""
        page = self.world.page(url)
        return Page(page.url, page.title, page.text, page.published)

    def fetch_image(self, url: str) -> bytes:
        """Draws a picture and returns it as PNG; raises `ToolError` if there is none at that address."""
        return self.world.png(url)


def snippet(text: str) -> str:
    """Returns the beginning of a text, cut after a whole word."""
    text = " ".join(text.split())
    if len(text) <= SNIPPET:
        return text
    return text[: text.rfind(" ", 0, SNIPPET)] + " ..."
