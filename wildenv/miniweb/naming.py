"""Invented names: pronounceable, unique within a world, and never an ordinary word of the articles.

The syllables are few on purpose, so that a small tokenizer learns them as pieces.
"""

from __future__ import annotations

from random import Random

from wildenv.errors import ConfigError

_OPEN = tuple(consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeio")
_CLOSED = (
    *("ban", "bex", "dor", "dra", "fen", "gal", "kin", "kor", "lan", "lix", "mar", "mir"),
    *("nar", "nex", "ren", "rin", "ros", "sol", "tan", "tez", "tor", "vak", "ven", "zan"),
)


class Namer:
    """Hands out names, each once.

    Args:
        rng: Where they are drawn from.
    """

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._used: set[str] = set()

    def name(self, syllables: int) -> str:
        """Returns a new capitalised name of that many syllables.

        Raises:
            ConfigError: If the names of that length are nearly used up.
        """
        for _ in range(1000):
            parts = [self._rng.choice(_OPEN) for _ in range(syllables - 1)] + [self._rng.choice(_CLOSED)]
            name = "".join(parts).capitalize()
            if name not in self._used and len(set(parts)) == len(parts):
                self._used.add(name)
                return name
        raise ConfigError("env.world.events asks for more names than there are; lower it")
