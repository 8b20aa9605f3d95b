"""A provenance for tests: pictures by address, and what they show."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from wildenv.errors import ConfigError, ToolError
from wildenv.images import Box
from wildenv.judges.base import Reference
from wildenv.task import Task

TASK = Task("t", "Draw the thing.", date(2026, 7, 1))
LEFT: Box = (50, 100, 450, 900)
RIGHT: Box = (550, 100, 950, 900)
FULL: Box = (100, 100, 900, 900)
TINY: Box = (100, 100, 200, 900)


@dataclass(frozen=True)
class Thing:
    id: str
    event: int


@dataclass(frozen=True)
class Placed:
    entity: str
    role: str
    event: int
    box: Box


@dataclass(frozen=True)
class Picture:
    depicted: tuple[Placed, ...]
    shot: str = "press"
    size: tuple[int, int] = (200, 200)
    digest: str = "d"


def target(box: Box = FULL) -> Placed:
    return Placed("right", "target", 1, box)


def other(role: str, box: Box = FULL, event: int = 1) -> Placed:
    return Placed(f"wrong-{role}", role, event, box)


class Album:
    """Provenance of pictures named by their addresses."""

    def __init__(self, **pictures: Picture) -> None:
        self.pictures = pictures

    def provenance(self, url: str) -> Picture:
        if url not in self.pictures:
            raise ToolError(f"there is no picture at {url}")
        return self.pictures[url]

    def target(self, task_id: str) -> Thing:
        if task_id != "t":
            raise ConfigError(f"task {task_id!r} is unknown")
        return Thing("right", 1)


def whole(url: str, box: Box = (0, 0, 1000, 1000)) -> Reference:
    return Reference(f"IMG_{url}", "x", "d", url, box)
