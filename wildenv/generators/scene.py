"""What a prompt asks to be seen around the target: a place, things next to it, a moment.

The compositor draws by it and the oracle generation judge checks conditions by it, so that both read a prompt alike. It knows the
words of the miniweb's requests (`wildenv.miniweb.prompts`) and no others: it neither guesses synonyms nor understands "not".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from wildenv.miniweb.prompts import INDOORS, MOMENTS, NEIGHBOURS, OUTDOORS

MAX_NEIGHBOURS = 2
"""A picture has room for so many things beside the target."""

_LEADING = re.compile(r"^(?:(?:in front of|in|on|by|at|under|during)\s+)?(?:an?\s+)?")
_WHOLE = frozenset({"during a storm"})
"""Phrases whose noun alone may be part of a product's name."""


@dataclass(frozen=True, slots=True)
class Scene:
    """The surroundings of the target, in the words of `wildenv.miniweb.prompts`.

    Attributes:
        place: Where it is; empty if the prompt does not say.
        neighbours: What is beside it, in the order of the prompt, at most `MAX_NEIGHBOURS`.
        moment: Time of day or weather; empty if the prompt does not say.
    """

    place: str = ""
    neighbours: tuple[str, ...] = ()
    moment: str = ""

    @property
    def indoors(self) -> bool:
        """Whether the place is a room."""
        return self.place in INDOORS

    def shows(self, wanted: Scene) -> bool:
        """Whether everything another scene names is in this one; a scene that names nothing is not shown by any."""
        if wanted == Scene():
            return False
        return (
            wanted.place in ("", self.place)
            and wanted.moment in ("", self.moment)
            and all(neighbour in self.neighbours for neighbour in wanted.neighbours)
        )


def scene_of(prompt: str) -> Scene:
    """Reads a prompt, or one condition of a rubric.

    A picture shows one place at one moment: the first that is named counts, so that naming them all is worth nothing.

    Args:
        prompt: Any text; what it does not say stays empty.
    """
    text = " ".join(prompt.lower().split())
    places, moments = _named(text, (*INDOORS, *OUTDOORS)), _named(text, MOMENTS)
    return Scene(
        places[0] if places else "",
        tuple(_named(text, NEIGHBOURS)[:MAX_NEIGHBOURS]),
        moments[0] if moments else "",
    )


def _named(text: str, phrases: tuple[str, ...]) -> list[str]:
    found = [(match.start(), phrase) for phrase in phrases if (match := _pattern(phrase).search(text))]
    return [phrase for _, phrase in sorted(found)]


@cache
def _pattern(phrase: str) -> re.Pattern[str]:
    if phrase in _WHOLE:
        words = re.sub(r"\\? an?\\? ", " (?:an?|the) ", re.escape(phrase))
    else:
        words = re.escape(_LEADING.sub("", phrase))
    return re.compile(rf"\b{words}\b")
