"""The world: events, pages, pictures and tasks, generated from a seed.

Only the ground-truth pictures are drawn when a world is generated; every other picture is drawn when it is asked for. The world
knows which picture shows what and what is dated when, and hides nothing: hiding is the business of the provider (which returns
search results and pages only) and of the web client (which applies the cutoff).
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from datetime import date
from functools import cached_property, lru_cache
from types import MappingProxyType

from PIL import Image

from wildenv.errors import ConfigError, ToolError
from wildenv.images import digest_of, encode
from wildenv.miniweb.articles import FACTS
from wildenv.miniweb.author import Author, draw_truth
from wildenv.miniweb.config import GENERATOR_VERSION, SPLITS, WorldConfig
from wildenv.miniweb.index import Bm25Index
from wildenv.miniweb.markup import page_html
from wildenv.miniweb.pictures import Scene, render
from wildenv.miniweb.records import Depicted, Entity, EventRecord, PageRecord, PictureRecord, Provenance
from wildenv.miniweb.tables import Tables
from wildenv.miniweb.taxonomy import CATEGORIES, Category
from wildenv.task import Task, TaskList

DRAWN_PICTURES = 512
"""How many drawn pictures are kept in memory."""


class MiniWorld:
    """A generated web and its tasks.

    Use `generate`, or `wildenv.miniweb.cache.load_world`, which generates once and keeps the result.

    Attributes:
        config: The settings it was generated from.
        entities: What is drawn.
        pages: The pages, undated and after-cutoff ones included.
        pictures: The pictures; `page` is a number into `pages`, `entities` are numbers into `entities`.
        events: The events, in order of their days.
        digest: Stable name of the content: settings, generator version and all rows.
    """

    def __init__(
        self,
        config: WorldConfig,
        tables: Tables,
        digest: str,
        page_index: Bm25Index | None = None,
        picture_index: Bm25Index | None = None,
    ) -> None:
        self.config = config
        self.entities = tables.entities
        self.pages = tables.pages
        self.pictures = tables.pictures
        self.events = tables.events
        self.digest = digest
        self.page_index = page_index or Bm25Index([f"{page.title} {page.text}" for page in self.pages])
        self.picture_index = picture_index or Bm25Index([picture.caption for picture in self.pictures])
        self._page_numbers = {page.url: number for number, page in enumerate(self.pages)}
        self._picture_numbers = {picture.url: number for number, picture in enumerate(self.pictures)}
        self._drawn = lru_cache(maxsize=DRAWN_PICTURES)(self._draw)

    @classmethod
    def generate(cls, config: WorldConfig, progress: bool = False) -> MiniWorld:
        """Generates a world.

        Args:
            config: The settings.
            progress: Whether to show a progress bar.
        """
        tables = Author(config).write(progress)
        return cls(config, tables, content_digest(config, tables.to_json()))

    @property
    def tables(self) -> Tables:
        """The rows, to be stored."""
        return Tables(self.entities, self.pages, self.pictures, self.events)

    def tasks(self, split: str) -> TaskList:
        """Returns the tasks of a split, in order of their issue dates.

        Raises:
            ConfigError: If there is no such split, or no event falls into it.
        """
        if split not in SPLITS:
            raise ConfigError(f"miniweb: split {split!r} is not one of {', '.join(SPLITS)}")
        return TaskList((task for task in self._tasks if self.config.split_of(task.issued) == split), f"miniweb:{split}")

    @cached_property
    def _tasks(self) -> tuple[Task, ...]:
        return tuple(self._task(number) for number in range(len(self.events)))

    def _task(self, number: int) -> Task:
        event = self.events[number]
        category = CATEGORIES[event.category]
        target = self.entities[event.target]
        look = target.look.to_dict()
        return Task(
            id=task_id(number),
            prompt=event.prompt,
            issued=date.fromisoformat(event.day),
            domain=category.domain,
            subcategory=category.subcategory,
            meta=MappingProxyType({"web": "miniweb"}),
            target=target.name,
            ground_truth=(event.truth,),
            rubric=event.rubric,
            facts=tuple(f"{name}={look[name]}" for name in (*FACTS, "accent")),
        )

    def event_of(self, task_id: str) -> tuple[int, EventRecord]:
        """Returns the number of a task's event, and the event.

        Raises:
            ConfigError: If the task is not from a world of this size.
        """
        prefix, _, digits = task_id.partition("-")
        if prefix != "miniweb" or not digits.isdigit() or int(digits) >= len(self.events):
            raise ConfigError(f"task {task_id!r} is not from this miniweb (seed {self.config.seed}, {len(self.events)} events)")
        return int(digits), self.events[int(digits)]

    def category(self, event: EventRecord) -> Category:
        """Returns the category of an event."""
        return CATEGORIES[event.category]

    def target(self, task_id: str) -> Entity:
        """Returns the entity a task asks for."""
        return self.entities[self.event_of(task_id)[1].target]

    def ground_truth(self, task_id: str) -> Image.Image:
        """Draws the clean picture of a task's target, which is on no page."""
        _, event = self.event_of(task_id)
        return draw_truth(self.entities[event.target].look, event.seed)

    def page(self, url: str) -> PageRecord:
        """Returns a page.

        Raises:
            ToolError: If there is none under that address.
        """
        if url not in self._page_numbers:
            raise ToolError(f"there is no page at {url}")
        return self.pages[self._page_numbers[url]]

    def page_html(self, url: str) -> str:
        """Returns the HTML of a page; raises `ToolError` if there is none."""
        page = self.page(url)
        return page_html(page, [self.pictures[number] for number in self._pictures_of[self._page_numbers[url]]])

    @cached_property
    def _pictures_of(self) -> dict[int, list[int]]:
        numbers: dict[int, list[int]] = defaultdict(list)
        for number, picture in enumerate(self.pictures):
            numbers[picture.page].append(number)
        return numbers

    def picture(self, url: str) -> PictureRecord:
        """Returns the record of a picture.

        Raises:
            ToolError: If there is none under that address.
        """
        if url not in self._picture_numbers:
            raise ToolError(f"there is no picture at {url}")
        return self.pictures[self._picture_numbers[url]]

    def png(self, url: str) -> bytes:
        """Draws a picture; raises `ToolError` if there is none under that address."""
        self.picture(url)
        return self._drawn(url)[0]

    def provenance(self, url: str) -> Provenance:
        """Returns what a picture shows and where; raises `ToolError` if there is none under that address."""
        self.picture(url)
        return self._drawn(url)[1]

    def _draw(self, url: str) -> tuple[bytes, Provenance]:
        picture = self.picture(url)
        shown = [self.entities[number] for number in picture.entities]
        drawn = render(Scene(picture.shot, tuple(entity.look for entity in shown), picture.seed))
        png = encode(drawn.image)
        depicted = tuple(
            Depicted(entity.id, entity.role, entity.event, entity.look, box)
            for entity, box in zip(shown, drawn.boxes, strict=True)
        )
        return png, Provenance(url, digest_of(png), drawn.image.size, picture.shot, depicted)

    def kappa(self, task_id: str, k: int = 8) -> float:
        """Returns the retrieval confusion of a direct query: the share of its first `k` pictures without the target.

        The query is the target's name as the prompt gives it; pictures dated after the cutoff are left out (Savanna,
        section 2.2).
        """
        number, event = self.event_of(task_id)
        hits = self.visible_pictures(self.direct_query(task_id), k, self._tasks[number].cutoff)
        return sum(event.target not in picture.entities for picture in hits) / len(hits) if hits else 1.0

    def direct_query(self, task_id: str) -> str:
        """Returns the words that name the target in the prompt."""
        return self.target(task_id).name

    def visible_pictures(self, query: str, limit: int, cutoff: date) -> list[PictureRecord]:
        """Returns the first pictures for a query that carry no date after the cutoff."""
        last = cutoff.isoformat()
        wanted = limit + 8
        while True:
            found = self.picture_index.search(query, wanted)
            hits = [self.pictures[number] for number in found]
            kept = [picture for picture in hits if picture.published is None or picture.published <= last]
            if len(kept) >= limit or len(found) < wanted:
                return kept[:limit]
            wanted *= 2


def task_id(number: int) -> str:
    """Returns the id of an event's task."""
    return f"miniweb-{number:05d}"


def content_digest(config: WorldConfig, tables: bytes) -> str:
    """Returns the digest of a world: its settings, the generator's version and its rows."""
    head = json.dumps([GENERATOR_VERSION, config.to_dict()], sort_keys=True).encode()
    return hashlib.sha256(head + b"\n" + tables).hexdigest()
