"""A sweep file as W&B reads it: the grid of its parameters, and the command line of each of its runs.

Only ``method: grid`` over listed values is read: the other methods of W&B choose a run by what earlier ones measured, which needs
its server. Runs come in W&B's order: parameters by name, the last one changing fastest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException

from wildenv.errors import ConfigError
from wildenv.files import read_text

_PROGRAM, _ARGUMENTS = "${program}", "${args_no_hyphens}"
_MODE = "logger.mode="


@dataclass(frozen=True, slots=True)
class Sweep:
    """A sweep.

    Attributes:
        name: Its name, and the group of its runs in W&B.
        program: The module that is run.
        fixed: Settings of all runs, as on a command line; how a run reaches W&B excepted.
        parameters: The values of each parameter, by name.
        metric: The measure the runs are compared by, as the trainer calls it; None if the file names none.
    """

    name: str
    program: str
    fixed: tuple[str, ...]
    parameters: Mapping[str, tuple[str, ...]]
    metric: str | None

    def runs(self) -> list[list[str]]:
        """Returns the settings of each run, what all have in common excepted."""
        each = [[f"{name}={value}" for value in values] for name, values in self.parameters.items()]
        return [list(run) for run in product(*each)]

    def multirun(self) -> list[str]:
        """Returns the same grid as one command line for Hydra's ``--multirun``."""
        return [*self.fixed, *(f"{name}={','.join(values)}" for name, values in self.parameters.items())]


def read_sweep(path: str | Path) -> Sweep:
    """Reads a sweep file.

    Raises:
        ConfigError: If it is no sweep of ours, or W&B and Hydra would not read it alike; the message names the key.
    """
    try:
        raw = yaml.safe_load(read_text(path, "sweep"))
    except yaml.YAMLError as error:
        raise ConfigError(f"sweep={path} is not YAML: {error}") from error
    if not isinstance(raw, Mapping):
        raise ConfigError(f"sweep={path} holds no mapping; see conf/sweep for examples")
    if raw.get("method") != "grid":
        raise ConfigError(f"{path}: method={raw.get('method')!r} needs W&B's server (wandb sweep {path}); here only grid is run")
    program = raw.get("program")
    if not isinstance(program, str) or not program:
        raise ConfigError(f"{path}: program must name the module that is run, such as trainers.sft")
    fixed = _fixed(raw.get("command"), path)
    parameters = raw.get("parameters")
    if not isinstance(parameters, Mapping) or not parameters:
        raise ConfigError(f"{path}: parameters must name at least one setting")
    name = str(raw.get("name") or Path(path).stem)
    if f"logger.group={name}" not in fixed:
        raise ConfigError(f"{path}: command must hold logger.group={name}, so that W&B groups the runs wherever they are made")
    metric = (raw.get("metric") or {}).get("name")
    return Sweep(
        name=name,
        program=program,
        fixed=tuple(one for one in fixed if not one.startswith(_MODE)),
        parameters={str(key): _values(str(key), parameters[key], path) for key in sorted(parameters)},
        metric=None if metric is None else local_name(str(metric)),
    )


def local_name(measure: str) -> str:
    """Returns what the trainer calls a measure: it tells W&B ``train/reward`` for ``reward``, ``eval/loss`` for ``eval_loss``."""
    if measure.startswith("eval/"):
        return f"eval_{measure.removeprefix('eval/')}"
    return measure.removeprefix("train/")


def _fixed(command: Any, path: str | Path) -> list[str]:
    """Returns what stands between the program and the parameters."""
    items = [str(item) for item in command] if isinstance(command, Sequence) and not isinstance(command, str) else []
    if _PROGRAM not in items or items[-1] != _ARGUMENTS or items[items.index(_PROGRAM) - 1] != "-m":
        raise ConfigError(f"{path}: command must run -m {_PROGRAM} and end with {_ARGUMENTS}; see conf/sweep for examples")
    return items[items.index(_PROGRAM) + 1 : -1]


def _values(name: str, given: Any, path: str | Path) -> tuple[str, ...]:
    if not isinstance(given, Mapping) or len(given.keys() & {"value", "values"}) != 1:
        raise ConfigError(f"{path}: parameters.{name} must have either value or values; other distributions need W&B's server")
    values = list(given["values"]) if "values" in given else [given["value"]]
    if not values:
        raise ConfigError(f"{path}: parameters.{name}.values is empty")
    return tuple(_written(name, value, path) for value in values)


def _written(name: str, value: Any, path: str | Path) -> str:
    """Returns a value as W&B's agent writes it on a command line, if Hydra reads that as the value."""
    written = str(value)
    try:
        override = OverridesParser.create().parse_override(f"{name}={written}")
        alike = not override.is_sweep_override() and (isinstance(value, str) or override.value() == value)
    except HydraException:
        alike = False
    if not alike:
        raise ConfigError(
            f"{path}: parameters.{name}: W&B writes {value!r} as {name}={written}, which Hydra reads as something else; "
            "write it as text, such as 'null'"
        )
    return written
