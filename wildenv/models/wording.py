"""The texts that models are given, one file each in ``prompts``."""

from __future__ import annotations

from functools import cache
from importlib import resources


@cache
def wording(name: str) -> str:
    """Returns the text of that name."""
    return (resources.files("wildenv.models") / "prompts" / f"{name}.txt").read_text(encoding="utf-8").strip()
