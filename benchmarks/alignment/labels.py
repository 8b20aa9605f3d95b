"""What people said, in a CSV file, and the file they are given to fill in.

Columns: ``task_id``; ``judgment``, one of ``search``, ``identity``, ``context``; ``item``, which is empty for ``search``, the
name of the target for ``identity`` (or empty where there is one only), the number of the condition from 1 for ``context``;
``label``: pass or fail for ``search``, 1, 0.2 or 0 for ``identity``, true or false for ``context``. Further columns are for the
people and are not read. A row without a label has not been judged yet. Commas or semicolons separate.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

from wildenv.errors import ConfigError, DataError

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

_YES = {"pass": True, "true": True, "yes": True, "1": True, "fail": False, "false": False, "no": False, "0": False}

_FORMULA = ("=", "+", "-", "@")

Key = tuple[str, str, str]
"""Task id, judgment, item."""


def read_labels(path: str | Path) -> dict[Key, str | None]:
    """Reads a file.

    Returns:
        The label of each row, one of `CLASSES`; None where there is none yet.

    Raises:
        ConfigError: If there is no such file.
        DataError: If a row cannot be read or two say the same thing; the message names the line.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError(f"human={path} cannot be read ({error.strerror}); template=FILE.csv writes one to fill in") from error
    head = text.split("\n", 1)[0]
    rows = csv.DictReader(text.splitlines(), delimiter=";" if ";" in head and "," not in head else ",")
    missing = [name for name in COLUMNS if name not in (rows.fieldnames or ())]
    if missing:
        raise DataError(f"human={path} has no column {missing[0]!r}; it needs {', '.join(COLUMNS)}")
    labels: dict[Key, str | None] = {}
    for row in rows:
        where = f"human={path}, line {rows.line_num}"
        given = {name: _unquoted(" ".join((row[name] or "").split())) for name in COLUMNS}
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
                writer.writerow((*map(_plain, key), "", _plain(about), pictures))
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


def _plain(text: str) -> str:
    """Returns text that a spreadsheet does not take for a formula: some of it was written by strangers."""
    return f"'{text}" if text[:1] in _FORMULA else text


def _unquoted(text: str) -> str:
    """Undoes `_plain`."""
    return text[1:] if text[:1] == "'" and text[1:2] in _FORMULA else text
