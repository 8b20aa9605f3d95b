"""The settings a miniweb is generated from.

Two equal configurations give the same world, byte for byte, under the same `GENERATOR_VERSION`. Nothing here generates anything.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import date, timedelta
from random import Random
from typing import Any

from wildenv.errors import ConfigError

GENERATOR_VERSION = 3
"""Raised whenever the same configuration would give another world; a cached world of another version is not used."""

SPLITS = ("train", "validation", "test")


@dataclass(frozen=True, slots=True)
class WorldConfig:
    """What world to generate.

    Attributes:
        seed: Chooses everything the other settings leave open.
        events: Number of events, spread evenly over the days; one task each.
        start: Day of the first event.
        end: Day of the last event.
        train_until: Last day of the training split.
        validation_until: Last day of the validation split; what is later is the test split.
        novelty: 0..1. How new the target is to the search engine: fewer pictures, captions that name only the launch.
        crowding: 0..1. How many pictures of older versions, siblings and namesakes compete with the target.
        entanglement: 0..1. How many targets are shown only together with others; 1 means about 60 %.

    Raises:
        ConfigError: If a setting is out of range; the message names it.
    """

    seed: int = 0
    events: int = 2400
    start: date = date(2026, 1, 1)
    end: date = date(2026, 7, 31)
    train_until: date = date(2026, 5, 31)
    validation_until: date = date(2026, 6, 30)
    novelty: float = 0.5
    crowding: float = 0.5
    entanglement: float = 0.5

    def __post_init__(self) -> None:
        if not 1 <= self.events <= 20_000:
            raise ConfigError(f"env.world.events={self.events} must be in 1..20000")
        if self.seed < 0:
            raise ConfigError(f"env.world.seed={self.seed} must not be negative")
        if not self.start <= self.train_until < self.validation_until < self.end:
            raise ConfigError("env.world: dates must satisfy start <= train_until < validation_until < end")
        for name in ("novelty", "crowding", "entanglement"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"env.world.{name}={getattr(self, name)} must be in 0..1")

    def day_of(self, number: int) -> date:
        """Returns the day of an event, by its number from 0."""
        days = (self.end - self.start).days + 1
        return self.start + timedelta(days=number * days // self.events)

    def split_of(self, day: date) -> str:
        """Returns the split an event of that day belongs to."""
        return "train" if day <= self.train_until else "validation" if day <= self.validation_until else "test"

    def stream(self, *parts: object) -> Random:
        """Returns a random stream of its own for the parts; the same in every process."""
        return Random(":".join(str(part) for part in ("miniweb", self.seed, *parts)))  # strings are seeded by SHA-512

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON values."""
        return {k: v.isoformat() if isinstance(v, date) else v for k, v in asdict(self).items()}
