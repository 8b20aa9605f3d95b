"""TRL's SFTTrainer with our batches and our loss.

What is TRL's and transformers' stays theirs: optimiser, schedule, accumulation, DeepSpeed, checkpoints, resume. Changed are the
loss (`trainers.objective`), what a batch's loss is divided by (the summed token weights of all micro-batches of all ranks, so
that neither accumulation nor the number of ranks changes the gradient) and the evaluation loss (one mean over all trained
tokens, whatever the batch size). The dataset holds row numbers only; the collator reads the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from datasets import Dataset
from torch import Tensor, nn
from transformers.trainer_utils import EvalLoopOutput
from trl import SFTTrainer

from agents.encode import TokenClass
from trainers.fit import Fitted
from trainers.objective import TokenLoss, attach
from trainers.restore import RestoredWeights


def as_dataset(fitted: Sequence[Fitted]) -> Dataset:
    """Returns the rows that go into training, as numbers: row, messages kept, tokens."""
    kept = [verdict for verdict in fitted if verdict.kept]
    return Dataset.from_dict({"row": [v.row for v in kept], "kept": [v.kept for v in kept], "length": [v.tokens for v in kept]})


class TrajectoryTrainer(RestoredWeights, SFTTrainer):
    """Trains on batches of `trainers.collate.TrajectoryCollator`.

    Args:
        chunk: Positions whose logits are held at a time.
        **kwargs: Of `SFTTrainer`.
    """

    def __init__(self, *, chunk: int = 1024, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        model = self.accelerator.unwrap_model(self.model)
        attach(model.get_base_model() if hasattr(model, "get_base_model") else model, chunk)
        # compute_loss divides by the weights of the whole step.
        self.loss_is_scaled_for_ga = True
        self._sums: dict[str, Tensor] = {}

    def compute_loss(
        self, model: nn.Module, inputs: dict[str, Tensor], return_outputs: bool = False, num_items_in_batch: Tensor | None = None
    ) -> Any:
        """Returns the weighted loss of a micro-batch, divided by the weights of the step."""
        out: TokenLoss = model(**inputs)
        assert out.loss_sum is not None
        self._tally(out)
        if num_items_in_batch is None:
            loss = out.loss_sum / out.weight_sum
        else:
            # Gradients are averaged over ranks while the divisor counts the weights of all of them.
            loss = out.loss_sum / num_items_in_batch * self.accelerator.num_processes
        return (loss, out) if return_outputs else loss

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Adds the loss by kind of token and the token accuracy since the last record."""
        if self._sums and ("loss" in logs or "eval_loss" in logs):
            logs.update(self._measures("" if "loss" in logs else "eval_"))
        super().log(logs, start_time)

    def evaluation_loop(self, *args: Any, metric_key_prefix: str = "eval", **kwargs: Any) -> EvalLoopOutput:
        """Runs evaluation with a loss that does not depend on how rows were batched."""
        training, self._sums = self._sums, {}
        out = super().evaluation_loop(*args, metric_key_prefix=metric_key_prefix, **kwargs)
        assert out.metrics is not None
        out.metrics.update(self._measures(f"{metric_key_prefix}_"))
        self._sums = training
        return out

    def _get_num_items_in_batch(self, batch_samples: list[dict[str, Tensor]], device: torch.device) -> Tensor | None:
        if not batch_samples:
            return None
        total = torch.stack([batch["weights"][:, 1:].sum() for batch in batch_samples]).sum().to(device)
        return self.accelerator.gather(total).sum()

    def _tally(self, out: TokenLoss) -> None:
        values = {name: out[name].detach() for name in ("loss_sum", "weight_sum", "class_loss", "class_count", "correct")}
        for name, value in values.items():
            self._sums[name] = self._sums[name] + value if name in self._sums else value

    def _measures(self, prefix: str) -> dict[str, float]:
        total = {name: self.accelerator.reduce(value.double(), "sum").cpu() for name, value in self._sums.items()}
        self._sums = {}
        measures = {f"{prefix}accuracy": float(total["correct"] / total["class_count"].sum())}
        if prefix:
            measures[f"{prefix}loss"] = float(total["loss_sum"] / total["weight_sum"])
        for kind in TokenClass:
            if total["class_count"][kind]:
                measures[f"{prefix}loss_{kind.name.lower()}"] = float(total["class_loss"][kind] / total["class_count"][kind])
        return measures
