"""Corroborate: check every candidate against the facts, and the candidates against each other (Savanna, section 3.1)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agents.lci.facts import is_hearsay
from agents.lci.locate import Dossier
from agents.lci.pixels import Sighting, read
from agents.turns import Candidate

_YEAR = re.compile(r"\b(20\d\d)\b")
_READABLE = ("main", "trim", "pattern", "accent")
CLEAR = 200_000
"""A thing that fills this many millionths of a picture, alone, needs no crop."""

_WEIGHT = {"main": 3.0, "trim": 2.0, "pattern": 2.0, "accent": 1.0}


@dataclass(frozen=True, slots=True)
class Match:
    """A thing in a picture that agrees with the facts.

    Attributes:
        candidate: The picture.
        sighting: The thing.
        agreement: Weighted count of facts it agrees with, less those it contradicts.
        clashes: Facts it contradicts.
        alone: Whether nothing else stands in the picture.
    """

    candidate: Candidate
    sighting: Sighting
    agreement: float
    clashes: tuple[str, ...]
    alone: bool

    @property
    def looks(self) -> tuple[str | None, ...]:
        """What the thing looks like, for comparing it with others."""
        return self.sighting.main, self.sighting.trim, self.sighting.pattern


def group(candidates: list[Candidate], dossier: Dossier) -> list[list[Match]]:
    """Checks candidates against the facts, and groups what agrees by what it looks like; the best group first."""
    return _group([match for match in _matches(candidates, dossier) if match.sighting.legible and not match.clashes])


def nearest(candidates: list[Candidate], dossier: Dossier) -> Match | None:
    """Returns the thing that contradicts the facts least, for when nothing agrees with all of them."""
    return max(
        _matches(candidates, dossier), key=lambda match: (match.agreement, match.alone, size(match.sighting)), default=None
    )


def best_view(group: list[Match]) -> Match:
    """Returns the match to hand on: alone in its frame if one is, else where it is largest; the first of equals."""
    top = max(match.agreement for match in group)
    sure = [match for match in group if match.agreement >= top - _WEIGHT["accent"]]
    clear = [match for match in sure if match.alone and size(match.sighting) >= CLEAR]
    return clear[0] if clear else max(sure, key=lambda match: size(match.sighting))


def describe(candidates: list[Candidate], dossier: Dossier) -> str:
    """Says for every thing of every candidate, in the order shown, what it looks like and what speaks against it, then the id."""
    phrases = []
    for candidate in candidates:
        reason = rejected(candidate, dossier)
        doubt = f" ({reason})" if reason else ""
        looks = [looks_of(thing) for thing in _things(candidate, dossier)] or ["nothing"]
        phrases += [f"{look}{doubt} {candidate.id}" for look in looks]
    return "; ".join(phrases)


def looks_of(thing: Sighting) -> str:
    """Returns main colour, trim and pattern of a thing, as far as they can be read."""
    return " ".join(filter(None, (thing.main, thing.trim, thing.pattern)))


def rejected(candidate: Candidate, dossier: Dossier) -> str:
    """Returns why title and page speak against a candidate, or an empty string."""
    if is_hearsay(candidate.title) or candidate.page in dossier.distrusted:
        return "leak"
    year = _YEAR.search(candidate.title)
    if year and dossier.today and year.group(1) < dossier.today[:4]:
        return "older"
    words = {word.lower() for word in re.findall(r"[A-Za-z]+", candidate.title)}
    *makers, line = [word.lower() for word in dossier.subject.proper.split() if word.lower() != dossier.subject.edition.lower()]
    launch = {word.lower() for word in dossier.facts.launch.split()}
    if line in words and not words & set(makers) and not launch & words:
        return "other maker"
    return ""


def size(thing: Sighting) -> int:
    """Returns the area of a thing in millionths of the picture."""
    x1, y1, x2, y2 = thing.box
    return (x2 - x1) * (y2 - y1)


def _things(candidate: Candidate, dossier: Dossier) -> list[Sighting]:
    if candidate.id not in dossier.sightings:
        dossier.sightings[candidate.id] = [thing for thing in read(candidate.pixels) if thing.main]
    return dossier.sightings[candidate.id]


def _matches(candidates: list[Candidate], dossier: Dossier) -> list[Match]:
    matches = []
    for candidate in candidates:
        if not rejected(candidate, dossier):
            things = _things(candidate, dossier)
            matches += [_compare(candidate, thing, dossier.facts.known, alone=len(things) == 1) for thing in things]
    return matches


def _compare(candidate: Candidate, thing: Sighting, known: dict[str, str], alone: bool) -> Match:
    agreement, clashes = 0.0, []
    for name in _READABLE:
        seen, wanted = getattr(thing, name), known.get(name)
        if seen is None or wanted is None:
            continue
        if seen == wanted:
            agreement += _WEIGHT[name]
        else:
            agreement -= _WEIGHT[name]
            clashes.append(name)
    return Match(candidate, thing, agreement, tuple(clashes), alone)


def _group(matches: list[Match]) -> list[list[Match]]:
    groups: list[list[Match]] = []
    for match in sorted(matches, key=lambda match: -match.agreement):
        for group in groups:
            if all(a is None or b is None or a == b for a, b in zip(group[0].looks, match.looks, strict=True)):
                group.append(match)
                break
        else:
            groups.append([match])
    for group in groups:
        group.sort(key=lambda match: match.candidate.id)
    return sorted(groups, key=lambda group: (-max(m.agreement for m in group), -len(group)))
