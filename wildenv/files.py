"""Files that a setting or an option names: texts that people wrote, and files that are written whole or not at all.

A file that is being replaced is there until the new one is complete; two writers of one file are not kept apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wildenv.errors import ConfigError
from wildenv.folders import make_folder


def read_text(path: str | Path, setting: str, hint: str = "save it as UTF-8") -> str:
    """Reads a text file in UTF-8, with or without a byte-order mark.

    Args:
        path: The file.
        setting: Named in the error.
        hint: Said of a file in another encoding.

    Raises:
        ConfigError: If it cannot be read.
    """
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeError as error:
        raise ConfigError(f"{setting}={path} is not UTF-8 text; {hint}") from error
    except (OSError, ValueError) as error:
        raise ConfigError(f"{setting}={path} cannot be read ({getattr(error, 'strerror', None) or error})") from error


def check_free(path: Path, setting: str, force: bool) -> None:
    """Makes sure that a file may be written.

    Raises:
        ConfigError: If it is a folder, or is there and `force` is false.
    """
    if path.is_dir():
        raise ConfigError(f"{setting} {path} is a folder; name a file")
    if path.exists() and not force:
        raise ConfigError(f"{setting} {path} is there already; name another file, or replace it with --force")


@contextmanager
def new_file(path: Path, setting: str, force: bool) -> Iterator[Path]:
    """Gives the path of a part to write, with the same suffix, and puts it in the place of the file if nothing was raised.

    Args:
        path: The file; its folder is made if it is missing.
        setting: Named in errors.
        force: Whether a file that is there is replaced.

    Raises:
        ConfigError: As `check_free`; or if the part cannot be written, for example because the disk is full.
    """
    check_free(path, setting, force)
    make_folder(path.parent, setting)
    part = path.with_stem(f"{path.stem}.part")
    try:
        yield part
        part.replace(path)
    except OSError as error:
        raise ConfigError(
            f"{setting} {path} cannot be written ({error.strerror or error}); make room or name another file"
        ) from error
    finally:
        part.unlink(missing_ok=True)
