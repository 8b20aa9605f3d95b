"""How much a recorded web holds of what.

Bytes are those of requests, responses and blobs, before SQLite; a blob that several entries name counts once, with the first of
them. Dates are read as the cutoff reads them: a date that is ambiguous or unreadable counts as none.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any

from wildenv.progress import progress
from wildenv.web.admission import Answer
from wildenv.web.dates import parse_published
from wildenv.web.packs.listing import provider_of, request_of, response_of
from wildenv.web.packs.pack import open_recorded
from wildenv.web.request import WEB_TOOLS

NO_CUTOFF = "none"
"""Stands for the cutoff of requests without one."""


@dataclass(slots=True)
class Amount:
    """Entries and their bytes."""

    entries: int = 0
    bytes: int = 0


@dataclass(slots=True)
class PackStats:
    """What a recorded web holds.

    Attributes:
        path: The file.
        digest: Its content digest.
        size: Of the file, in bytes.
        total: All entries.
        by_tool: Entries by tool.
        by_provider: Entries by provider, version and extractor.
        by_cutoff: Entries by last visible day.
        by_media_type: Blobs by media type.
        absent: Entries that say that the thing does not exist.
        empty: Searches without results, and pages without text.
        gaps: Gaps by tool.
        first: Earliest publication date of any result or page; None if none is dated.
        last: Latest one.
        dated: Results and pages whose date could be read.
        undated: Results and pages whose date is missing, ambiguous or unreadable.
    """

    path: Path
    digest: str
    size: int
    total: Amount = field(default_factory=Amount)
    by_tool: dict[str, Amount] = field(default_factory=dict)
    by_provider: dict[str, Amount] = field(default_factory=dict)
    by_cutoff: dict[str, Amount] = field(default_factory=dict)
    by_media_type: dict[str, Amount] = field(default_factory=dict)
    absent: int = 0
    empty: int = 0
    gaps: dict[str, int] = field(default_factory=dict)
    first: date | None = None
    last: date | None = None
    dated: int = 0
    undated: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON values."""
        days = {name: None if day is None else day.isoformat() for name, day in (("first", self.first), ("last", self.last))}
        return {**asdict(self), "path": str(self.path), **days}


def pack_stats(path: str | Path) -> PackStats:
    """Counts a pack or store.

    Raises:
        DataError: If an entry or blob is damaged; further errors as in `open_recorded`.
    """
    path = Path(path)
    blobs: set[str] = set()
    with open_recorded(path) as store:
        entries, gaps = store.listing(WEB_TOOLS)
        stats = PackStats(path, store.content_digest(WEB_TOOLS), path.stat().st_size)
        rows = store.rows([entry[:2] for entry in entries])
        for row in progress(rows, f"stats {path.name}", len(entries), "entries", leave=False):
            request, response = request_of(row), response_of(row)
            size = len(row.request.encode()) + len(row.response.encode())
            named = response.get("blob")
            if named is not None and named not in blobs:
                blobs.add(named)
                blob = store.blob(named)
                _add(stats.by_media_type, blob.media_type, len(blob.data))
                size += len(blob.data)
            _add(stats.by_tool, row.tool, size)
            _add(stats.by_provider, provider_of(request), size)
            _add(stats.by_cutoff, NO_CUTOFF if request.cutoff is None else request.cutoff.isoformat(), size)
            stats.total.entries += 1
            stats.total.bytes += size
            emptiness = Answer(response).emptiness
            stats.absent += emptiness == "absent"
            stats.empty += emptiness in ("no results", "no text")
            _date(stats, response)
    stats.gaps = dict(sorted(Counter(gap.tool for gap in gaps).items()))
    for name in ("by_provider", "by_cutoff", "by_media_type"):
        setattr(stats, name, dict(sorted(getattr(stats, name).items())))
    return stats


def _add(amounts: dict[str, Amount], name: str, size: int) -> None:
    amount = amounts.setdefault(name, Amount())
    amount.entries += 1
    amount.bytes += size


def _date(stats: PackStats, response: dict[str, Any]) -> None:
    asked = response.get("asked")
    reference = None if asked is None else datetime.fromisoformat(asked)
    for found in (*response.get("results", ()), *([response["page"]] if "page" in response else [])):
        day = parse_published(found.get("published"), reference)
        if day is None:
            stats.undated += 1
            continue
        stats.dated += 1
        stats.first = day if stats.first is None else min(stats.first, day)
        stats.last = day if stats.last is None else max(stats.last, day)
