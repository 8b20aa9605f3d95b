"""The tasks of a run as the rows that TRL draws from."""

from __future__ import annotations

from datasets import Dataset

from wildenv.errors import ConfigError
from wildenv.task import TaskSource


def task_rows(tasks: TaskSource, limit: int | None, system_prompt: str) -> Dataset:
    """Returns a row a task: ``prompt``, whose user message the environment fills on reset, and ``task_id``.

    Args:
        tasks: Where they come from.
        limit: How many, from the first; None is all.
        system_prompt: First message of the chat.

    Raises:
        ConfigError: If there are none, or the limit is below 1.
    """
    if limit is not None and limit < 1:
        raise ConfigError(f"limit={limit} must be at least 1; null is all tasks")
    count = len(tasks) if limit is None else min(limit, len(tasks))
    if not count:
        raise ConfigError("tasks: there are none to train on")
    prompt = [{"role": "system", "content": system_prompt}, {"role": "user", "content": ""}]
    return Dataset.from_dict({"prompt": [prompt] * count, "task_id": [tasks[index].id for index in range(count)]})
