"""A task, and the sources tasks come from.

A task has a public half (what the agent is told) and a hidden half (what judges need). The hidden half never reaches an
observation, an `info`, a log line or the prompt of a training row; this module only offers `public()` for that purpose and
cannot stop a caller who reads the hidden fields and prints them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

from wildenv.errors import ConfigError, DataError
from wildenv.strict_json import loads

CUTOFF_DAYS = 3
"""Days after the issue date that the web stays visible (Savanna, section 2.2)."""

_PUBLIC = ("id", "prompt", "issued", "domain", "subcategory", "meta")
_HIDDEN = ("target", "ground_truth", "rubric", "facts")


@dataclass(frozen=True, slots=True)
class Task:
    """One request for a picture of something new (Savanna, section 2.1).

    Attributes:
        id: Unique within its source.
        prompt: What the user asks for.
        issued: The day τ on which the prompt is issued.
        domain: One of the benchmark's domains.
        subcategory: One of its subcategories.
        meta: Public extras, JSON values only.
        target: Hidden. Name of the entity to draw; several are separated by " + ".
        ground_truth: Hidden. Digests of pictures that show the target.
        rubric: Hidden. Context criteria of the prompt, one sentence each.
        facts: Hidden. Identity-bearing facts, for example ``("main=teal", "emblem=star")``.
    """

    id: str
    prompt: str
    issued: date
    domain: str = ""
    subcategory: str = ""
    meta: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    target: str = ""
    ground_truth: tuple[str, ...] = ()
    rubric: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        # A read-only mapping has no pickle of its own; vector environments and Ray send tasks between processes.
        return Task.from_dict, (self.to_dict(),)

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def cutoff(self) -> date:
        """Last day whose pages the agent may see: three days after `issued`."""
        return self.issued + timedelta(days=CUTOFF_DAYS)

    def public(self) -> dict[str, Any]:
        """Returns the half of the task that may be shown to an agent, as JSON values."""
        return {k: v for k, v in self.to_dict().items() if k in _PUBLIC}

    def to_dict(self) -> dict[str, Any]:
        """Returns the whole task, hidden half included, as JSON values."""
        return {
            "id": self.id,
            "prompt": self.prompt,
            "issued": self.issued.isoformat(),
            "domain": self.domain,
            "subcategory": self.subcategory,
            "meta": dict(self.meta),
            "target": self.target,
            "ground_truth": list(self.ground_truth),
            "rubric": list(self.rubric),
            "facts": list(self.facts),
        }

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Task:
        """Reads a task back.

        Raises:
            DataError: If a field is missing, unknown or of the wrong type.
        """
        if not isinstance(row, Mapping):
            raise DataError(f"a task is an object with the fields {[*_PUBLIC, *_HIDDEN]}, not {type(row).__name__}")
        unknown = sorted(set(row) - set(_PUBLIC) - set(_HIDDEN))
        if unknown:
            raise DataError(f"task {row.get('id')!r} has unknown fields {unknown}; put extras under 'meta'")
        try:
            task = cls(
                id=_string(row, "id"),
                prompt=_string(row, "prompt"),
                issued=_day(row["issued"]),
                domain=_string(row, "domain", ""),
                subcategory=_string(row, "subcategory", ""),
                meta=MappingProxyType(dict(row.get("meta") or {})),
                target=_string(row, "target", ""),
                **{name: _strings(row, name) for name in ("ground_truth", "rubric", "facts")},
            )
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"task {row.get('id')!r} cannot be read: {type(error).__name__}: {error}") from error
        if not task.id or not task.prompt.strip():
            raise DataError(f"task {task.id!r} needs a non-empty 'id' and 'prompt'")
        return task


@runtime_checkable
class TaskSource(Protocol):
    """Anything tasks come from: an ordered, finite collection with ids."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Task: ...

    def by_id(self, task_id: str) -> Task:
        """Returns the task of that id, or raises `ConfigError`."""
        ...


class TaskList:
    """A `TaskSource` held in memory.

    Args:
        tasks: The tasks, in order; ids must be unique.
        name: Shown in error messages.

    Raises:
        ConfigError: If there is no task, or two share an id.
    """

    def __init__(self, tasks: Iterable[Task], name: str = "tasks") -> None:
        self._tasks = tuple(tasks)
        self._by_id = {task.id: task for task in self._tasks}
        self.name = name
        if not self._tasks:
            raise ConfigError(f"{name}: there is no task in it")
        if len(self._by_id) != len(self._tasks):
            raise ConfigError(f"{name}: two tasks share an id")

    def __len__(self) -> int:
        return len(self._tasks)

    def __getitem__(self, index: int) -> Task:
        return self._tasks[index]

    def __iter__(self) -> Iterator[Task]:
        return iter(self._tasks)

    def by_id(self, task_id: str) -> Task:
        """Returns the task of that id.

        Raises:
            ConfigError: If there is none.
        """
        if task_id not in self._by_id:
            raise ConfigError(f"{self.name}: no task {task_id!r}; the first ids are {list(self._by_id)[:5]}")
        return self._by_id[task_id]


def load_jsonl(path: str | Path) -> TaskList:
    """Reads a task file: one `Task.to_dict` a line.

    Raises:
        ConfigError: If the file is missing or holds no task.
        DataError: If a line is not a task; the message names the line.
    """
    path = Path(path)
    if not path.is_file():
        raise ConfigError(f"tasks={path}: no such file")
    tasks = []
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                tasks.append(Task.from_dict(loads(line.decode("utf-8-sig"))))
            except UnicodeError as error:
                raise DataError(f"{path.name}, line {number}: it is not UTF-8 text; save the file as UTF-8") from error
            except (ValueError, DataError) as error:
                raise DataError(f"{path.name}, line {number}: {error}") from error
    return TaskList(tasks, name=str(path))


def load_hf_dataset(path: str, split: str = "test") -> TaskList:
    """Reads tasks from a Hugging Face dataset on the hub or in a local folder; needs the `datasets` package.

    Raises:
        ConfigError: If `datasets` is not installed.
        DataError: If a row is not a task.
    """
    try:
        from datasets import load_dataset
    except ImportError as error:
        raise ConfigError(f"tasks={path}: reading a Hugging Face dataset needs `pip install datasets`") from error

    rows: Sequence[Mapping[str, Any]] = load_dataset(path, split=split)
    return TaskList((Task.from_dict(row) for row in rows), name=f"{path}[{split}]")


def _day(value: Any) -> date:
    # Readers of tables turn text that looks like a date into one.
    if isinstance(value, date):
        return value.date() if isinstance(value, datetime) else value
    return date.fromisoformat(value)


def _string(row: Mapping[str, Any], name: str, default: str | None = None) -> str:
    value = row[name] if default is None else row.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise TypeError(f"{name!r} must be a string, not {type(value).__name__}")
    return value


def _strings(row: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = row.get(name) or ()
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise TypeError(f"{name!r} must be a list of strings")
    return tuple(value)
