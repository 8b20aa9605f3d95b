"""Locate: find out from text what the thing is, before looking at any picture (Savanna, section 3.1)."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field

from agents.lci.facts import ATTRIBUTES, Facts, is_hearsay, whole_sentences
from agents.lci.pixels import Sighting
from agents.subject import Subject
from agents.turns import Hit, failed, read_hits, read_page, say
from wildenv.messages import Message
from wildenv.policy import Observation

Turn = Generator[Message, Observation, Observation]

_LOOKING_BACK = ("looking back", "history", "so far", "archive")


@dataclass(slots=True)
class Dossier:
    """What the policy knows of the thing, and where more may stand.

    Attributes:
        subject: The thing as the request names it.
        today: ISO date of the request, or an empty string.
        facts: What is known.
        unread: Pages worth reading, best first.
        seen: Addresses of results that were looked at.
        distrusted: Addresses of pages that spread hearsay or are older than the request.
        queries: Text queries not asked yet, best first.
        sightings: What each picture shows, by image id; a picture is read once.
    """

    subject: Subject
    today: str
    facts: Facts = field(default_factory=Facts)
    unread: list[Hit] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    distrusted: set[str] = field(default_factory=set)
    queries: list[str] = field(default_factory=list)
    sightings: dict[str, list[Sighting]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        name, proper = self.subject.name, self.subject.proper
        self.queries = list(dict.fromkeys([name, f"{proper} {self.subject.edition} launch report".replace("  ", " ")]))

    @property
    def image_query(self) -> str:
        """The query for pictures: the name of the launch where text gave one, else the name in the request."""
        return self.facts.launch or self.subject.name

    @property
    def open(self) -> bool:
        """Whether there is anything left to read or ask."""
        return bool(self.unread or self.queries)


def learn_more(dossier: Dossier, lead: str) -> Turn:
    """Takes the next step in text: reads the best page not read yet, or else asks the next query.

    Args:
        dossier: What is known; takes in what is found.
        lead: What is said before the step is named.
    """
    if not dossier.unread:
        query = dossier.queries.pop(0)
        observation = yield say(f"{lead} Search text.", "text_search", queries=[query])
        for hit in sorted(read_hits(observation), key=lambda hit: (_distrusted(hit, dossier), hit.published != dossier.today)):
            _take_in(dossier, hit)
        return observation
    hit = dossier.unread.pop(0)
    observation = yield say(
        f"{lead} Read page [{hit.number}].", "web_fetch", url=hit.url, prompt="launch name, colours, pattern, emblem"
    )
    if not failed(observation):
        dossier.facts.learn(read_page(observation), f"[{hit.number}]", dossier.subject.name.split(), hearsay=False)
    return observation


def summary(dossier: Dossier) -> str:
    """States the facts and where each was found, and what was not believed."""
    facts = dossier.facts
    told = [f"{name} {facts.known[name]} {facts.sources[name]}" for name in ATTRIBUTES if name in facts.known]
    if facts.launch:
        told.append(f"launch: {facts.launch_words} {facts.launch}")
    doubts = [f"{name} {word}" for name, word in facts.doubted.items() if facts.known.get(name) != word]
    text = f"Facts: {', '.join(told) or 'none yet'}."
    return f"{text} A leak says {', '.join(doubts)}: not trusted." if doubts else text


def _take_in(dossier: Dossier, hit: Hit) -> None:
    if hit.url in dossier.seen or _about_another(hit, dossier):
        return
    dossier.seen.add(hit.url)
    hearsay = _distrusted(hit, dossier)
    dossier.facts.learn(whole_sentences(hit.snippet), f"[{hit.number}]", dossier.subject.name.split(), hearsay)
    if hearsay:
        dossier.distrusted.add(hit.url)
    else:
        dossier.unread.append(hit)


def _about_another(hit: Hit, dossier: Dossier) -> bool:
    """Whether a result is about another line, another version, or earlier versions."""
    text = f"{hit.title} {hit.snippet}"
    looking_back = any(words in text.lower() for words in _LOOKING_BACK)
    return looking_back or not dossier.subject.named_in(text)


def _distrusted(hit: Hit, dossier: Dossier) -> bool:
    return is_hearsay(hit.title) or bool(dossier.today and hit.published and hit.published < dossier.today)
