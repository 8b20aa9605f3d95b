"""One line a record on the terminal, above the bar; every measure is in ``metrics.parquet`` and W&B."""

from __future__ import annotations

from typing import Any

from transformers import ProgressCallback, TrainerControl, TrainerState, TrainingArguments


class Lines(ProgressCallback):
    """Takes the place of transformers' bar, which writes all measures of a record in one line."""

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Writes the line."""
        if state.is_world_process_zero and self.training_bar is not None and logs and "reward" in logs:
            self.training_bar.write(line(state.global_step, state.max_steps, logs))


def line(step: int, steps: int, logs: dict[str, Any]) -> str:
    """Returns what a person wants to know of a record."""
    parts = {
        name.removeprefix("rewards/").removesuffix("/mean").removesuffix("_reward"): value
        for name, value in logs.items()
        if name.startswith("rewards/") and name.endswith("/mean")
    }
    sides = ", ".join(f"{name} {_number(value)}" for name, value in parts.items())
    shares = {
        "answered": logs.get("rollouts/answered"),
        "unscored": logs.get("rollouts/unscored"),
        "groups alike": logs.get("frac_reward_zero_std"),
    }
    said = [f"step {step}/{steps}", f"reward {_number(logs['reward'])}" + (f" ({sides})" if len(parts) > 1 else "")]
    said += [f"{name} {value:.0%}" for name, value in shares.items() if value is not None]
    if logs.get("step_time") is not None:
        said.append(f"{logs['step_time']:.0f} s")
    return "  ".join(said)


def _number(value: float | None) -> str:
    return "unscored" if value is None else f"{value:.3f}"
