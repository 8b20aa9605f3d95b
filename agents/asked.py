"""What was asked for of a folder of episodes: written beside them, so that a reader can tell a finished run from half of one.

It is no setting: a folder may be asked for more tasks later, and the most that was asked for stands.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from wildenv.errors import ConfigError

FILE = "asked.json"


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for.

    Attributes:
        tasks: How many tasks.
        benchmark: Name of the benchmark they are of; None if nothing names one.
    """

    tasks: int
    benchmark: str | None = None

    def keep(self, folder: Path) -> None:
        """Writes it; a folder that was asked for more tasks before keeps their number.

        Raises:
            ConfigError: If what was written before is damaged.
        """
        before = read_asked(folder)
        most = Asked(max(self.tasks, before.tasks if before else 0), self.benchmark)
        part = (folder / FILE).with_suffix(".part")
        part.write_text(json.dumps(asdict(most), sort_keys=True, indent=1) + "\n", encoding="utf-8")
        part.replace(folder / FILE)


def read_asked(folder: Path) -> Asked | None:
    """Returns what was asked for of a folder; None if nothing says.

    Raises:
        ConfigError: If the file is damaged.
    """
    path = folder / FILE
    if not path.exists():
        return None
    try:
        return Asked(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise ConfigError(f"{path} is damaged ({error}); remove it to go without") from error
