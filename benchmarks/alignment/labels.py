"""What people said, in a CSV file, and the file they are given to fill in.

Columns: ``task_id``; ``judgment``, one of ``search``, ``identity``, ``context``; ``item``, which is empty for ``search``, the
name of the target for ``identity`` (or empty where there is one only), the number of the condition from 1 for ``context``;
``label``: pass or fail for ``search``, 1, 0.2 or 0 for ``identity``, true or false for ``context``. Further columns are for the
people and are not read. A row without a label has not been judged yet. Commas or semicolons separate.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path

from benchmarks.spreadsheet import guarded, unguarded
from wildenv.errors import ConfigError, DataError
from wildenv.files import read_text

SEARCH, IDENTITY, CONTEXT = "search", "identity", "context"
CLASSES: dict[str, tuple[str, ...]] = {
    SEARCH: ("pass", "fail"),
    IDENTITY: ("1", "0.2", "0"),
    CONTEXT: ("true", "false"),
}
"""Labels of each judgment, in the order of tables."""

COLUMNS = ("task_id", "judgment", "item", "label")
HELP = ("about", "pictures")
"""Columns of the template that tell people what to look at."""

_ENCODING = "save it as UTF-8; in Excel: Save As, file type 'CSV UTF-8 (Comma delimited)'"

_YES = {"pass": True, "true": True, "yes": True, "1": True, "fail": False, "false": False, "no": False, "0": False}

Key = tuple[str, str, str]
"""Task id, judgment, item."""


def read_labels(path: str | Path) -> dict[Key, str | None]:
    """Reads a file.

    Returns:
        The label of each row, one of `CLASSES`; None where there is none yet.

    Raises:
        ConfigError: If there is no such file, or it is not UTF-8.
        DataError: If a row cannot be read or two say the same thing; the message names the line.
    """
    if not Path(path).is_file():
        raise ConfigError(f"human={path} cannot be read (there is no such file); template=FILE.csv writes one to fill in")
    text = read_text(path, "human", _ENCODING)
    try:
        return _labels(path, text)
    except csv.Error as error:
        raise DataError(f"human={path} is no CSV file that can be read: {error}") from error


def _labels(path: str | Path, text: str) -> dict[Key, str | None]:
    head = text.split("\n", 1)[0]
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=";" if ";" in head and "," not in head else ",")
    missing = [name for name in COLUMNS if name not in (rows.fieldnames or ())]
    if missing:
        raise DataError(f"human={path} has no column {missing[0]!r}; it needs {', '.join(COLUMNS)}")
    labels: dict[Key, str | None] = {}
    for row in rows:
        where = f"human={path}, line {rows.line_num}"
        given = {name: unguarded(" ".join((row[name] or "").split())) for name in COLUMNS}
        key = (given["task_id"], given["judgment"], item_key(given["item"]))
        if given["judgment"] not in CLASSES:
            raise DataError(f"{where}: judgment {given['judgment']!r} is not one of {', '.join(CLASSES)}")
        if key in labels:
            raise DataError(f"{where}: {key} is there twice; keep one label an item")
        labels[key] = _label(given["judgment"], given["label"], where)
    if not labels:
        raise DataError(f"human={path} has no rows")
    return labels


def write_template(path: str | Path, rows: Iterable[tuple[Key, str, str]]) -> int:
    """Writes a file to fill in and returns how many rows it has.

    Args:
        path: The file; must not exist, since it could hold somebody's work.
        rows: For each item its key, what is asked, and where the pictures are.

    Raises:
        ConfigError: If the file exists or cannot be written.
    """
    try:
        with Path(path).open("x", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow((*COLUMNS, *HELP))
            count = 0
            for key, about, pictures in rows:
                writer.writerow((*map(guarded, key), "", guarded(about), guarded(pictures)))
                count += 1
    except OSError as error:
        raise ConfigError(f"template={path} cannot be written ({error.strerror}); name a new file") from error
    return count


def item_key(item: str) -> str:
    """Returns an item as keys have it."""
    return " ".join(item.lower().split())


def _label(judgment: str, label: str, where: str) -> str | None:
    if not label:
        return None
    classes = CLASSES[judgment]
    if judgment == IDENTITY:
        found = {"1": "1", "1.0": "1", "0.2": "0.2", "0,2": "0.2", ".2": "0.2", "0": "0", "0.0": "0"}.get(label)
    else:
        known = _YES.get(label.lower())
        found = None if known is None else classes[0 if known else 1]
    if found is None:
        raise DataError(f"{where}: label {label!r} of {judgment} is not one of {', '.join(classes)}")
    return found
