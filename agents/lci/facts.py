"""Facts about how a thing looks, read out of sentences, each with where it was said and whether it is to be believed.

Reading is by grammar, not by list: a colour word belongs to the nearest word that says which part it colours. Sentences about
other versions, earlier years and hearsay are recognised by how they are put.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from agents.lci.colours import COLOUR_WORDS

ATTRIBUTES = ("main", "trim", "pattern", "accent", "emblem")
"""What a fact can be about, in the order it is told."""

_PARTS = {
    "main": ("body", "main", "base", "surface", "colour"),
    "trim": ("trim", "details", "edges", "parts"),
    "accent": ("emblem", "badge"),
}
_PART_OF = {word: part for part, words in _PARTS.items() for word in words}
_PATTERNS = {
    "plain": "plain",
    "striped": "stripes",
    "stripes": "stripes",
    "hooped": "hoops",
    "hoops": "hoops",
    "checked": "checks",
    "checks": "checks",
    "dotted": "dots",
    "dots": "dots",
    "halved": "halves",
    "halves": "halves",
    "sash": "sash",
    "chevron": "chevron",
}
_ELSEWHERE = re.compile(r"\b(instead|mix it up|only the|other version|back in|was|were|earlier|last year|\d{4})\b", re.IGNORECASE)
_HEARSAY = re.compile(r"\b(leaks?|leaked|rumou?rs?|unconfirmed|insiders?|expected|is this)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_WORD = re.compile(r"[A-Za-z]+")
_LAUNCH_NAME = re.compile(r"\b([a-z]+ (?:called|name|as|under|at)) ((?:[A-Z][\w-]*)(?: [A-Z][\w-]*)*)\.?$")


@dataclass(slots=True)
class Facts:
    """What is known of the thing.

    Attributes:
        known: Attribute to word.
        sources: Attribute to where it was said.
        launch: Name of the launch that pictures may be filed under.
        launch_words: The words before it, as the source has them.
        doubted: Attribute to a word that hearsay claims.
    """

    known: dict[str, str] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    launch: str = ""
    launch_words: str = ""
    doubted: dict[str, str] = field(default_factory=dict)

    def learn(self, text: str, source: str, names: Iterable[str], hearsay: bool) -> list[str]:
        """Takes in a text; the first trusted statement about an attribute stays.

        Args:
            text: Prose.
            source: Where it stands, for the record.
            names: Words of the thing's own name, which are no launch name.
            hearsay: Whether the text as a whole is not to be believed.

        Returns:
            The attributes that are new; ``"launch"`` if the name of the launch is.
        """
        new = []
        own = {name.lower() for name in names}
        for sentence in _SENTENCE.split(text.replace("\n", " ")):
            if hearsay or is_hearsay(sentence):
                self.doubted.update(read_statement(sentence))
                continue
            launch = _LAUNCH_NAME.search(sentence.strip())
            if launch and not self.launch and not own & {word.lower() for word in launch.group(2).split()}:
                self.launch_words, self.launch = launch.groups()
                new.append("launch")
            if _ELSEWHERE.search(sentence):
                continue
            for attribute, word in read_statement(sentence).items():
                if attribute not in self.known:
                    self.known[attribute] = word
                    self.sources[attribute] = source
                    new.append(attribute)
        return new

    @property
    def telling(self) -> bool:
        """Whether enough is known to tell look-alikes apart: the main colour, and the trim or the pattern."""
        return "main" in self.known and ("trim" in self.known or "pattern" in self.known)

    def wanted(self) -> str:
        """Returns the looks to search for, in the order in which pictures are described; "any" where nothing is known."""
        return " ".join(self.known.get(name, "any") for name in ("main", "trim", "pattern"))


def whole_sentences(snippet: str) -> str:
    """Returns a snippet without the sentence that the search engine cut off at its end."""
    return re.sub(r"(?:(?<=[.!?])|\A)[^.!?]*(?:\.\.\.|…)\s*\Z", "", snippet).strip()


def is_hearsay(text: str) -> bool:
    """Whether a text presents itself as leak, rumour or guess."""
    return bool(_HEARSAY.search(text))


def read_statement(sentence: str) -> dict[str, str]:
    """Reads what a sentence says about looks: attribute to word."""
    words = [word.lower() for word in _WORD.findall(sentence)]
    found: dict[str, str] = {}
    parts = [(index, _PART_OF[word]) for index, word in enumerate(words) if word in _PART_OF]
    for index, word in enumerate(words):
        if word in COLOUR_WORDS:
            attribute = _part_of(index, parts, words)
            found.setdefault(attribute, word)
            if attribute == "accent" and index + 1 < len(words) and index > 0 and words[index - 1] in ("a", "an"):
                found.setdefault("emblem", words[index + 1])
        elif word in _PATTERNS and ("pattern" in words or "trim" in words):
            found.setdefault("pattern", _PATTERNS[word])
    return found


def _part_of(index: int, parts: list[tuple[int, str]], words: list[str]) -> str:
    following = words[index + 1] if index + 1 < len(words) else ""
    if following in _PART_OF:
        return _PART_OF[following]
    before = [part for position, part in parts if position < index]
    if before:
        return before[-1]
    if "pattern" in words:
        return "trim"
    if parts and not any(word in COLOUR_WORDS for word in words[index + 1 : parts[0][0]]):
        return parts[0][1]
    return "main"
