"""What models are told, one file each.

System prompts lie here; in ``asides`` lines between a policy and its model, in ``workflow`` the prompts of that pipeline.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from wildenv.errors import ConfigError

_FOLDER = Path(__file__).parent


@cache
def load_prompt(name: str) -> str:
    """Returns a prompt.

    Args:
        name: Of one of the files here, or the path of a ``.txt`` file elsewhere.

    Raises:
        ConfigError: If there is none; the message lists those there are.
    """
    path = Path(name) if name.endswith(".txt") else _FOLDER / f"{name}.txt"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in _FOLDER.glob("*.txt")))
        raise ConfigError(f"no prompt {name!r}: set the agent's prompt to one of {known}, or to the path of a .txt file")
    return path.read_text(encoding="utf-8").strip()
