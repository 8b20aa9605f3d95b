"""All rows of a world, and their way to JSON and back."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from typing import Any

from wildenv.miniweb.look import Look
from wildenv.miniweb.records import Entity, EventRecord, PageRecord, PictureRecord


@dataclass(frozen=True, slots=True)
class Tables:
    """The rows of a world; they refer to each other by number."""

    entities: tuple[Entity, ...]
    pages: tuple[PageRecord, ...]
    pictures: tuple[PictureRecord, ...]
    events: tuple[EventRecord, ...]

    def to_json(self) -> bytes:
        """Returns the rows as JSON lists."""
        rows = {
            "entities": [[e.id, e.event, e.role, e.name, *astuple(e.look)] for e in self.entities],
            "pages": [[p.url, p.title, p.text, p.published, p.day, p.event, p.role] for p in self.pages],
            "pictures": [[p.url, p.caption, p.page, p.published, p.day, p.shot, p.entities, p.seed] for p in self.pictures],
            "events": [astuple(e) for e in self.events],
        }
        return json.dumps(rows, separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Tables:
        """Reads `to_json` back."""
        with _without_collector():
            rows: dict[str, list[list[Any]]] = json.loads(data)
            return cls(
                tuple(Entity(key, event, role, name, Look(*look)) for key, event, role, name, *look in rows["entities"]),
                tuple(PageRecord(*row) for row in rows["pages"]),
                tuple(
                    PictureRecord(url, caption, page, published, day, shot, tuple(entities), seed)
                    for url, caption, page, published, day, shot, entities, seed in rows["pictures"]
                ),
                tuple(
                    EventRecord(day, category, maker, line, edition, code, target, prompt, tuple(rubric), seed, truth)
                    for day, category, maker, line, edition, code, target, prompt, rubric, seed, truth in rows["events"]
                ),
            )


@contextmanager
def _without_collector() -> Iterator[None]:
    """Pauses garbage collection, which would walk the growing tables over and over (half of the loading time)."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
