"""Ground truth from a folder: the pictures that tasks name by digest."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from wildenv.errors import DataError
from wildenv.images import ImageStore
from wildenv.task import Task


class FolderTruth:
    """Implements `Truth` over an `ImageStore` folder; ``tasks.jsonl`` of a benchmark has its pictures under ``images/``.

    Args:
        folder: Of the pictures.
    """

    def __init__(self, folder: str | Path) -> None:
        self._store = ImageStore(folder)

    def pictures(self, task: Task) -> list[Image.Image]:
        """Returns the pictures in the order of the task's digests."""
        if not task.ground_truth:
            raise DataError(f"task {task.id} has no ground truth; judges that compare with it cannot score it")
        return [self._store.get(digest) for digest in task.ground_truth]
