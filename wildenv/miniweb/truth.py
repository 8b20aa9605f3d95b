"""Ground truth of the miniweb's tasks: the clean pictures, which are on no page."""

from __future__ import annotations

from PIL import Image

from wildenv.errors import ConfigError, DataError
from wildenv.miniweb.world import MiniWorld
from wildenv.task import Task


class WorldTruth:
    """Implements `wildenv.judges.base.Truth` over a world.

    Args:
        world: The world whose tasks are judged.
    """

    def __init__(self, world: MiniWorld) -> None:
        self._world = world

    def pictures(self, task: Task) -> list[Image.Image]:
        """Draws the clean picture of the task's target; raises `DataError` if the task is not of this world."""
        try:
            return [self._world.ground_truth(task.id)]
        except ConfigError as error:
            raise DataError(str(error)) from error
