"""What is known of tasks besides their episodes: targets, rubrics, which pictures show a target, ground truth.

Episodes hold the public half of a task only. The rest is looked up where it is to be had: in the miniweb a run was played in,
in a file of tasks, in a file of labelled pictures. What nobody knows is None, never a guess.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PIL import Image

from wildenv.errors import ConfigError, ToolError
from wildenv.files import read_text
from wildenv.miniweb.world import MiniWorld
from wildenv.strict_json import loads
from wildenv.task import TaskSource

Labels = Mapping[str, Mapping[str, bool]]
"""By task id and digest of a downloaded picture: whether it shows the task's target."""


class Knowledge:
    """Answers questions about tasks.

    Args:
        world: The miniweb that the tasks are of.
        tasks: The tasks with their hidden half.
        labels: Labelled pictures; they win over the world.
    """

    def __init__(self, world: MiniWorld | None = None, tasks: TaskSource | None = None, labels: Labels | None = None) -> None:
        self._world = world
        self._tasks = {} if tasks is None else {tasks[index].id: tasks[index] for index in range(len(tasks))}
        self._labels = labels or {}

    def check(self, task: Mapping[str, Any]) -> None:
        """Makes sure that a task is of the world that is asked about it.

        Raises:
            ConfigError: If the world holds no such task, or another one under its id.
        """
        if self._world is None:
            return
        _, event = self._world.event_of(str(task["id"]))
        if event.prompt != task["prompt"]:
            raise ConfigError(
                f"task {task['id']} asks for something else in the miniweb of seed {self._world.config.seed} with "
                f"{len(self._world.events)} events; set world={{seed: ..., events: ...}} to the one the episodes were played in, "
                "or world=null to do without"
            )

    def target(self, task_id: str) -> str | None:
        """Returns the name of what a task asks for."""
        if self._world is not None:
            return self._world.target(task_id).name
        return self._tasks[task_id].target if task_id in self._tasks else None

    def rubric(self, task_id: str) -> tuple[str, ...]:
        """Returns the context criteria of a task; empty if they are not known."""
        if self._world is not None:
            return self._world.event_of(task_id)[1].rubric
        return self._tasks[task_id].rubric if task_id in self._tasks else ()

    def shows(self, task_id: str, digest: str, url: str) -> bool | None:
        """Whether a downloaded picture shows the target of a task.

        Args:
            task_id: The task.
            digest: Of the picture before the pixel policy.
            url: Where it came from.
        """
        label = self._labels.get(task_id, {}).get(digest)
        if label is not None or self._world is None:
            return label
        try:
            return self._world.event_of(task_id)[1].target in self._world.picture(url).entities
        except ToolError:
            return None

    def ground_truth(self, task_id: str) -> Image.Image | None:
        """Draws the ground truth of a task of the miniweb; None elsewhere, where verdicts name it."""
        return None if self._world is None else self._world.ground_truth(task_id)


def read_labels(path: str | Path) -> Labels:
    """Reads labelled pictures.

    Args:
        path: A JSON object ``{task id: {digest: true | false}}``, or JSON lines ``{"task": ..., "digest": ..., "value": ...}`` as
            a judge's verdicts on single pictures are recorded; the value is 0, 1, or null for unscored, which is left out.

    Raises:
        ConfigError: If it is neither.
    """
    form = "{task id: {digest: true or false}} or JSON lines of task, digest and value"
    text = read_text(path, "labels")
    try:
        labels: dict[str, dict[str, bool]] = {}
        if Path(path).suffix == ".jsonl":
            rows = [loads(line) for line in text.split("\n") if line.strip()]
            for row in rows:
                if row["value"] is not None:
                    labels.setdefault(str(row["task"]), {})[str(row["digest"])] = _flag(row["value"])
        else:
            for task, pictures in loads(text).items():
                labels[str(task)] = {str(digest): _flag(value) for digest, value in pictures.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"labels={path}: give {form} ({error})") from error
    return labels


def _flag(value: Any) -> bool:
    if value not in (0, 1):
        raise ValueError(f"{value!r} is neither true nor false")
    return bool(value)
