"""Folders that a setting names.

Making one says whether it can be written now; it does not guarantee that it still can be later, or that there is room.
"""

from __future__ import annotations

import os
from pathlib import Path

from wildenv.errors import ConfigError


def make_folder(folder: Path, setting: str) -> None:
    """Makes a folder, its parents included, unless it is there.

    Args:
        folder: The folder.
        setting: Named in the error.

    Raises:
        ConfigError: If it cannot be made, is no folder, or cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{setting}={folder} cannot be made ({error.strerror}); name another folder") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ConfigError(f"{setting}={folder} cannot be written; name another folder")
