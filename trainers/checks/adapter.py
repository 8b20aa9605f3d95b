"""Whether the modules that LoRA is to be put on are there, looked up in the model without its weights."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from torch import nn

from trainers.checks.finding import Finding, Spared, Status
from trainers.checks.subject import GRPO, Subject
from wildenv.errors import ConfigError

LORA = "LoRA"
ALL = "all-linear"
_SETTING = "trainer.lora.target_modules"
_FITTING = (nn.Linear, nn.Embedding, nn.Conv1d, nn.Conv2d, nn.Conv3d)
_NAMED = 6


def lora(subject: Subject) -> Iterator[Finding]:
    """Whether every target is there and can carry an adapter."""
    adapter = subject.trainer.get("adapter")
    if adapter is None and subject.trainer["peft"] in (None, "none"):
        raise Spared("trainer.peft=none")
    setting, targets = (_SETTING, subject.trainer["lora"]["target_modules"]) if adapter is None else _kept(Path(adapter))
    modules = {name: module for name, module in subject.skeleton.named_modules() if name}
    head = _head(subject)
    if targets == ALL:
        count = sum(isinstance(module, nn.Linear) and name != head for name, module in modules.items())
        yield Finding(LORA, Status.PASSED, f"{ALL}: {count} modules")
        return
    matched: list[str] = []
    for target in [targets] if isinstance(targets, str) else targets:
        found = [name for name in modules if _matches(name, target, pattern=isinstance(targets, str))]
        if not found:
            near = _near(target, modules)
            raise ConfigError(f"{setting}: the model has no module {target!r}{near}; change {setting}, or set it to {ALL}")
        strange = next((name for name in found if not isinstance(modules[name], _FITTING)), None)
        if strange is not None:
            kind = type(modules[strange]).__name__
            raise ConfigError(f"{setting}: {strange} is a {kind}, which takes no adapter; name linear modules in {setting}")
        matched += found
    if subject.kind == GRPO and head in matched:
        raise ConfigError(
            f"{setting} has {head}: the log-probabilities are computed from its own weight, so that an adapter on it would never "
            f"be trained; leave it out of {setting}"
        )
    yield Finding(LORA, Status.PASSED, f"{len(set(matched))} modules")


def _kept(folder: Path) -> tuple[str, Any]:
    file = folder / "adapter_config.json"
    if not file.is_file():
        raise ConfigError(f"trainer.adapter={folder} holds no {file.name}; set trainer.adapter to the folder of a LoRA adapter")
    try:
        return "trainer.adapter", json.loads(file.read_text(encoding="utf-8"))["target_modules"]
    except (ValueError, KeyError) as error:
        raise ConfigError(f"trainer.adapter={folder}: {file.name} cannot be read ({error}); choose another adapter") from error


def _matches(name: str, target: str, pattern: bool) -> bool:
    return re.fullmatch(target, name) is not None if pattern else name == target or name.endswith(f".{target}")


def _head(subject: Subject) -> str | None:
    embeddings = getattr(subject.skeleton, "get_output_embeddings", lambda: None)()
    return next((name for name, module in subject.skeleton.named_modules() if module is embeddings), None)


def _near(target: str, modules: dict[str, nn.Module]) -> str:
    ends: Sequence[str] = sorted({name.rpartition(".")[2] for name, module in modules.items() if isinstance(module, nn.Linear)})
    near = get_close_matches(target.rpartition(".")[2], ends, _NAMED, 0.5) or ends[:_NAMED]
    return f" (there are {', '.join(near)})" if near else ""
