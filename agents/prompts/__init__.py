"""System prompts, one file each."""

from __future__ import annotations

from pathlib import Path


def load_prompt(name: str) -> str:
    """Returns the system prompt of that name.

    Raises:
        FileNotFoundError: If there is none; the message lists those there are.
    """
    folder = Path(__file__).parent
    path = folder / f"{name}.txt"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in folder.glob("*.txt")))
        raise FileNotFoundError(f"no system prompt {name!r}; there are {known}")
    return path.read_text(encoding="utf-8").strip()
