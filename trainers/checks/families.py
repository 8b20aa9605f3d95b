"""Which model families can be trained here, by the chat templates that TRL brings: ``python -m trainers.preflight families``.

A template that a newer checkpoint brings itself may do better than the one in TRL; what counts for a run is the checkpoint's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import trl.chat_template_utils
from rich.console import Console
from rich.table import Table

from trainers.checks.rendering import Rendered, inspect

_FOLDER = Path(trl.chat_template_utils.__file__).parent / "chat_templates"
_REVISION = re.compile(r"_v(\d+)$")
_VARIANT = re.compile(r"_(?:v\d+|think|nothink)$")
_SAME = {"qwen2-vl": "qwen2_5_vl"}
"""Families whose template TRL keeps under the name of another."""


def names() -> list[str]:
    """Returns the bundled templates, those that are only patched for training left out."""
    return sorted(path.stem for path in _FOLDER.glob("*.jinja") if not path.stem.endswith("_training"))


def template(name: str) -> str:
    """Returns the source of a bundled template."""
    return (_FOLDER / f"{name}.jinja").read_text(encoding="utf-8")


def family(path: str) -> str | None:
    """Returns the bundled template of the family that a model's name tells, the newest revision; None if it tells none.

    Args:
        path: A hub id or a folder, such as ``Qwen/Qwen3-VL-8B-Instruct``.
    """
    wanted = path.rstrip("/").rpartition("/")[2].lower()
    known = {_base(name): name for name in sorted(names(), key=_age)}
    fitting = [base for base in known if re.match(_pattern(base), wanted)]
    if fitting:
        return known[max(fitting, key=len)]
    return next((name for start, name in _SAME.items() if wanted.startswith(start)), None)


def table() -> Iterator[tuple[str, Rendered]]:
    """Yields every bundled template with what it can do."""
    for name in names():
        yield name, inspect(template(name))


def show(console: Console) -> None:
    """Prints the table."""
    shown = Table("template", "tool calls", "tool messages", "tool pictures", "prefix", "calls are read", "to be trained here")
    for name, found in table():
        pictures = "no pictures" if found.pictures is None else _word(found.pictures)
        words = [_word(value) for value in (found.calls, found.replies)]
        verdict = found.complaint or ("yes" if found.pictures else "yes, as a model that reads text only")
        shown.add_row(name, *words, pictures, _word(found.prefix), _word(found.readable), verdict)
    console.print(shown)


def _word(value: bool) -> str:
    return "yes" if value else "no"


def _pattern(base: str) -> str:
    """Returns what a model of a template's family is called: ``qwen2_5_vl`` is Qwen2.5-VL, ``gemma3`` is Gemma-3."""
    base, _, release = base.partition("_instruct_")
    numbered = re.sub(r"(\d)_(\d)", r"\1.\2", base)
    parts = re.findall(r"[a-z]+|\d[\d.]*", numbered)
    # Qwen3.5 is not Qwen3.
    return r"[-_ ]?".join(map(re.escape, parts)) + r"(?![.\d])" + (f".*{release}" if release else "")


def _base(name: str) -> str:
    return _VARIANT.sub("", name)


def _age(name: str) -> tuple[str, int, str]:
    found = _REVISION.search(name)
    return _base(name), int(found[1]) if found else 1, name
