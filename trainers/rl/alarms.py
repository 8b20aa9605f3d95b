"""Says that a run is collapsing, while there is still time: a measure that stays out of its range for some records in a row.

An alarm is a warning on the terminal and a line of ``alarms.jsonl``; it ends the run only if ``trainer.alarms.stop`` is set.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from wildenv.errors import ConfigError, WildenvError

ALARMS = "alarms.jsonl"
_CONSOLE = Console(stderr=True)


class Collapse(WildenvError):
    """A run was ended by its alarms."""


class Alarms(TrainerCallback):
    """Watches the records of a run; the main process only.

    Args:
        settings: ``trainer.alarms`` as plain values.
        folder: The run directory.

    Raises:
        ConfigError: If ``patience`` is below 1.
    """

    def __init__(self, settings: Mapping[str, Any], folder: Path) -> None:
        if settings["patience"] < 1:
            raise ConfigError(f"trainer.alarms.patience={settings['patience']} must be at least 1")
        self._settings = settings
        self._folder = folder
        self._in_a_row: Counter[str] = Counter()
        self._first_answer: float | None = None

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Looks at one record."""
        if not state.is_world_process_zero or not logs or "reward" not in logs:
            return
        out_of_range = self._look(logs)
        for name in [name for name in self._in_a_row if name not in out_of_range]:
            del self._in_a_row[name]
        for name, sentence in out_of_range.items():
            self._in_a_row[name] += 1
            if self._in_a_row[name] == self._settings["patience"]:
                self._sound(state.global_step, name, sentence)

    def _look(self, logs: Mapping[str, Any]) -> dict[str, str]:
        """Returns what is out of range: the setting, and a sentence."""
        answer = logs.get("answer/chars")
        if answer and self._first_answer is None:
            self._first_answer = answer
        growth = answer / self._first_answer if answer and self._first_answer else None
        # Setting, measure, whether it may not be above (else below), and what it means.
        rules = (
            (
                "zero_std_share",
                logs.get("frac_reward_zero_std"),
                True,
                "of the groups have rewards that are all alike: nothing is learnt from them",
            ),
            ("entropy_min", logs.get("entropy"), False, "nats a token: the policy draws nearly always the same"),
            ("entropy_max", logs.get("entropy"), True, "nats a token: the policy draws nearly at random"),
            ("repeated_queries", logs.get("searches/repeated"), True, "of the searches repeat an earlier one of their rollout"),
            ("answer_growth", growth, True, "times as long are the answers as at the start"),
            ("unscored", logs.get("rollouts/unscored"), True, "of the rollouts could not be scored"),
        )
        found = {}
        for name, value, above, meaning in rules:
            limit = self._settings[name]
            if limit is not None and value is not None and (value > limit if above else value < limit):
                said = f"{value:.0%}" if meaning.startswith("of the") else f"{value:.3g}"
                found[name] = f"{said} {meaning} (trainer.alarms.{name}={limit})"
        return found

    def _sound(self, step: int, name: str, sentence: str) -> None:
        with (self._folder / ALARMS).open("a", encoding="utf-8") as lines:
            lines.write(json.dumps({"step": step, "alarm": name, "what": sentence}) + "\n")
        _CONSOLE.print(f"alarm at step {step}: {sentence}", style="bold yellow", markup=False)
        if self._settings["stop"]:
            raise Collapse(f"step {step}: {sentence}; trainer.alarms.stop=false goes on")
