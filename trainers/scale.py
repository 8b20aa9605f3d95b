"""What a ``scale`` group changes of a published recipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from rich.console import Console
from rich.table import Table

from agents.runs import plain


def scale_changes(config: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Compares the config with the same config without its ``scale`` group.

    Works inside a Hydra run only.

    Returns:
        Setting, value without scale, value in this run; in the order of the config.
    """
    chosen = HydraConfig.get()
    kept = [override for override in chosen.overrides.task if not override.startswith("scale=")]
    without = plain(hydra.compose(config_name=chosen.job.config_name, overrides=[*kept, "scale=none"]))
    before, after = _flatten(without), _flatten(config)
    keys = [*after, *(key for key in before if key not in after)]
    return [(key, before.get(key), after.get(key)) for key in keys if before.get(key) != after.get(key)]


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
