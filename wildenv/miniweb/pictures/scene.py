"""What a picture of the miniweb shows: a shot, its subjects and a seed for everything incidental.

A scene is a value. It does not hold pixels, captions or dates, and says nothing about how legible the result is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wildenv.miniweb.look import Look

SUBJECTS: dict[str, tuple[int, int]] = {
    "press": (1, 1),
    "lineup": (2, 4),
    "stage": (1, 2),
    "fan": (1, 1),
    "screenshot": (1, 1),
    "unrelated": (0, 0),
}
SHOTS: tuple[str, ...] = tuple(SUBJECTS)


@dataclass(frozen=True, slots=True)
class Scene:
    """One picture to draw.

    Attributes:
        shot: One of `SHOTS`.
        subjects: The things shown, left to right then top to bottom; `SUBJECTS[shot]` gives the (least, most) number.
        seed: Non-negative integer; chooses background, layout, light and clutter.

    Raises:
        ValueError: Unknown shot, wrong number of subjects, or a negative seed.
    """

    shot: str
    subjects: tuple[Look, ...]
    seed: int

    def __post_init__(self) -> None:
        if self.shot not in SUBJECTS:
            raise ValueError(f"shot must be one of {', '.join(SHOTS)}; got {self.shot!r}")
        least, most = SUBJECTS[self.shot]
        if not least <= len(self.subjects) <= most:
            raise ValueError(f"shot {self.shot!r} takes {least} to {most} subjects, got {len(self.subjects)}")
        if self.seed < 0:
            raise ValueError(f"seed must be non-negative, got {self.seed}")

    def to_dict(self) -> dict[str, Any]:
        """Returns the scene as a JSON-ready mapping."""
        return {"shot": self.shot, "subjects": [look.to_dict() for look in self.subjects], "seed": self.seed}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Scene:
        """Builds a scene from `to_dict` output.

        Raises:
            ValueError: A key is missing or unknown, or a value is invalid.
        """
        if set(data) != {"shot", "subjects", "seed"}:
            raise ValueError(f"a scene needs exactly the keys seed, shot, subjects; got {sorted(data)}")
        subjects = tuple(Look.from_dict(item) for item in data["subjects"])
        return cls(shot=data["shot"], subjects=subjects, seed=int(data["seed"]))
