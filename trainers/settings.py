"""Refuses settings out of range before anything is collected or loaded, in one sentence that names the setting.

It looks at single values. Whether they fit the model, the data and the machine is seen where those are known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from agents.runs import Config
from wildenv.errors import ConfigError

_SCHEDULES = ("cosine", "linear", "constant", "constant_with_warmup")


def _whole(least: int) -> tuple[Callable[[Any], bool], str]:
    return lambda v: isinstance(v, int) and not isinstance(v, bool) and v >= least, f"a whole number of at least {least}"


def _number(least: float, open_end: bool = False) -> tuple[Callable[[Any], bool], str]:
    def holds(value: Any) -> bool:
        real = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        return real and (value > least if open_end else value >= least)

    return holds, f"a number {'above' if open_end else 'of at least'} {least:g}"


def _share(open_end: bool = False) -> tuple[Callable[[Any], bool], str]:
    above, said = _number(0, open_end)[0], "above 0" if open_end else "from 0"
    return lambda v: above(v) and v <= 1, f"a number {said} to 1"


def _one_of(*names: str) -> tuple[Callable[[Any], bool], str]:
    return lambda v: v in names, f"one of {', '.join(names)}"


def _or_null(rule: tuple[Callable[[Any], bool], str]) -> tuple[Callable[[Any], bool], str]:
    return lambda v: v is None or rule[0](v), f"{rule[1]}, or null"


_YES_OR_NO = (lambda v: isinstance(v, bool), "true or false")
_Rules = dict[str, tuple[Callable[[Any], bool], str]]

_SHARED: _Rules = {
    "seed": _whole(0),
    "launch.processes": _whole(1),
    "launch.freeze_only": _YES_OR_NO,
    "trainer.learning_rate": _number(0, open_end=True),
    "trainer.schedule": _one_of(*_SCHEDULES),
    "trainer.warmup_steps": _whole(0),
    "trainer.weight_decay": _number(0),
    "trainer.max_grad_norm": _number(0),
    "trainer.micro_batch": _whole(1),
    "trainer.epochs": _number(0, open_end=True),
    "trainer.max_steps": (lambda v: isinstance(v, int) and (v == -1 or v > 0), "-1 for whole epochs, or a whole number above 0"),
    "trainer.max_length": _whole(1),
    "trainer.log_steps": _whole(1),
    "trainer.precision": _one_of("bf16", "float32"),
    "trainer.gradient_checkpointing": _YES_OR_NO,
    "trainer.peft": _or_null(_one_of("none", "lora")),
    "trainer.lora.r": _whole(1),
    "trainer.lora.alpha": _number(0, open_end=True),
    "trainer.lora.dropout": _share(),
    "trainer.dummy_image": _YES_OR_NO,
}
_SFT: _Rules = {
    "trainer.effective_batch": _whole(1),
    "trainer.eval_batch": _whole(1),
    "trainer.loss_chunk": _whole(1),
    "trainer.eval_steps": _whole(1),
    "trainer.workers": _whole(0),
}
_GRPO: _Rules = {
    "limit": _or_null(_whole(1)),
    "warm_start.steps": _whole(1),
    "warm_start.tasks": _whole(1),
    "trainer.group": _whole(2),
    "trainer.prompts": _whole(1),
    "trainer.passes": _whole(1),
    "trainer.clip_low": _share(open_end=True),
    "trainer.clip_high": _number(0, open_end=True),
    "trainer.kl": _number(0),
    "trainer.loss": _one_of("grpo", "dapo", "luspo", "bnpo", "dr_grpo"),
    "trainer.scale_rewards": _one_of("group", "batch", "none"),
    "trainer.mask_truncated": _YES_OR_NO,
    "trainer.mask_repeated": _YES_OR_NO,
    "trainer.min_valid": _whole(2),
    "trainer.judge_concurrency": _whole(1),
    "trainer.save_steps": _whole(1),
    "trainer.keep_rollouts": _or_null(_whole(0)),
    "trainer.alarms.patience": _whole(1),
    "trainer.alarms.stop": _YES_OR_NO,
    "trainer.alarms.zero_std_share": _or_null(_share()),
    "trainer.alarms.entropy_min": _or_null(_number(0)),
    "trainer.alarms.entropy_max": _or_null(_number(0, open_end=True)),
    "trainer.alarms.repeated_queries": _or_null(_share()),
    "trainer.alarms.answer_growth": _or_null(_number(1)),
    "trainer.alarms.unscored": _or_null(_share()),
    "rollout.max_new_tokens": _whole(1),
    "rollout.temperature": _number(0, open_end=True),
    "rollout.top_p": _share(open_end=True),
    "rollout.concurrency": _or_null(_whole(1)),
    "rollout.deadline_s": _or_null(_number(0, open_end=True)),
}
_MADE_FOR = {
    "sft": "experiment=ranger, and scale=laptop, cluster or none",
    "grpo": "experiment=gen_searcher or gen_searcher_released, and scale=laptop_grpo, cluster_grpo or none",
}
RULES: dict[str, _Rules] = {"sft": _SHARED | _SFT, "grpo": _SHARED | _GRPO}


def check_settings(config: Config) -> None:
    """Checks the numbers and names of ``conf/sft.yaml`` or ``conf/grpo.yaml``, whichever ``task`` says.

    Raises:
        ConfigError: At the first value that is out of range, or if ``scale`` was made for another trainer.
    """
    task = config["task"]
    for name, (holds, rule) in RULES[task].items():
        value: Any = config
        for key in name.split("."):
            value = value[key]
        if not holds(value):
            raise ConfigError(f"{name}={value!r} must be {rule}")
    others = {key for rules in RULES.values() for key in _trainer_keys(rules)} - _trainer_keys(RULES[task])
    strange = sorted(others & set(config["trainer"]))
    if strange:
        raise ConfigError(
            f"experiment or scale was made for another trainer (trainer.{strange[0]} is no setting of trainers.{task}); with "
            f"trainers.{task} choose {_MADE_FOR[task]}"
        )


def _trainer_keys(rules: _Rules) -> set[str]:
    return {name.split(".")[1] for name in rules if name.startswith("trainer.")}
