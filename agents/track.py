"""Weights & Biases, the same for every entry point: a run of ours is a run there, started by the main process alone.

``logger=none`` asks for none of it. Offline, the default, needs neither login nor network. What goes there is the config, the
measures and the tables that callers hand over; secrets are replaced in the config (`wildenv.secrets`), and in nothing else.
Offline runs do not see each other: a run that goes on offline is joined with its first half when both are uploaded.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wildenv.errors import ConfigError
from wildenv.secrets import scrubbed

RUN_ID = "wandb.json"
"""Beside the frozen config: the id of the W&B run, by which a resumed run goes on in it."""

MODES = ("offline", "online", "disabled")
_INSTALL = "pip install 'wandb>=0.31,<0.32'"


def start_wandb(
    settings: Mapping[str, Any], config: Mapping[str, Any], folder: Path, resume: str | Path | None = None
) -> list[str]:
    """Starts a W&B run if the config asks for one; call it on the main process only.

    Args:
        settings: ``conf/logger`` entry as plain values.
        config: The whole config, kept with the run.
        folder: The run directory; W&B's files go to ``wandb`` in it.
        resume: What the run goes on from: a run directory, or a checkpoint in one.

    Returns:
        The trainer's ``report_to``: empty if the config asks for no run.

    Raises:
        ConfigError: If the mode is none of `MODES`, wandb is not installed, or the run cannot be started.
    """
    if not settings["enabled"]:
        return []
    if settings["mode"] not in MODES:
        raise ConfigError(
            f"logger.mode={settings['mode']!r} is none of {', '.join(MODES)}; the environment variable WANDB_MODE sets it too"
        )
    try:
        import wandb
    except ImportError as error:
        raise ConfigError(f"logger=wandb needs a package that is not installed: {_INSTALL}; or set logger=none") from error

    folder.mkdir(parents=True, exist_ok=True)
    # Pictures wait for their upload here, where they would otherwise wait in the home directory.
    os.environ.setdefault("WANDB_DATA_DIR", str((folder / "wandb").resolve()))
    # It takes our room `agents` for another package of that name and would advertise a product for it.
    os.environ.setdefault("WANDB_DISABLE_WEAVE", "true")
    # A sweep's agent has settled both.
    swept = "WANDB_SWEEP_ID" in os.environ
    known = None if swept else settings["id"] or (_earlier(folder, resume) if settings["resume"] else None)
    try:
        run = wandb.init(
            project=None if swept else settings["project"],
            id=known,
            resume=None if known is None else "allow",
            group=settings["group"],
            job_type=settings["job_type"],
            name=settings["name"],
            tags=list(settings["tags"]),
            mode=settings["mode"],
            dir=str(folder),
            config=scrubbed(dict(config)),
            reinit="finish_previous",
        )
    except wandb.Error as error:
        raise ConfigError(
            f"logger.mode={settings['mode']}: W&B cannot start a run ({error}); run wandb login, or set logger.mode=offline"
        ) from error
    (folder / RUN_ID).write_text(json.dumps({"id": run.id}) + "\n", encoding="utf-8")
    return ["wandb"]


def active_run() -> Any | None:
    """Returns the W&B run of this process, or None; loads nothing."""
    module = sys.modules.get("wandb")
    return None if module is None else module.run


def finish_wandb(failed: bool = False) -> None:
    """Ends the W&B run of this process, if there is one."""
    run = active_run()
    if run is not None:
        run.finish(exit_code=int(failed))


def log_summary(values: Mapping[str, float | int | str | bool | None]) -> None:
    """Writes final values into the W&B run of this process, if there is one; None is left out."""
    run = active_run()
    if run is not None:
        run.summary.update({name: value for name, value in values.items() if value is not None})


def log_table(name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Writes a table into the W&B run of this process, if there is one."""
    run = active_run()
    if run is not None:
        import wandb

        run.log({name: wandb.Table(columns=list(columns), data=[list(row) for row in rows])})


def _earlier(folder: Path, resume: str | Path | None) -> str | None:
    """Returns the id of the run that goes on: the directory's own, or that of the run directory `resume` lies in."""
    places = [folder]
    if resume is not None:
        at = Path(resume).resolve()
        # RUN, or RUN/checkpoints/checkpoint-N.
        places += [at, *at.parents[:2]]
    for path in (place / RUN_ID for place in places):
        if path.is_file():
            try:
                return str(json.loads(path.read_text(encoding="utf-8"))["id"])
            except (ValueError, KeyError, TypeError) as error:
                raise ConfigError(f"{path} is damaged ({error}); remove it, or set logger.resume=false") from error
    return None
