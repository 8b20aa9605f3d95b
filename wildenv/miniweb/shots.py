"""Draws which pictures of an event are on the web, under which captions and on which pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from random import Random

from wildenv.miniweb import captions
from wildenv.miniweb.articles import Draft
from wildenv.miniweb.casting import Cast, Member
from wildenv.miniweb.config import WorldConfig


@dataclass(frozen=True, slots=True)
class Shot:
    """A picture before it has an address; `published` is what it shows, `day` the truth."""

    page: str
    caption: str
    shot: str
    shown: tuple[Member, ...]
    day: date
    published: str | None


class Photographer:
    """Takes the pictures of one event.

    Args:
        config: The world's settings.
        cast: Who takes part.
        pages: The event's pages by role.
        rng: Where everything is drawn from.
    """

    def __init__(self, config: WorldConfig, cast: Cast, pages: Mapping[str, Draft], rng: Random) -> None:
        self._config = config
        self._cast = cast
        self._pages = pages
        self._rng = rng
        self._shots: list[Shot] = []

    def take(self) -> list[Shot]:
        """Returns the pictures of the event, in random order."""
        self._target()
        self._siblings()
        self._others()
        self._rng.shuffle(self._shots)
        return self._shots

    def _target(self) -> None:
        cast, rng = self._cast, self._rng
        if cast.entangled:
            for _ in range(2):
                self._launch("lineup", self._row(cast.target))
            if self._often(0.25):
                self._launch("stage", self._pair(cast.target))
        else:
            self._launch("press", (cast.target,))
            if self._often(0.5):
                self._launch("lineup", self._row(cast.target))
            else:
                self._launch(rng.choice(("fan", "stage", "press")), (cast.target,))
            if self._often(0.25):
                self._launch("screenshot", (cast.target,))
        if not cast.coded and cast.sparse:
            for _ in range(4):
                if cast.entangled:
                    self._launch("lineup", self._row(cast.target))
                else:
                    self._launch(rng.choice(("fan", "press", "stage")), (cast.target,))
        elif self._often(0.5 * (1 - self._config.novelty)):
            self._launch("stage", self._pair(cast.target) if cast.entangled else (cast.target,))
        for _ in range(rng.randint(2, 3)):
            self._add("gallery", captions.GALLERY, "press", (cast.target,))

    def _siblings(self) -> None:
        cast, rng = self._cast, self._rng
        few = cast.sparse and not cast.coded
        for sibling in cast.siblings[: 2 if few else None]:
            self._launch("press", (sibling,))
        if not few:
            for _ in range(rng.randint(0, 2)):
                self._launch(rng.choice(("fan", "stage", "press")), (rng.choice(cast.siblings),))
            if self._often(0.35):
                self._launch("lineup", cast.siblings)
            if self._often(0.4):
                self._add(self._place("fan"), captions.VISITORS, "unrelated", ())

    def _others(self) -> None:
        cast, rng, crowding = self._cast, self._rng, self._config.crowding
        if cast.sparse:
            older, namesakes = int(self._often(0.25)), 0
        else:
            older = rng.randint(round(1 + 2 * crowding), round(2 + 6 * crowding))
            namesakes = rng.randint(1, 1 + round(3 * crowding))
        for _ in range(older):
            old = rng.choice(cast.older)
            shot = rng.choice(("press", "press", "fan", "stage"))
            self._add("retrospective", captions.OLDER, shot, (old,), year=old.label)
        words = {"maker": cast.namesake_maker, "noun": cast.namesake_category.noun}
        for _ in range(namesakes):
            self._add("namesake", captions.NAMESAKE, rng.choice(("press", "fan")), (cast.namesake,), **words)
        if cast.rumour is not None:
            self._add("rumour", captions.RUMOUR, rng.choice(("press", "screenshot", "fan")), (cast.rumour,))
        self._add(rng.choice(("news", "retrospective")), captions.UNRELATED, "unrelated", ())

    def _often(self, chance: float) -> bool:
        return self._rng.random() < chance

    def _row(self, member: Member) -> tuple[Member, ...]:
        """The member and one to three siblings, in random order."""
        siblings = self._rng.sample(self._cast.siblings, self._rng.randint(1, min(3, len(self._cast.siblings))))
        return self._mixed([member, *siblings])

    def _pair(self, member: Member) -> tuple[Member, ...]:
        return self._mixed([member, self._rng.choice(self._cast.siblings)])

    def _mixed(self, members: list[Member]) -> tuple[Member, ...]:
        return tuple(self._rng.sample(members, len(members)))

    def _place(self, shot: str) -> str:
        if shot in ("fan", "stage") and "fans" in self._pages:
            return "fans"
        return self._rng.choice(("official", "official", "news"))

    def _launch(self, shot: str, shown: tuple[Member, ...]) -> None:
        """A picture of the launch, captioned alike whoever is in it."""
        crowd = shot in ("fan", "stage")
        templates: tuple[str, ...]
        if self._cast.coded:
            templates = captions.CROWD if crowd else captions.LAUNCH
        else:
            templates = captions.CROWD_LINE if crowd else captions.LAUNCH_LINE
        self._add(self._place(shot), templates, shot, shown[:4])

    def _add(self, page: str, templates: tuple[str, ...], shot: str, shown: tuple[Member, ...], **words: str) -> None:
        draft = self._pages[page]
        text = captions.caption(self._rng, templates, **{**self._cast.words, **words})
        dated = page == "gallery" or self._rng.random() < 0.65
        published = draft.day.isoformat() if dated else None
        self._shots.append(Shot(page, text, shot, shown, draft.day, published))
