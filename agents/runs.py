"""From a Hydra config to plain values, and what a run writes about itself.

The trainers' and the benchmarks' entry points share it. A config is converted to plain Python once, here: OmegaConf containers
do not survive JSON, W&B or PEFT. Every run directory gets the resolved config, the state of the checkout and the versions of
the packages. Secrets belong into the environment, not into a config: a config is written to disk as it is.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException

from agents.track import finish_wandb
from wildenv.errors import ConfigError, WildenvError

ROOT = Path(__file__).resolve().parents[1]
FROZEN = "config.yaml"
_PACKAGES = (
    "torch",
    "transformers",
    "trl",
    "peft",
    "accelerate",
    "deepspeed",
    "datasets",
    "wandb",
    "gymnasium",
    "numpy",
    "pillow",
)

_INTERRUPTED = 130
"""What a shell says of a command that Ctrl-C ended."""

Config = dict[str, Any]


def fix_spelling(arguments: list[str]) -> list[str]:
    """Reads ``+experiment=NAME`` as ``experiment=NAME``.

    Hydra refuses the first spelling because the group has a place in the defaults list, and it needs that place: ``scale`` must
    come after it to adapt the recipe to the machine.
    """
    return [argument.removeprefix("+") if argument.startswith("+experiment=") else argument for argument in arguments]


def plain(config: DictConfig) -> Config:
    """Returns the config as plain values, interpolations resolved.

    Raises:
        ConfigError: If a value is missing, an interpolation leads nowhere, or a file of conf/sweep was taken for a group.
    """
    if "sweep" in config:
        raise ConfigError("sweep: the files in conf/sweep are no settings; run python -m trainers.sweep conf/sweep/NAME.yaml")
    try:
        values = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except MissingMandatoryValue as error:
        raise ConfigError(f"{error.full_key} is missing; set {error.full_key}=...") from error
    except OmegaConfBaseException as error:
        # What comes after the first line is about OmegaConf's own types.
        raise ConfigError(f"{error.full_key or 'the config'} cannot be resolved: {str(error).splitlines()[0]}") from error
    assert isinstance(values, dict)
    return {str(key): value for key, value in values.items()}


def run_dir() -> Path:
    """Returns the directory Hydra made for this run."""
    return Path(HydraConfig.get().runtime.output_dir)


def one_of_several() -> bool:
    """Returns whether this run is one of those that ``--multirun`` runs in this process, one after another."""
    return HydraConfig.initialized() and HydraConfig.get().mode is RunMode.MULTIRUN


def read_frozen(path: Path) -> Config:
    """Reads the config that `freeze` wrote."""
    config = OmegaConf.load(path)
    assert isinstance(config, DictConfig)
    return plain(config)


def freeze(config: Mapping[str, Any], folder: Path) -> Path:
    """Writes the resolved config, the git state and the package versions into a run directory; returns the config's path."""
    folder.mkdir(parents=True, exist_ok=True)
    frozen = folder / FROZEN
    frozen.write_text(OmegaConf.to_yaml(OmegaConf.create(dict(config))), encoding="utf-8")
    about = {
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "git": _git_state(),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in _PACKAGES},
    }
    (folder / "environment.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    return frozen


@contextmanager
def plain_errors() -> Iterator[None]:
    """Ends the process with one sentence when a setting is wrong; other exceptions keep their traceback.

    One of several runs (`one_of_several`) says the sentence and leaves the process to the others. A W&B run ends as failed.
    """
    try:
        with _failure_told():
            yield
    except WildenvError as error:
        if one_of_several():
            # Hydra goes on with the next run, and raises what it got when all are through.
            sys.stderr.write(f"error: {error}\n")
            raise
        raise SystemExit(f"error: {error}") from error
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        raise SystemExit(_INTERRUPTED) from None


@contextmanager
def _failure_told() -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        # W&B sees neither a SystemExit nor what Hydra catches, and would call the run finished.
        finish_wandb(failed=not isinstance(error, SystemExit) or error.code not in (0, None))
        raise


def _git_state() -> dict[str, Any] | None:
    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return {"commit": git("rev-parse", "HEAD"), "changed": git("status", "--porcelain").splitlines()}
    except (OSError, subprocess.CalledProcessError):
        # A copy without its history is a fine place to train from; the record then says so.
        return None


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
