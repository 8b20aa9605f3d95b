"""Where GRPO starts from when there is no model yet: the nano model, trained by supervision for a while.

A model of random weights earns nothing, and from nothing no gradient comes. Other models bring what is needed.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from agents.runs import ROOT, Config
from trainers.export import BEST, LAST
from trainers.offspring import child_environment
from wildenv.errors import ConfigError

WARM_START = "warm_start"


def start_model(config: Config, folder: Path) -> Config:
    """Returns the config with a model to start from.

    Args:
        config: The whole config; ``warm_start`` and ``model`` decide.
        folder: The run directory; what is trained here lies in ``warm_start`` in it, and is used again by a run that goes on.

    Raises:
        ConfigError: If the nano model cannot be trained on these tasks, or its training failed.
    """
    model = config["model"]
    if model["kind"] != "nano" or model["path"] is not None:
        return config
    resumed = config["trainer"]["resume"]
    homes = [folder] if resumed is None else [Path(resumed), *Path(resumed).parents]
    found = next((path for home in homes[:3] if (path := home / WARM_START / BEST).is_dir()), None)
    if found is None:
        if resumed is not None:
            raise ConfigError(
                f"trainer.resume={resumed}: no {WARM_START}/{BEST} beside it; set model.path to where that run started"
            )
        if not str(config["tasks"]).startswith("miniweb:"):
            raise ConfigError("model=nano has no path; set model.path to a checkpoint, for example of trainers.sft")
        _train(config, (folder / WARM_START).resolve())
        found = folder / WARM_START / (BEST if (folder / WARM_START / BEST).is_dir() else LAST)
    return {**config, "model": {**model, "path": str(found)}}


def _train(config: Config, folder: Path) -> None:
    settings = config["warm_start"]
    Console().print(
        f"no model.path: first {settings['steps']} updates of supervised training make one; model.path=RUN/best skips them",
        markup=False,
    )
    given = [
        "experiment=ranger",
        "scale=laptop",
        f"seed={config['seed']}",
        f"model.seed={config['model']['seed']}",
        f"hydra.run.dir='{folder}'",
        f"collect.tasks={config['tasks']}",
        f"collect.limit={settings['tasks']}",
        f"collect.folder='{folder / 'episodes'}'",
        f"trainer.max_steps={settings['steps']}",
        f"trainer.eval_steps={settings['steps']}",
        "logger=none",
        *_overrides("env.world", config["env"]["world"]),
    ]
    done = subprocess.run([sys.executable, "-m", "trainers.sft", *given], cwd=ROOT, check=False, env=child_environment())
    if done.returncode:
        raise ConfigError(f"the warm start ended with code {done.returncode}, see above; set model.path to a checkpoint instead")


def _overrides(prefix: str, values: Mapping[str, Any]) -> list[str]:
    return [f"{prefix}.{key}={value!r}" if isinstance(value, str) else f"{prefix}.{key}={value}" for key, value in values.items()]
