"""The protocol a provider of search results, pages and pictures implements."""

from __future__ import annotations

from datetime import date
from typing import Protocol, runtime_checkable

from wildenv.web.results import ImageHit, Page, TextHit


@runtime_checkable
class Provider(Protocol):
    """A source of the web. Methods are called from many threads at once.

    Each method returns results in rank order, or raises `wildenv.errors.ProviderError` when the service failed and
    `wildenv.errors.ToolError` when the agent asked for something that does not exist (a page that is not there). The
    cutoff is passed so that a service can filter on its side; the client filters again and does not rely on it.

    Attributes:
        name: Part of the cache key.
        version: API version, part of the cache key.
        local: True if it works without a network; `replay` needs no provider at all.
    """

    name: str
    version: str
    local: bool

    def text_search(self, query: str, limit: int, cutoff: date | None) -> list[TextHit]:
        """Returns at most `limit` organic results."""
        ...

    def image_search(self, query: str, limit: int, cutoff: date | None) -> list[ImageHit]:
        """Returns at most `limit` image results."""
        ...

    def fetch_page(self, url: str, cutoff: date | None) -> Page:
        """Returns a page with its main text."""
        ...

    def fetch_image(self, url: str) -> bytes:
        """Returns the bytes of a picture as the server sent them."""
        ...
