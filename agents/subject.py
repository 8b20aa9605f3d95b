"""What a request asks for: reads the name of the thing out of the words of a task prompt.

It goes by capital letters and word order, as a person who does not know the thing would; it knows no list of names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_OPENERS = frozenset("A An The I Draw Show Make Paint Picture Please Put Place Give Create Render It This Today".split())
_STOPS = frozenset(
    "in on at by under over after during beside next close near with that which was is just it and should presented".split()
)
_EDITION = (
    re.compile(r"\bthe ([\w-]+) version\b"),
    re.compile(r"\bI want the ([\w-]+) "),
)
_WORD = re.compile(r"[\w'-]+|[.,:;!?]")


@dataclass(frozen=True, slots=True)
class Subject:
    """The thing a request asks for.

    Attributes:
        proper: Its capitalised name, for example ``"Kobex Lamir"``.
        noun: What kind of thing it is, for example ``"race car"``.
        edition: Which version, or an empty string.
    """

    proper: str
    noun: str
    edition: str

    @property
    def name(self) -> str:
        """The whole name."""
        parts = [self.proper]
        if self.edition and self.edition.lower() not in self.proper.lower().split():
            parts.append(self.edition)
        return " ".join([*parts, self.noun]).strip()

    def named_in(self, text: str) -> bool:
        """Whether a text names the line the thing belongs to (the last word of its proper name) and, if known, its edition."""
        words = {word.lower() for word in _WORD.findall(text)}
        proper = [word.lower() for word in self.proper.split()]
        wanted = [word for word in proper if word != self.edition.lower()][-1:] + ([self.edition.lower()] if self.edition else [])
        return all(word in words for word in wanted)


def read_subject(prompt: str) -> Subject:
    """Reads the subject of a task prompt.

    Raises:
        ValueError: If no capitalised name stands in it.
    """
    tokens = _WORD.findall(prompt)
    run = _proper_run(tokens)
    if run is None:
        raise ValueError(f"no name in the request: {prompt!r}")
    start, end = run
    proper = tokens[start:end]
    tail = _until_stop(tokens[end:])
    edition = next((found.group(1) for pattern in _EDITION if (found := pattern.search(prompt))), "")
    if not edition and len(proper) > 2:
        edition = proper[-1]
    if not edition and len(tail) > 1:
        edition, tail = tail[0], tail[1:]
    if not tail and edition:
        after = re.search(rf"\b{re.escape(edition)} ((?:[\w'-]+ ?)+)", prompt)
        tail = _until_stop(_WORD.findall(after.group(1))) if after else []
    return Subject(" ".join(proper), " ".join(tail), edition)


def _proper_run(tokens: list[str]) -> tuple[int, int] | None:
    best: tuple[int, int] | None = None
    start = 0
    while start < len(tokens):
        end = start
        while end < len(tokens) and tokens[end][:1].isupper() and tokens[end] not in _OPENERS:
            end += 1
        if end > start and (best is None or end - start > best[1] - best[0]):
            best = (start, end)
        start = max(end, start + 1)
    return best


def _until_stop(tokens: list[str]) -> list[str]:
    tail: list[str] = []
    for token in tokens:
        if token in _STOPS or not token[0].isalnum():
            break
        tail.append(token)
    return tail
