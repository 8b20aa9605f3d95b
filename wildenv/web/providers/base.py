"""The protocols of those who are asked: for search results, for pages, for pictures, or for all three.

Methods are called from many threads at once. Results come in rank order. What a method raises says whose failure it is:
`wildenv.errors.ProviderError` when the service failed (the episode ends, its reward is not valid), `wildenv.errors.ToolError`
when what the agent asked for does not exist (recorded once confirmed), `wildenv.errors.Unavailable` when one address cannot
be had at the moment (never recorded as an answer). The cutoff is passed so that a service can filter on its side; the client
filters again and does not rely on it. A key belongs into a `wildenv.secrets.Secret`: then it is replaced in all that is recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Protocol, runtime_checkable

from wildenv.web.results import ImageHit, NewsHit, Page, TextHit


class Source(Protocol):
    """What every provider says of itself.

    Attributes:
        name: Part of the cache key.
        version: API version, part of the cache key.
        local: True if it works without a network; `replay` needs no provider at all.
    """

    name: str
    version: str
    local: bool


class SearchProvider(Source, Protocol):
    """Searches pages and pictures."""

    def text_search(self, query: str, limit: int, cutoff: date | None) -> list[TextHit]:
        """Returns at most `limit` organic results."""
        ...

    def image_search(self, query: str, limit: int, cutoff: date | None) -> list[ImageHit]:
        """Returns at most `limit` image results."""
        ...


@runtime_checkable
class NewsProvider(Source, Protocol):
    """Searches the news of a day."""

    def news_search(self, query: str, limit: int, day: date) -> list[NewsHit]:
        """Returns at most `limit` news results of that day."""
        ...


class PageProvider(Source, Protocol):
    """Fetches pages.

    A provider that makes pages of HTML itself also has an attribute ``extractor``, name and version of what does it; it is part
    of the cache key of pages.
    """

    def fetch_page(self, url: str, cutoff: date | None) -> Page:
        """Returns a page with its main text."""
        ...


class PictureProvider(Source, Protocol):
    """Fetches pictures."""

    def fetch_image(self, url: str) -> bytes:
        """Returns the bytes of a picture as the server sent them."""
        ...


@runtime_checkable
class Provider(SearchProvider, PageProvider, PictureProvider, Protocol):
    """A source of the whole web, as a generated world is."""


class Reader(Protocol):
    """Answers a prompt from a page, as a chat model does.

    Attributes:
        name: Part of the cache key: which model, at which endpoint.
        version: Of the instructions it is given; part of the cache key.
    """

    name: str
    version: str

    def read(self, page: Page, prompt: str) -> str:
        """Returns the answer.

        Raises:
            ProviderError: If the model failed.
        """
        ...


@dataclass(frozen=True, slots=True)
class Parts:
    """A web put together of several providers.

    Attributes:
        search: Who searches.
        pages: Who fetches pages.
        pictures: Who fetches pictures.
    """

    search: SearchProvider
    pages: PageProvider
    pictures: PictureProvider

    @classmethod
    def of(cls, provider: Provider | Parts) -> Parts:
        """Returns the parts; a provider of the whole web is each of them."""
        return provider if isinstance(provider, Parts) else cls(provider, provider, provider)

    def asked(self, tool: str) -> Source:
        """Returns who is asked by one of `wildenv.web.request.WEB_TOOLS`."""
        return {"fetch_page": self.pages, "fetch_image": self.pictures}.get(tool, self.search)
