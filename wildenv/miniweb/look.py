"""The identity-bearing appearance of one thing of the miniweb.

A `Look` is what a picture shows and what an article may describe. Two looks that differ in one attribute are siblings.
This module only names appearances: it does not draw (see `pictures`) and does not promise that every attribute can be
read at every size (an emblem in a distant stage photo cannot).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

PALETTE: dict[str, tuple[int, int, int]] = {
    "red": (212, 34, 44),
    "orange": (246, 134, 24),
    "yellow": (250, 214, 36),
    "lime": (158, 214, 48),
    "green": (22, 132, 66),
    "teal": (24, 184, 190),
    "blue": (36, 84, 206),
    "purple": (122, 48, 168),
    "pink": (242, 112, 184),
    "brown": (122, 74, 38),
}

SILHOUETTES: dict[str, tuple[str, ...]] = {
    "airliner": ("narrow", "jumbo"),
    "album": ("sleeve", "disc"),
    "bottle": ("slender", "flask", "jug"),
    "car": ("sedan", "hatch", "van"),
    "character": ("round", "horned", "eared"),
    "costume": ("cape", "armor", "robe"),
    "figure": ("robot", "knight"),
    "gown": ("ball", "column", "mermaid"),
    "handbag": ("tote", "clutch", "bucket"),
    "headset": ("goggles", "headphones"),
    "helmet": ("visor", "crested"),
    "hovercraft": ("pod", "wedge"),
    "jersey": ("short", "long", "vest"),
    "phone": ("bar", "fold"),
    "poster": ("tall", "wide"),
    "racecar": ("formula", "buggy"),
    "rocket": ("slim", "boosters", "shuttle"),
    "sculpture": ("totem", "arch", "wave"),
    "sneaker": ("low", "high"),
    "stadium": ("bowl", "dome"),
    "trophy": ("cup", "shield", "column"),
    "watch": ("round", "square"),
}
KINDS: tuple[str, ...] = tuple(SILHOUETTES)
PATTERNS: tuple[str, ...] = ("plain", "stripes", "hoops", "checks", "dots", "halves", "sash", "chevron")
EMBLEMS: tuple[str, ...] = ("star", "ring", "triangle", "diamond", "cross", "crescent", "bolt", "hexagon")
MAX_WORDMARK = 12


@dataclass(frozen=True, slots=True)
class Look:
    """Appearance of one drawn thing.

    Attributes:
        kind: One of `KINDS`.
        silhouette: One of `SILHOUETTES[kind]`.
        main: `PALETTE` name of the body colour, the largest coloured area.
        trim: `PALETTE` name of the pattern and of the fittings.
        accent: `PALETTE` name of the emblem.
        pattern: One of `PATTERNS`, drawn in the trim colour on the body.
        emblem: One of `EMBLEMS`, drawn in the accent colour on a white badge.
        wordmark: Printable text of at most `MAX_WORDMARK` characters, drawn where legible; may be empty.

    Raises:
        ValueError: An attribute is outside its vocabulary, or main, trim and accent are not three different colours.
    """

    kind: str
    silhouette: str
    main: str
    trim: str
    accent: str
    pattern: str
    emblem: str
    wordmark: str = ""

    def __post_init__(self) -> None:
        _require("kind", self.kind, KINDS)
        _require("silhouette", self.silhouette, SILHOUETTES[self.kind])
        for name in ("main", "trim", "accent"):
            _require(name, getattr(self, name), tuple(PALETTE))
        _require("pattern", self.pattern, PATTERNS)
        _require("emblem", self.emblem, EMBLEMS)
        if len({self.main, self.trim, self.accent}) < 3:
            raise ValueError(
                f"main, trim and accent must be three different colours, got {self.main}, {self.trim}, {self.accent}"
            )
        if not isinstance(self.wordmark, str) or len(self.wordmark) > MAX_WORDMARK or not self.wordmark.isprintable():
            raise ValueError(f"wordmark must be printable text of at most {MAX_WORDMARK} characters, got {self.wordmark!r}")

    def to_dict(self) -> dict[str, str]:
        """Returns the attributes as a JSON-ready mapping."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_dict(cls, data: Mapping[str, str]) -> Look:
        """Builds a look from `to_dict` output.

        Raises:
            ValueError: A key is missing or unknown, or a value is invalid.
        """
        names = {field.name for field in fields(cls)}
        if set(data) != names:
            raise ValueError(f"a look needs exactly the keys {sorted(names)}, got {sorted(data)}")
        return cls(**data)

    def differences(self, other: Look) -> tuple[str, ...]:
        """Names the attributes in which `other` differs, in field order; empty when the looks are equal."""
        return tuple(f.name for f in fields(self) if getattr(self, f.name) != getattr(other, f.name))


def _require(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}; got {value!r}")
