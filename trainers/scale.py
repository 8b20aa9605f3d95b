"""What a ``scale`` group changes of a published recipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import OmegaConf
from rich.console import Console
from rich.table import Table


def scale_changes(config: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Compares the config with the same config without its ``scale`` group.

    Works inside a Hydra run only.

    Returns:
        Setting, value without scale, value in this run; in the order of the config.
    """
    chosen = HydraConfig.get()
    names = {override: override.lstrip("+~").split("=")[0] for override in chosen.overrides.task}
    # A value that was typed may be of a setting that only this scale has, and is not of the scale's making.
    values = tuple(name for name in names.values() if "." in name)
    kept = [override for override, name in names.items() if name != "scale" and name not in values]
    # What has to be typed is missing here.
    without = OmegaConf.to_container(hydra.compose(chosen.job.config_name, overrides=[*kept, "scale=none"]), resolve=True)
    assert isinstance(without, dict)
    before, after = _flatten({str(key): value for key, value in without.items()}), _flatten(config)
    keys = [*after, *(key for key in before if key not in after)]
    changed = [key for key in keys if before.get(key) not in (after.get(key), "???")]
    own = tuple(f"{one}." for one in values)
    return [(key, before.get(key), after.get(key)) for key in changed if not f"{key}.".startswith(own)]


def print_changes(changes: list[tuple[str, Any, Any]]) -> None:
    """Prints what a run changes of its recipe; of a model and of DeepSpeed the name alone."""
    shown = [change for change in changes if not change[0].startswith(("model.", "deepspeed.")) or change[0] == "model.name"]
    if not shown:
        return
    table = Table("setting", "recipe", "this run", title="what `scale` changes of the recipe")
    for name, before, after in shown:
        table.add_row(name, str(before), str(after))
    Console().print(table)


def _flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            flat.update(_flatten(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat
