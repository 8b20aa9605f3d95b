"""Several recorded webs made one.

A merge knows entries, not meaning: answers of the same service on different days stand side by side where their requests
differ, and where they are the same, one of them is chosen as `prefer` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from wildenv.errors import ConfigError, DataError
from wildenv.web.packs.listing import request_of
from wildenv.web.packs.pack import Entry, check_target, open_recorded, write_pack
from wildenv.web.request import WEB_TOOLS
from wildenv.web.store import Gap, Store

Prefer = Literal["first", "last", "fail"]

_NAMED = 5
"""Conflicts that an error message names."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """A request with different answers.

    Attributes:
        tool: The tool that made it.
        text: Its query or address.
        key: Its key.
        kept: The file whose answer was kept.
        others: The files whose answers are others.
    """

    tool: str
    text: str
    key: str
    kept: Path
    others: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge wrote.

    Attributes:
        digest: Content digest of the new pack.
        entries: Number of its entries.
        gaps: Number of its gaps.
        closed: Gaps of one file that an entry of another closed.
        conflicts: Requests with different answers, by tool and key.
    """

    digest: str
    entries: int
    gaps: int
    closed: int
    conflicts: tuple[Conflict, ...]


def merge_packs(paths: Sequence[str | Path], out: str | Path, prefer: str = "first", replace: bool = True) -> Merged:
    """Writes a pack of all that several packs or stores hold.

    An entry anywhere closes a gap. Merging the same content gives the same digest, in whatever order if nothing conflicts.

    Args:
        paths: Packs and stores.
        out: The new pack, none of the others; an existing pack is replaced once the new one is complete.
        prefer: Whose answer is kept where two differ: that of the ``first`` or ``last`` path, or nobody's: ``fail``.
        replace: Whether a pack that is there already may be replaced; anything else never is.

    Raises:
        ConfigError: If no path is given, none holds anything, `prefer` is no such word, or `out` may not be written.
        DataError: If files conflict under ``fail``, or an entry, gap or blob is damaged; further errors as in `open_recorded`.
    """
    if prefer not in get_args(Prefer):
        raise ConfigError(f"prefer={prefer!r} is none of {', '.join(get_args(Prefer))}")
    if not paths:
        raise ConfigError("there is nothing to merge; name at least one pack")
    check_target(out, paths, replace)
    with ExitStack() as stack:
        stores = [stack.enter_context(open_recorded(path)) for path in paths]
        found = _Found(stores, prefer)
        conflicts = tuple(found.conflicts([Path(path) for path in paths]))
        if conflicts and prefer == "fail":
            named = "; ".join(f"{one.tool} {one.text!r} in {one.kept} and {one.others[0]}" for one in conflicts[:_NAMED])
            more = f"; and {len(conflicts) - _NAMED} more" if len(conflicts) > _NAMED else ""
            raise DataError(
                f"{len(conflicts)} {'request has' if len(conflicts) == 1 else 'requests have'} different answers: {named}{more}. "
                "Choose prefer=first or prefer=last"
            )
        gaps = found.open_gaps()
        if not found.answers and not gaps:
            raise ConfigError("the files hold no recorded web to merge; record with web.mode=record first")
        digest = write_pack(out, list(zip(stores, found.taken(), strict=True)), gaps, f"merge {Path(out).name}")
    return Merged(digest, len(found.answers), len(gaps), len(found.gaps) - len(gaps), conflicts)


class _Found:
    """Entries and gaps of several stores, by tool and key, and which store's entry is chosen."""

    def __init__(self, stores: Sequence[Store], prefer: str) -> None:
        self.stores = stores
        self.answers: dict[tuple[str, str], list[tuple[int, str]]] = {}
        self.gaps: dict[tuple[str, str], Gap] = {}
        self._chosen = -1 if prefer == "last" else 0
        for number, store in enumerate(stores):
            entries, gaps = store.listing(WEB_TOOLS)
            for tool, key, digest in entries:
                self.answers.setdefault((tool, key), []).append((number, digest))
            for gap in gaps:
                self.gaps.setdefault((gap.tool, gap.key), gap)

    def taken(self) -> list[list[Entry]]:
        """Returns what is taken of each store, sorted."""
        taken: list[list[Entry]] = [[] for _ in self.stores]
        for (tool, key), answers in sorted(self.answers.items()):
            number, digest = answers[self._chosen]
            taken[number].append((tool, key, digest))
        return taken

    def open_gaps(self) -> list[Gap]:
        """Returns the gaps that no entry closes, sorted."""
        return [gap for place, gap in sorted(self.gaps.items()) if place not in self.answers]

    def conflicts(self, paths: Sequence[Path]) -> list[Conflict]:
        """Returns the requests with different answers, sorted."""
        found = []
        for place, answers in sorted(self.answers.items()):
            number, digest = answers[self._chosen]
            others = tuple(paths[other] for other, theirs in answers if theirs != digest)
            if others:
                (row,) = self.stores[number].rows([place])
                found.append(Conflict(place[0], request_of(row).text, place[1], paths[number], others))
        return found
