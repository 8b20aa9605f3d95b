"""Reads task files of Gen-Searcher (RL), KnowGen-Bench and GenEvolve-Bench as tasks of ours.

Their files have no dates, so that the issue day is for the caller to name: it decides what the cutoff hides. Only known fields
are taken over; others may hold answers and are counted, not kept.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Any

from PIL import Image
from tqdm import tqdm

from wildenv.errors import ConfigError, DataError
from wildenv.files import new_file
from wildenv.images import ImageStore, decode
from wildenv.messages import storable
from wildenv.strict_json import loads
from wildenv.task import Task

IMAGES = "images"
_TRUTH = ("gt_image", "ground_truth", "target_image", "reference_image")
_KNOWN = ("id", "prompt", "question", "category", "difficulty", "eval_type", "split", "meta", *_TRUTH)


@dataclass(frozen=True, slots=True)
class ImportedTasks:
    """What was read.

    Attributes:
        tasks: How many tasks were written.
        pictures: How many of them have a ground-truth picture.
        ignored: How often each field that was not taken over is there.
    """

    tasks: int
    pictures: int
    ignored: Mapping[str, int]


def import_tasks(
    path: str | Path,
    out: str | Path,
    source: str,
    issued: date,
    split: str = "",
    root: str | Path | None = None,
    force: bool = False,
) -> ImportedTasks:
    """Reads a task file into ``out``, ground-truth pictures into ``images/`` beside it.

    Args:
        path: A JSON array or JSON lines.
        out: The tasks file that is written.
        source: Name of the benchmark; it leads the ids, so that files can be put together.
        issued: The day all tasks are issued on.
        split: Kept with each task that does not name its own.
        root: What the paths of pictures are relative to; the file's folder if None.
        force: Whether a tasks file that is there is replaced; it is there until all tasks are read.

    Raises:
        ConfigError: If a path is wrong, the tasks file is there or cannot be written, or the source has no name.
        DataError: If a row is no task, or its picture is missing; the message names row and field.
    """
    path, out = Path(path), Path(out)
    if not source.strip():
        raise ConfigError("--source is empty; name the benchmark the tasks come from")
    with new_file(out, "--out", force) as part:
        tasks, ignored = _tasks(
            path, ImageStore(out.parent / IMAGES), source, issued, split, path.parent if root is None else Path(root)
        )
        lines = (json.dumps(task.to_dict(), ensure_ascii=False, allow_nan=False) + "\n" for task in tasks.values())
        part.write_text(storable("".join(lines)), encoding="utf-8")
    return ImportedTasks(len(tasks), sum(bool(task.ground_truth) for task in tasks.values()), dict(sorted(ignored.items())))


def _tasks(
    path: Path, store: ImageStore, source: str, issued: date, split: str, below: Path
) -> tuple[dict[str, Task], Counter[str]]:
    ignored: Counter[str] = Counter()
    tasks: dict[str, Task] = {}
    for number, row in enumerate(tqdm(read_rows(path), desc=f"import {path.name}", unit="task", disable=None, leave=False)):
        try:
            task = _task(row, source, issued, split, number, below, store)
        except DataError as error:
            raise DataError(f"{path.name}, row {number + 1}: {error}") from error
        if task.id in tasks:
            raise DataError(f"{path.name}, row {number + 1}: id {task.meta['source_id']!r} is there twice")
        tasks[task.id] = task
        ignored.update(name for name in row if name not in _KNOWN)
    return tasks, ignored


def public_task(row: Mapping[str, Any], source: str, issued: date, number: int, split: str = "") -> dict[str, Any]:
    """Returns the public half of a row's task: prompt, domain, category, and where it comes from.

    Raises:
        DataError: Naming the field that cannot be used.
    """
    prompt = row.get("prompt") or row.get("question")
    if not isinstance(prompt, str) or not prompt.strip():
        raise DataError("it has no text under 'prompt' or 'question'")
    inner = row.get("meta")
    meta: Mapping[str, Any] = inner if isinstance(inner, Mapping) else {}
    source_id = row.get("id", number)
    if isinstance(source_id, bool) or not isinstance(source_id, str | int) or source_id == "":
        raise DataError(f"'id' is {source_id!r}, neither a text nor a whole number")
    kept: dict[str, Any] = {"source": source, "source_id": source_id}
    for name in ("category", "difficulty", "eval_type", "split"):
        value = row.get(name) or meta.get(name) or (split if name == "split" else None)
        if value:
            kept[name] = value
    category = str(kept.get("category", ""))
    domain = str(kept.get("eval_type", category))
    return Task(f"{source}-{source_id}", prompt, issued, domain, category, MappingProxyType(kept)).public()


def read_rows(path: Path) -> Sequence[Mapping[str, Any]]:
    """Reads a JSON array or JSON lines.

    Raises:
        ConfigError: If the file is missing or cannot be read.
        DataError: If it is no JSON in UTF-8, holds no rows, or one is no object.
    """
    if not path.is_file():
        raise ConfigError(f"{path}: no such file")
    try:
        text = path.read_text(encoding="utf-8-sig")
        # A text may hold line breaks of Unicode; only this one ends a line of JSON.
        rows = loads(text) if text.lstrip().startswith("[") else [loads(line) for line in text.split("\n") if line.strip()]
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror or error})") from error
    except UnicodeError as error:
        raise DataError(f"{path.name} is not UTF-8 text; save it as UTF-8") from error
    except ValueError as error:
        raise DataError(f"{path.name} is neither a JSON array nor JSON lines: {error}") from error
    if not rows:
        raise DataError(f"{path.name}: there is no row in it")
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise DataError(f"{path.name}, row {number}: it is {type(row).__name__}, not an object")
    return rows


def read_picture(root: Path, given: Any) -> Image.Image | None:
    """Reads a picture by its path below a folder; None if there is no such file.

    Raises:
        DataError: If it cannot be read.
    """
    try:
        return decode((root / given).read_bytes()) if isinstance(given, str) and (root / given).is_file() else None
    except OSError as error:
        raise DataError(f"{given[:80]!r} cannot be read ({error.strerror or error})") from error


def _task(row: Mapping[str, Any], source: str, issued: date, split: str, number: int, root: Path, store: ImageStore) -> Task:
    public = public_task(row, source, issued, number, split)
    named = next((name for name in _TRUTH if row.get(name)), None)
    if named is None:
        return Task.from_dict(public)
    given = row[named]
    try:
        picture = read_picture(root, given)
    except DataError as error:
        raise DataError(f"{named!r}: {error}") from error
    if picture is None:
        raise DataError(
            f"{named!r} is {given!r}, and there is no such file under {root}; unpack the pictures there or give --root"
        )
    digest = store.put(picture)
    return Task.from_dict({**public, "ground_truth": [digest]})
