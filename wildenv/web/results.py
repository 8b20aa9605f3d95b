"""What a provider returns: search hits and pages, as plain records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

Result = TypeVar("Result", bound="TextHit | ImageHit")


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
class Page:
    """A fetched page.

    Attributes:
        url: Address it was fetched from.
        title: Its title.
        text: Its main text; paragraphs are separated by blank lines.
        published: Publication date as the page gave it, unparsed; None when it gave none.
    """

    url: str
    title: str
    text: str
    published: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Page:
        """Reads `to_dict` back."""
        return cls(**row)
