"""How a folder of episodes was played: written beside them, so that a replay needs no settings repeated.

``recipe.json`` has the fields ``tasks``, ``env`` (arguments of `make_env`, the web among them), ``seed``, and who played. Folders
that other programs of this project rolled have one, too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wildenv.episode import ROWS
from wildenv.errors import ConfigError, DataError
from wildenv.folders import make_folder
from wildenv.registration import MINIWEB
from wildenv.strict_json import loads

FILE = "recipe.json"


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a folder's episodes were played with.

    Attributes:
        tasks: As `wildenv.registration.make_tasks` takes them.
        env: Arguments of `wildenv.registration.make_env`.
        policy: Dotted path of the policy.
        policy_arguments: Its arguments.
        seed: Seed of the run.
    """

    tasks: str
    env: Mapping[str, Any]
    policy: str
    policy_arguments: Mapping[str, Any]
    seed: int

    def keep(self, folder: Path) -> None:
        """Writes it; or compares it with what was written, once the folder holds episodes.

        Raises:
            ConfigError: If the folder cannot be written, or its episodes were played with other settings.
        """
        make_folder(folder, "--episodes")
        path = folder / FILE
        row = {
            "agent": {"_target_": self.policy, **self.policy_arguments},
            "env": _comparable(self.env),
            "tasks": self.tasks,
            "seed": self.seed,
        }
        if (folder / ROWS).exists() and path.exists():
            before = _read(path)
            changed = sorted(name for name in row.keys() | before.keys() if before.get(name) != row.get(name))
            if changed:
                raise ConfigError(
                    f"{folder} holds episodes played with another {', '.join(changed)}; name another --episodes folder"
                )
            return
        part = path.with_suffix(".part")
        part.write_text(json.dumps(row, sort_keys=True, indent=1) + "\n", encoding="utf-8")
        part.replace(path)


def read_recipe(folder: Path) -> dict[str, Any]:
    """Returns the fields of a folder's recipe; empty if it has none.

    Raises:
        DataError: If it is damaged.
    """
    path = folder / FILE
    return _read(path) if path.is_file() else {}


def default_reward(tasks: str) -> str | None:
    """Returns the reward that fits tasks: the miniweb judges its own."""
    return "oracle" if tasks.partition(":")[0] == MINIWEB else None


def _comparable(env: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments without what does not change an episode, so that a later run may record on."""
    web = {name: value for name, value in env["web"].items() if name not in ("mode", "store", "retry_gaps")}
    return {**env, "web": web}


def _read(path: Path) -> dict[str, Any]:
    try:
        row = loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path} is damaged ({error}); remove it and give --tasks and --env") from error
    if not isinstance(row, dict):
        raise DataError(f"{path} is damaged (not an object); remove it and give --tasks and --env")
    return row
