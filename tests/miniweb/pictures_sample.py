"""Random looks and scenes for tests of drawing and reading."""

from __future__ import annotations

from random import Random

from wildenv.miniweb.look import EMBLEMS, KINDS, PALETTE, PATTERNS, SILHOUETTES, Look
from wildenv.miniweb.pictures import Scene

WORDMARKS = ("", "NOVA", "Kestrel 9", "ORBIT")


def random_look(rng: Random, kind: str | None = None, silhouette: str | None = None) -> Look:
    """A look of any kind, or of the given kind and silhouette."""
    kind = kind or rng.choice(KINDS)
    main, trim, accent = rng.sample(list(PALETTE), 3)
    silhouette = silhouette or rng.choice(SILHOUETTES[kind])
    return Look(kind, silhouette, main, trim, accent, rng.choice(PATTERNS), rng.choice(EMBLEMS), rng.choice(WORDMARKS))


def sibling(rng: Random, look: Look) -> Look:
    """A look that differs in one drawn attribute."""
    choices = {
        "silhouette": SILHOUETTES[look.kind],
        "main": tuple(PALETTE),
        "trim": tuple(PALETTE),
        "accent": tuple(PALETTE),
        "pattern": PATTERNS,
        "emblem": EMBLEMS,
    }
    taken = {look.main, look.trim, look.accent}
    name = rng.choice(sorted(choices))
    return Look.from_dict(
        {**look.to_dict(), name: rng.choice([v for v in choices[name] if v != getattr(look, name) and v not in taken])}
    )


def random_scene(rng: Random, shot: str, seed: int) -> Scene:
    """A scene of the given shot; where it shows several things, they are siblings."""
    if shot == "unrelated":
        return Scene(shot, (), seed)
    looks = [random_look(rng)]
    wanted = rng.randint(2, 4) if shot == "lineup" else rng.randint(1, 2) if shot == "stage" else 1
    while len(looks) < wanted:
        other = sibling(rng, rng.choice(looks))
        if other not in looks:
            looks.append(other)
    return Scene(shot, tuple(looks), seed)
