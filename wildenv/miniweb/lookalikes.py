"""Draws the looks of an event: the target's, and those of everything that can be taken for it.

Every look-alike differs from the target in at least one attribute that pictures show. Whether a difference is legible depends on
the picture, not on this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from wildenv.miniweb.look import EMBLEMS, PALETTE, PATTERNS, SILHOUETTES, Look

_COLOURS = tuple(PALETTE)
_VALUES = {"main": _COLOURS, "trim": _COLOURS, "accent": _COLOURS, "pattern": PATTERNS, "emblem": EMBLEMS}
_SAME_MAIN: tuple[tuple[tuple[str, ...], int], ...] = (
    (("trim",), 3),
    (("pattern",), 4),
    (("trim", "pattern"), 3),
    (("accent", "emblem"), 1),
    (("trim", "emblem"), 2),
)
_OTHER_MAIN: tuple[tuple[tuple[str, ...], int], ...] = (
    (("main",), 4),
    (("main", "trim"), 3),
    (("main", "pattern"), 3),
    (("main", "trim", "emblem"), 1),
)


def draw_look(rng: Random, kind: str, wordmark: str) -> Look:
    """Draws a look of a kind."""
    main, trim, accent = rng.sample(_COLOURS, 3)
    silhouette = rng.choice(SILHOUETTES[kind])
    return Look(kind, silhouette, main, trim, accent, rng.choice(PATTERNS), rng.choice(EMBLEMS), wordmark)


def vary(rng: Random, look: Look, attributes: Sequence[str]) -> Look:
    """Changes every named attribute to another value."""
    for name in attributes:
        taken = {look.main, look.trim, look.accent} if _VALUES[name] is _COLOURS else {getattr(look, name)}
        value = rng.choice([value for value in _VALUES[name] if value not in taken])
        look = replace(look, **{name: value})
    return look


def draw_siblings(rng: Random, target: Look, count: int) -> list[Look]:
    """Draws the other versions launched the same day; the first has the target's main colour, the second another one."""
    looks: list[Look] = []
    while len(looks) < count:
        same = not looks or (len(looks) > 1 and rng.random() < 0.4)
        choices = _SAME_MAIN if same else _OTHER_MAIN
        if target.pattern == "plain":  # the trim of a plain body is small: never the only difference
            choices = tuple(choice for choice in choices if choice[0] not in (("trim",), ("trim", "emblem")))
        (attributes,) = rng.choices([names for names, _ in choices], [weight for _, weight in choices])
        look = vary(rng, target, attributes)
        if look not in looks:
            looks.append(look)
    return looks


def draw_older(rng: Random, target: Look, count: int) -> list[Look]:
    """Draws earlier versions: another main colour, and one or two more differences."""
    looks: list[Look] = []
    while len(looks) < count:
        look = vary(rng, target, ("main", *rng.sample(("trim", "pattern", "emblem"), rng.randint(1, 2))))
        if look not in looks:
            looks.append(look)
    return looks


def draw_rumour(rng: Random, target: Look, siblings: Sequence[Look]) -> Look:
    """Draws what a leak wrongly claims: another main or trim colour, in half of the cases that of a sibling."""
    name = rng.choice(("main", "main", "trim"))
    if rng.random() < 0.5:
        taken = (target.main, target.trim, target.accent)
        for sibling in siblings:
            if getattr(sibling, name) not in taken:
                return replace(target, **{name: getattr(sibling, name)})
    return vary(rng, target, (name,))
