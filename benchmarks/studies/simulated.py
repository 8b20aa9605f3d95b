"""The cutoff study on the miniweb: the web as of a day is simulated, and provenance says what shows a target."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from functools import lru_cache
from random import Random

from agents.numbers import whole
from benchmarks.studies.asof import AsOfProvider
from benchmarks.studies.hit_rate import Condition, Query
from wildenv.errors import ConfigError
from wildenv.miniweb.statistics import shows
from wildenv.miniweb.world import MiniWorld
from wildenv.task import TaskSource
from wildenv.web.client import WebClient
from wildenv.web.results import ImageHit

WORDS = ("name", "launch")


class SimulatedWeb:
    """Whom a simulated study asks, and what it takes for a hit.

    A repetition asks again and gets the same, since nothing in the miniweb is left to chance.

    Args:
        world: The world.
        undated: What the cutoff does with undated results.
    """

    def __init__(self, world: MiniWorld, undated: str) -> None:
        self._world = world
        self._undated = undated
        self._as_of = lru_cache(maxsize=None)(self._client)

    def web(self, condition: Condition, query: Query, repetition: int) -> WebClient:
        """Returns the web as it was when the condition asks."""
        return self._as_of(query.issued + timedelta(days=condition.days))

    def shows(self, query: Query, hit: ImageHit, client: WebClient) -> bool:
        """Whether a picture shows the target legibly."""
        _, event = self._world.event_of(query.task_id)
        return shows(self._world, self._world.picture(hit.url), event.target)

    def _client(self, day: date) -> WebClient:
        return WebClient(AsOfProvider(self._world, day), undated=self._undated)


def draw_queries(world: MiniWorld, tasks: TaskSource, limit: int, words: str, seed: int) -> list[Query]:
    """Draws the targets of a study.

    Args:
        world: The world.
        tasks: What to draw from.
        limit: How many; fewer if there are fewer.
        words: ``name``, the target as the prompt names it, or ``launch``, the name of its launch.
        seed: Of the draw.

    Raises:
        ConfigError: If `words` is neither, `limit` is below 1, or a task is not of this world.
    """
    if words not in WORDS:
        raise ConfigError(f"words={words!r} is not one of {', '.join(WORDS)}")
    whole("limit", limit)
    drawn: Sequence[int] = sorted(Random(f"cutoff study:{seed}").sample(range(len(tasks)), min(limit, len(tasks))))
    queries = []
    for number in drawn:
        task = tasks[number]
        _, event = world.event_of(task.id)
        queries.append(Query(task.id, world.direct_query(task.id) if words == "name" else event.code, task.issued))
    return queries
