"""The rows a miniweb consists of: entities, pages, pictures, events; and the provenance of a picture.

Rows are plain values that go to JSON lists and back. They refer to each other by number, not by object.
"""

from __future__ import annotations

from dataclasses import dataclass

from wildenv.images import Box
from wildenv.miniweb.look import Look


@dataclass(frozen=True, slots=True)
class Entity:
    """Something that is drawn.

    Attributes:
        id: Unique in the world, for example ``e00012-target``.
        event: Number of its event.
        role: ``target``, ``sibling``, ``older``, ``namesake`` or ``rumour``, seen from the event's task.
        name: Its full name; for a rumour, of what the rumour claims to show.
        look: How it looks; for a rumour, how it does not.
    """

    id: str
    event: int
    role: str
    name: str
    look: Look


@dataclass(frozen=True, slots=True)
class PageRecord:
    """A page.

    Attributes:
        url: Its address.
        title: Its title.
        text: Main text; paragraphs are separated by blank lines.
        published: ISO date it shows, or None.
        day: ISO date it really appeared on; hidden.
        event: Number of its event.
        role: ``official``, ``news``, ``rumour``, ``retrospective``, ``namesake``, ``fans`` or ``gallery``; hidden.
    """

    url: str
    title: str
    text: str
    published: str | None
    day: str
    event: int
    role: str


@dataclass(frozen=True, slots=True)
class PictureRecord:
    """A picture on a page.

    Attributes:
        url: Its address.
        caption: What the engine shows as its title.
        page: Number of its page.
        published: ISO date it shows, or None.
        day: ISO date it really appeared on; hidden.
        shot: What kind of scene it is; hidden.
        entities: Numbers of the entities it shows; hidden.
        seed: Of the scene; hidden.
    """

    url: str
    caption: str
    page: int
    published: str | None
    day: str
    shot: str
    entities: tuple[int, ...]
    seed: int


@dataclass(frozen=True, slots=True)
class EventRecord:
    """An event and the hidden side of its task.

    Attributes:
        day: ISO date of the launch.
        category: Index into `taxonomy.CATEGORIES`.
        maker: Name of who launches it.
        line: Name of the product line.
        edition: Name of the version asked for.
        code: Name of the launch, known from text only.
        target: Number of the target entity.
        prompt: What the task asks for.
        rubric: Its conditions, one sentence each.
        seed: Of the clean picture that is the ground truth.
        truth: Digest of that picture.
    """

    day: str
    category: int
    maker: str
    line: str
    edition: str
    code: str
    target: int
    prompt: str
    rubric: tuple[str, ...]
    seed: int
    truth: str


@dataclass(frozen=True, slots=True)
class Depicted:
    """One entity in a picture.

    Attributes:
        entity: Its id.
        role: As in `Entity`.
        event: Number of the event it belongs to.
        look: How it looks here.
        box: Where it is, in 0..1000 of the picture.
    """

    entity: str
    role: str
    event: int
    look: Look
    box: Box


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a picture comes from.

    Attributes:
        url: Its address.
        digest: Of its pixels, as `wildenv.images.encode` writes them.
        size: ``(width, height)`` in pixels.
        shot: What kind of scene it is.
        depicted: What it shows.
    """

    url: str
    digest: str
    size: tuple[int, int]
    shot: str
    depicted: tuple[Depicted, ...]
