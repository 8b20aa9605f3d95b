"""What a provider returns: search hits and pages, as plain records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

Result = TypeVar("Result", bound="TextHit | ImageHit | NewsHit")


@dataclass(frozen=True, slots=True)
class TextHit:
    """One organic result.

    Attributes:
        title: Title of the page.
        url: Address of the page.
        snippet: What the search engine shows of it.
        published: Date as the engine gave it, unparsed; None when it gave none.
    """

    title: str
    url: str
    snippet: str
    published: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> TextHit:
        """Reads `to_dict` back."""
        return cls(**row)


@dataclass(frozen=True, slots=True)
class ImageHit:
    """One image result.

    Attributes:
        title: Caption or title.
        url: Address of the picture itself.
        page: Address of the page it stands on.
        published: Date as the engine gave it, unparsed; None when it gave none.
    """

    title: str
    url: str
    page: str
    published: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> ImageHit:
        """Reads `to_dict` back."""
        return cls(**row)


@dataclass(frozen=True, slots=True)
class NewsHit:
    """One news result.

    Attributes:
        title: Headline.
        url: Address of the article.
        snippet: What the search engine shows of it.
        source: Who published it.
        published: Date as the engine gave it, unparsed; None when it gave none.
    """

    title: str
    url: str
    snippet: str
    source: str
    published: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> NewsHit:
        """Reads `to_dict` back."""
        return cls(**row)


@dataclass(frozen=True, slots=True)
class Link:
    """A link of a page: its words and the absolute address it leads to."""

    text: str
    url: str


@dataclass(frozen=True, slots=True)
class Page:
    """A fetched page.

    Attributes:
        url: Address it was fetched from.
        title: Its title.
        text: Its main text; paragraphs are separated by blank lines.
        published: Publication date as the page gave it, unparsed; None when it gave none.
        links: Where its main text leads to, in its order.
    """

    url: str
    title: str
    text: str
    published: str | None = None
    links: tuple[Link, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON values; a page without links says nothing about them, as before pages had any."""
        row: dict[str, Any] = {"url": self.url, "title": self.title, "text": self.text, "published": self.published}
        return {**row, "links": [[link.text, link.url] for link in self.links]} if self.links else row

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Page:
        """Reads `to_dict` back."""
        return cls(**{**row, "links": tuple(Link(text, url) for text, url in row.get("links", ()))})
