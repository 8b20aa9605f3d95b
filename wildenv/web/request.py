"""One request to the web, and the key it is recorded under.

Two requests have the same key exactly when every field below is the same; nothing else (order, time, process) enters it. This
module does not know whether a request was answered, and does not judge whether two different queries mean the same.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from types import MappingProxyType
from typing import Any

from wildenv.errors import DataError

WEB_TOOLS = ("text_search", "image_search", "news_search", "fetch_page", "fetch_image", "read_page")
"""The namespaces of a store that make up a recorded web."""


def canonical_json(value: object) -> str:
    """Returns JSON that is the same for equal values: sorted keys, no spaces, ASCII only."""
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def sha256(data: str | bytes) -> str:
    """Returns 64 hex digits."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def normalise_query(query: str) -> str:
    """Returns the query in Unicode form NFC with every run of white space as one space."""
    return " ".join(unicodedata.normalize("NFC", query).split())


@dataclass(frozen=True, slots=True)
class WebRequest:
    """A request in canonical form.

    Attributes:
        tool: One of `WEB_TOOLS`.
        provider: Name of the provider asked.
        version: API version of the provider.
        params: JSON values; a ``query`` is normalised on construction.
        cutoff: Last visible day; None for no cutoff.
        extractor: Name and version of what turns bytes into a page; empty where nothing does.
    """

    tool: str
    provider: str
    version: str
    params: Mapping[str, Any] = field(hash=False)
    cutoff: date | None = None
    extractor: str = ""

    def __post_init__(self) -> None:
        params = dict(self.params)
        if isinstance(params.get("query"), str):
            params["query"] = normalise_query(params["query"])
        object.__setattr__(self, "params", MappingProxyType(params))

    @property
    def key(self) -> str:
        """The sha256 of the canonical JSON: 64 hex digits."""
        return sha256(self.canonical())

    @property
    def text(self) -> str:
        """The query or address, for messages and for finding similar requests."""
        return str(self.params.get("query", self.params.get("url", "")))

    def canonical(self) -> str:
        """Returns the JSON text that `key` is taken from."""
        return canonical_json(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON values."""
        return {
            "tool": self.tool,
            "provider": self.provider,
            "version": self.version,
            "params": dict(self.params),
            "cutoff": None if self.cutoff is None else self.cutoff.isoformat(),
            "extractor": self.extractor,
        }

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> WebRequest:
        """Reads `to_dict` back.

        Raises:
            DataError: If a field is missing, unknown or of the wrong form.
        """
        try:
            cutoff = row["cutoff"]
            return cls(**{**row, "cutoff": None if cutoff is None else date.fromisoformat(cutoff)})
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"not a web request: {error}") from error

    def difference(self, other: WebRequest) -> dict[str, tuple[Any, Any]]:
        """Returns the fields that differ, as ``field -> (mine, theirs)``; parameters are named ``params.query`` and so on."""
        mine, theirs = self._flat(), other._flat()
        return {
            name: (mine.get(name), theirs.get(name))
            for name in sorted(mine.keys() | theirs.keys())
            if mine.get(name) != theirs.get(name)
        }

    def _flat(self) -> dict[str, Any]:
        row = self.to_dict()
        params = row.pop("params")
        return {**row, **{f"params.{name}": value for name, value in params.items()}}
