"""Keeps generated worlds on disk, so that a world is generated once and loaded in under a second afterwards.

A world is one zip file of JSON rows and NumPy arrays; nothing in it is executed when it is read. A file that is damaged, of
another generator version, or whose pictures this installation would draw differently is regenerated, with a warning.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from wildenv.errors import DataError
from wildenv.images import digest_of, encode
from wildenv.miniweb.config import GENERATOR_VERSION, WorldConfig
from wildenv.miniweb.index import Array, Bm25Index
from wildenv.miniweb.tables import Tables
from wildenv.miniweb.world import MiniWorld, content_digest, task_id

CACHE_VARIABLE = "WILDENV_CACHE"
_FORMAT = 1


def cache_folder() -> Path:
    """Returns where worlds are kept: ``$WILDENV_CACHE``, or ``~/.cache/wildenv``."""
    configured = os.environ.get(CACHE_VARIABLE)
    return Path(configured) if configured else Path.home() / ".cache" / "wildenv"


def load_world(config: WorldConfig, cache_dir: str | Path | None = None, progress: bool = False) -> MiniWorld:
    """Returns the world of a configuration: from the cache if it is there, else generated and kept.

    Args:
        config: The settings.
        cache_dir: Where worlds are kept; `cache_folder` if None.
        progress: Whether to show a progress bar while generating.
    """
    folder = cache_folder() if cache_dir is None else Path(cache_dir)
    # Releases that generate other worlds keep other files, so that they can share a folder.
    recipe = json.dumps([_FORMAT, GENERATOR_VERSION, config.to_dict()], sort_keys=True)
    name = hashlib.sha256(recipe.encode()).hexdigest()[:16]
    path = folder / f"miniweb-{name}.zip"
    if path.exists():
        try:
            return _read(path, config)
        except DataError as error:
            warnings.warn(f"{path.name} is regenerated: {error}", stacklevel=2)
    world = MiniWorld.generate(config, progress)
    try:
        _write(path, world)
    except OSError as error:
        advice = f"set {CACHE_VARIABLE} to a folder that can be written"
        warnings.warn(f"the miniweb is not kept and will be generated again next time ({error}); {advice}", stacklevel=2)
    return world


def _write(path: Path, world: MiniWorld) -> None:
    """Writes a world to a file, which appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}.part")
    head = {"format": _FORMAT, "generator": GENERATOR_VERSION, "config": world.config.to_dict(), "digest": world.digest}
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.writestr("head.json", json.dumps(head))
            archive.writestr("rows.json", world.tables.to_json())
            for index in ("page", "picture"):
                for name, array in getattr(world, f"{index}_index").arrays().items():
                    buffer = io.BytesIO()
                    np.save(buffer, array, allow_pickle=False)
                    archive.writestr(f"{index}/{name}.npy", buffer.getvalue())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _read(path: Path, config: WorldConfig) -> MiniWorld:
    """Reads a world; raises `DataError` if the file is not exactly that of `config` and of this installation."""
    try:
        with zipfile.ZipFile(path) as archive:
            head: Mapping[str, Any] = json.loads(archive.read("head.json"))
            expected = {"format": _FORMAT, "generator": GENERATOR_VERSION, "config": config.to_dict()}
            for key, value in expected.items():
                if head[key] != value:
                    raise DataError(f"its {key} is {head[key]!r}, not {value!r}")
            rows = archive.read("rows.json")
            indexes = [Bm25Index.from_arrays(_arrays(archive, index)) for index in ("page", "picture")]
    except (OSError, EOFError, KeyError, ValueError, NotImplementedError, zipfile.BadZipFile) as error:
        raise DataError(f"it cannot be read ({type(error).__name__}: {error})") from error
    if content_digest(config, rows) != head["digest"]:
        raise DataError("its content does not match its digest")
    world = MiniWorld(config, Tables.from_json(rows), head["digest"], *indexes)
    if digest_of(encode(world.ground_truth(task_id(0)))) != world.events[0].truth:
        raise DataError("its pictures were drawn by another version")
    return world


def _arrays(archive: zipfile.ZipFile, index: str) -> dict[str, Array]:
    names = ("data", "indices", "indptr", "size", "vocabulary")
    return {name: np.load(io.BytesIO(archive.read(f"{index}/{name}.npy")), allow_pickle=False) for name in names}
