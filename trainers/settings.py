"""Refuses settings out of range before anything is collected or loaded, in one sentence that names the setting.

It looks at single values. Whether they fit the model, the data and the machine is seen where those are known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agents.runs import Config
from wildenv.errors import ConfigError

_SCHEDULES = ("cosine", "linear", "constant", "constant_with_warmup")


def _whole(least: int) -> tuple[Callable[[Any], bool], str]:
    return lambda v: isinstance(v, int) and not isinstance(v, bool) and v >= least, f"a whole number of at least {least}"


def _number(least: float, open_end: bool = False) -> tuple[Callable[[Any], bool], str]:
    def holds(value: Any) -> bool:
        real = isinstance(value, int | float) and not isinstance(value, bool)
        return real and (value > least if open_end else value >= least)

    return holds, f"a number {'above' if open_end else 'of at least'} {least:g}"


_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "launch.processes": _whole(1),
    "trainer.learning_rate": _number(0, open_end=True),
    "trainer.schedule": (lambda v: v in _SCHEDULES, f"one of {', '.join(_SCHEDULES)}"),
    "trainer.warmup_steps": _whole(0),
    "trainer.weight_decay": _number(0),
    "trainer.max_grad_norm": _number(0),
    "trainer.effective_batch": _whole(1),
    "trainer.micro_batch": _whole(1),
    "trainer.eval_batch": _whole(1),
    "trainer.epochs": _number(0, open_end=True),
    "trainer.max_steps": (lambda v: isinstance(v, int) and (v == -1 or v > 0), "-1 for whole epochs, or a whole number above 0"),
    "trainer.max_length": _whole(1),
    "trainer.loss_chunk": _whole(1),
    "trainer.eval_steps": _whole(1),
    "trainer.log_steps": _whole(1),
    "trainer.workers": _whole(0),
}


def check_settings(config: Config) -> None:
    """Checks the numbers and names of ``conf/sft.yaml``.

    Raises:
        ConfigError: At the first value that is out of range.
    """
    for name, (holds, rule) in _RULES.items():
        group, key = name.split(".")
        value = config[group][key]
        if not holds(value):
            raise ConfigError(f"{name}={value!r} must be {rule}")
