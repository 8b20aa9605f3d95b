"""Writes the rows of a world from its settings, event by event.

Only the ground-truth pictures are drawn here, for their digests; all others are left as scenes.
"""

from __future__ import annotations

import hashlib

from PIL import Image

from wildenv.images import digest_of, encode
from wildenv.miniweb.articles import write_pages
from wildenv.miniweb.casting import Cast, Names, draw_cast
from wildenv.miniweb.config import WorldConfig
from wildenv.miniweb.look import Look
from wildenv.miniweb.pictures import Scene, render
from wildenv.miniweb.prompts import draw_prompt
from wildenv.miniweb.records import Entity, EventRecord, PageRecord, PictureRecord
from wildenv.miniweb.shots import Photographer
from wildenv.miniweb.tables import Tables
from wildenv.miniweb.taxonomy import CATEGORIES
from wildenv.progress import progress as shown


def draw_truth(look: Look, seed: int) -> Image.Image:
    """Draws the clean picture that is the ground truth of a task."""
    return render(Scene("press", (look,), seed)).image


class Author:
    """Writes the rows of one world.

    Args:
        config: Its settings.
    """

    def __init__(self, config: WorldConfig) -> None:
        self._config = config
        self._names = Names.draw(config)
        self._entities: list[Entity] = []
        self._pages: list[PageRecord] = []
        self._pictures: list[PictureRecord] = []
        self._events: list[EventRecord] = []

    def write(self, progress: bool = False) -> Tables:
        """Writes all events; call it once.

        Args:
            progress: Whether to show a progress bar.
        """
        events = self._config.events
        for number in shown(range(events), "miniweb", events, "events", hidden=not progress):
            self._event(draw_cast(self._config, self._names, number))
        return Tables(tuple(self._entities), tuple(self._pages), tuple(self._pictures), tuple(self._events))

    def _event(self, cast: Cast) -> None:
        config, number = self._config, cast.number
        rng = config.stream("event", number)
        first = len(self._entities)
        at = {member.key: first + i for i, member in enumerate(cast.members)}
        self._entities += [Entity(f"e{number:05d}-{m.key}", number, m.role, m.name, m.look) for m in cast.members]

        drafts = write_pages(cast, rng)
        page_at = {draft.role: len(self._pages) + i for i, draft in enumerate(drafts)}
        self._pages += [
            PageRecord(f"https://{d.host}/{d.slug}", d.title, d.text, d.published, d.day.isoformat(), number, d.role)
            for d in drafts
        ]
        shots = Photographer(config, cast, {draft.role: draft for draft in drafts}, rng).take()
        for i, shot in enumerate(shots):
            name = hashlib.sha256(f"{config.seed}:{number}:{i}".encode()).hexdigest()[:10]
            host = self._pages[page_at[shot.page]].url.split("/")[2]
            self._pictures.append(
                PictureRecord(
                    f"https://{host}/{name}.png",
                    shot.caption,
                    page_at[shot.page],
                    shot.published,
                    shot.day.isoformat(),
                    shot.shot,
                    tuple(at[member.key] for member in shot.shown),
                    rng.randrange(2**31),
                )
            )
        words = {name: cast.words[name] for name in ("maker", "line", "edition", "noun")}
        prompt, rubric = draw_prompt(rng, cast.category.outdoors, **words)
        seed = rng.randrange(2**31)
        truth = digest_of(encode(draw_truth(cast.target.look, seed)))
        self._events.append(
            EventRecord(
                day=cast.day.isoformat(),
                category=CATEGORIES.index(cast.category),
                maker=cast.maker,
                line=cast.line,
                edition=cast.edition,
                code=cast.code,
                target=at["target"],
                prompt=prompt,
                rubric=rubric,
                seed=seed,
                truth=truth,
            )
        )
