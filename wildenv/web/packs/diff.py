"""What two recorded webs say differently, in words.

Compares requests that are the same in every field; a request that was made under another provider, version or cutoff is another
request, and stands in one file only. Pictures are compared by their bytes, not by what they show.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wildenv.web.packs.listing import GAP, Listed, describe, listed, response_of
from wildenv.web.packs.pack import open_recorded
from wildenv.web.request import WEB_TOOLS
from wildenv.web.store import Gap, Store

_LINES = 12
"""Changed lines of a page that are shown."""

_LINE_CHARS = 160


@dataclass(frozen=True, slots=True)
class Change:
    """A request with another answer.

    Attributes:
        request: The request, and its answer in the first file.
        after: Its answer in the second file, in a few words.
        lines: What changed, one a line.
    """

    request: Listed
    after: str
    lines: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON values."""
        return {"request": self.request.to_dict(), "after": self.after, "lines": list(self.lines)}


@dataclass(frozen=True, slots=True)
class PackDiff:
    """How two recorded webs differ; requests by tool and key.

    Attributes:
        only_a: Requests that only the first file holds, answered or not.
        only_b: Requests that only the second file holds, answered or not.
        changed: Requests that both hold, with different answers or with an answer in one only.
        same: Number of requests with the same answer, or with none, in both.
    """

    only_a: tuple[Listed, ...]
    only_b: tuple[Listed, ...]
    changed: tuple[Change, ...]
    same: int

    @property
    def identical(self) -> bool:
        """Whether both replay the same web."""
        return not (self.only_a or self.only_b or self.changed)

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON values."""
        return {
            "only_a": [one.to_dict() for one in self.only_a],
            "only_b": [one.to_dict() for one in self.only_b],
            "changed": [one.to_dict() for one in self.changed],
            "same": self.same,
        }


def diff_packs(a: str | Path, b: str | Path) -> PackDiff:
    """Compares two packs or stores.

    Raises:
        DataError: If an entry that differs cannot be read; further errors as in `open_recorded`.
    """
    with open_recorded(a) as first, open_recorded(b) as second:
        left, right = _Side(first), _Side(second)
        shared = sorted(left.digests.keys() & right.digests.keys())
        other = [place for place in shared if left.digests[place] != right.digests[place]]
        return PackDiff(
            tuple(left.show(place) for place in sorted(left.digests.keys() - right.digests.keys())),
            tuple(right.show(place) for place in sorted(right.digests.keys() - left.digests.keys())),
            tuple(_change(left, right, place) for place in other),
            len(shared) - len(other),
        )


class _Side:
    """One of the files: the digest of every request it holds, None for a gap."""

    def __init__(self, store: Store) -> None:
        entries, gaps = store.listing(WEB_TOOLS)
        self._store = store
        self._gaps: dict[tuple[str, str], Gap] = {(gap.tool, gap.key): gap for gap in gaps}
        self.digests: dict[tuple[str, str], str | None] = {
            **dict.fromkeys(self._gaps),
            **{(tool, key): digest for tool, key, digest in entries},
        }

    def show(self, place: tuple[str, str]) -> Listed:
        """Describes a request."""
        if self.digests[place] is None:
            return listed(self._gaps[place])
        (row,) = self._store.rows([place])
        return listed(row)

    def response(self, place: tuple[str, str]) -> dict[str, Any] | None:
        """Returns an answer, or None for a gap."""
        if self.digests[place] is None:
            return None
        (row,) = self._store.rows([place])
        return response_of(row)


def _change(left: _Side, right: _Side, place: tuple[str, str]) -> Change:
    before, after = left.response(place), right.response(place)
    lines = () if before is None or after is None else tuple(answer_changes(before, after))
    return Change(left.show(place), GAP if after is None else describe(after), lines)


def answer_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Yields what changed between two responses to the same request, one short line each."""
    if "results" in before and "results" in after:
        yield from _result_changes(before["results"], after["results"])
    elif "page" in before and "page" in after:
        yield from _page_changes(before["page"], after["page"])
    for name in sorted((before.keys() | after.keys()) - {"results", "page"}):
        if before.get(name) != after.get(name):
            yield f"{name}: {_short(before.get(name))} -> {_short(after.get(name))}"


def _result_changes(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> Iterator[str]:
    old = {row["url"]: (rank, row) for rank, row in enumerate(before, 1)}
    new = {row["url"]: (rank, row) for rank, row in enumerate(after, 1)}
    for url, (rank, row) in old.items():
        if url not in new:
            yield f"- {rank}. {_short(row['title'])} <{url}>"
    for url, (rank, row) in new.items():
        if url not in old:
            yield f"+ {rank}. {_short(row['title'])} <{url}>"
            continue
        old_rank, old_row = old[url]
        if old_rank != rank:
            yield f"  {old_rank}. -> {rank}. <{url}>"
        for name in sorted(row.keys() | old_row.keys()):
            if row.get(name) != old_row.get(name):
                yield f"  {rank}. {name}: {_short(old_row.get(name))} -> {_short(row.get(name))}"


def _page_changes(before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    for name in sorted((before.keys() | after.keys()) - {"text"}):
        if before.get(name) != after.get(name):
            yield f"{name}: {_short(before.get(name))} -> {_short(after.get(name))}"
    delta = difflib.unified_diff(before["text"].splitlines(), after["text"].splitlines(), n=0, lineterm="")
    lines = [line for line in delta if line[:3] not in ("---", "+++") and not line.startswith("@@")]
    yield from (_cut(line) for line in lines[:_LINES])
    if len(lines) > _LINES:
        yield f"... {len(lines) - _LINES} more changed lines"


def _short(value: Any) -> str:
    return _cut(value if isinstance(value, str) else repr(value))


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LINE_CHARS else f"{line[: _LINE_CHARS - 3]}..."
