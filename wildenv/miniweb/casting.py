"""Draws who takes part in an event, and how hard the event is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from wildenv.miniweb.config import WorldConfig
from wildenv.miniweb.look import Look
from wildenv.miniweb.lookalikes import draw_look, draw_older, draw_rumour, draw_siblings
from wildenv.miniweb.naming import Namer
from wildenv.miniweb.taxonomy import BY_SUBCATEGORY, CATEGORIES, SUBCATEGORIES, Category

MAKERS_PER_SUBCATEGORY = 12
VENUES = ("Hall", "Park", "Pier", "Arena", "House", "Square")


@dataclass(frozen=True, slots=True)
class Names:
    """The names a world hands out: makers by subcategory; a line and a launch name by event."""

    makers: dict[str, tuple[str, ...]]
    lines: tuple[str, ...]
    codes: tuple[str, ...]

    @classmethod
    def draw(cls, config: WorldConfig) -> Names:
        """Draws the names of a world."""
        namer = Namer(config.stream("names"))
        makers = {name: tuple(namer.name(2) for _ in range(MAKERS_PER_SUBCATEGORY)) for name in SUBCATEGORIES}
        lines = tuple(namer.name(3) for _ in range(config.events))
        return cls(makers, lines, tuple(namer.name(3) for _ in range(config.events)))


@dataclass(frozen=True, slots=True)
class Member:
    """One entity of an event.

    Attributes:
        key: Unique within the event, for example ``sibling-1``.
        role: As in `records.Entity`.
        name: Full name.
        label: Edition of a sibling, year of an older version; empty otherwise.
        look: How it looks.
    """

    key: str
    role: str
    name: str
    label: str
    look: Look


@dataclass(frozen=True, slots=True)
class Cast:
    """An event before anything is written about it.

    Attributes:
        number: Of the event.
        day: Of the launch.
        category: What is launched.
        maker: Who launches it.
        line: Product line.
        edition: The version the task asks for.
        code: Name of the launch: a code name, or a venue.
        venue: Whether `code` is a venue.
        coded: Whether captions of the launch give its name only, and not the line's (novelty).
        sparse: Whether hardly anything else carries the line's name (no crowding).
        entangled: Whether the target is never shown alone.
        target: The version asked for.
        siblings: Other versions of the same day.
        older: Earlier versions.
        namesake: Something else of the same name.
        namesake_maker: Who makes it.
        namesake_category: What it is.
        rumour: What a leak wrongly claims; None if there was no leak.
    """

    number: int
    day: date
    category: Category
    maker: str
    line: str
    edition: str
    code: str
    venue: bool
    coded: bool
    sparse: bool
    entangled: bool
    target: Member
    siblings: tuple[Member, ...]
    older: tuple[Member, ...]
    namesake: Member
    namesake_maker: str
    namesake_category: Category
    rumour: Member | None

    @property
    def members(self) -> tuple[Member, ...]:
        """Everyone, the target first."""
        rumour = () if self.rumour is None else (self.rumour,)
        return (self.target, *self.siblings, *self.older, self.namesake, *rumour)

    @property
    def words(self) -> dict[str, str]:
        """What sentences and captions are filled with."""
        return {
            "maker": self.maker,
            "line": self.line,
            "edition": self.edition,
            "noun": self.category.noun,
            "code": self.code,
            "made_by": self.category.maker,
        }


def draw_cast(config: WorldConfig, names: Names, number: int) -> Cast:
    """Draws the cast of an event; depends on the configuration and the number only."""
    rng = config.stream("cast", number)
    day = config.day_of(number)
    subcategory = SUBCATEGORIES[number % len(SUBCATEGORIES)]
    category = rng.choice(BY_SUBCATEGORY[subcategory])
    maker, line = rng.choice(names.makers[subcategory]), names.lines[number]
    edition, *others = rng.sample(category.editions, len(category.editions))
    venue = rng.random() < 0.4
    code = f"{names.codes[number]} {rng.choice(VENUES)}" if venue else names.codes[number]
    wordmark = line.upper() if rng.random() < 0.7 else ""

    look = draw_look(rng, category.kind, wordmark)
    count = 2 + (rng.random() < config.crowding) + (rng.random() < config.crowding / 2)
    siblings = tuple(
        Member(f"sibling-{i}", "sibling", f"{maker} {line} {other} {category.noun}", other, sibling)
        for i, (other, sibling) in enumerate(zip(others, draw_siblings(rng, look, count), strict=False), 1)
    )
    older = tuple(
        Member(f"older-{i}", "older", f"{maker} {line} {edition} {category.noun} {day.year - i}", str(day.year - i), old)
        for i, old in enumerate(draw_older(rng, look, 2), 1)
    )
    other_subcategory = rng.choice(SUBCATEGORIES)
    other_category = rng.choice([c for c in BY_SUBCATEGORY[other_subcategory] if c.noun != category.noun] or [CATEGORIES[0]])
    other_maker = rng.choice([name for name in names.makers[other_subcategory] if name != maker])
    namesake = Member(
        "namesake",
        "namesake",
        f"{other_maker} {line} {other_category.noun}",
        "",
        draw_look(rng, other_category.kind, wordmark),
    )
    rumour = None
    if rng.random() < 0.7:
        wrong = draw_rumour(rng, look, [sibling.look for sibling in siblings])
        rumour = Member("rumour", "rumour", f"{maker} {line} {edition} {category.noun}", "", wrong)
    return Cast(
        number=number,
        day=day,
        category=category,
        maker=maker,
        line=line,
        edition=edition,
        code=code,
        venue=venue,
        coded=rng.random() < config.novelty**1.15,
        sparse=rng.random() < (1 - config.crowding) ** 1.5,
        entangled=rng.random() < 0.6 * config.entanglement,
        target=Member("target", "target", f"{maker} {line} {edition} {category.noun}", edition, look),
        siblings=siblings,
        older=older,
        namesake=namesake,
        namesake_maker=other_maker,
        namesake_category=other_category,
        rumour=rumour,
    )
