"""Ends a run whose numbers have ceased to be numbers, before its good checkpoints are rotated away.

transformers logs a loss that is not finite as 0, and trains on.
"""

from __future__ import annotations

import math
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from wildenv.errors import WildenvError


class NotFinite(WildenvError):
    """The gradient of a run is not finite."""


class Finite(TrainerCallback):
    """Looks at the gradient of every record; checkpoints are written after it has looked."""

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Looks at one record.

        Raises:
            NotFinite: If its gradient is not finite.
        """
        norm = (logs or {}).get("grad_norm")
        if norm is not None and not math.isfinite(norm):
            raise NotFinite(
                f"the gradient of step {state.global_step} is not finite; go on from a checkpoint before it (trainer.resume) "
                "with a smaller trainer.learning_rate or trainer.max_grad_norm"
            )
