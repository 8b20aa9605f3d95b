"""Resuming: weights are restored by the same way a checkpoint is opened."""

from __future__ import annotations

from typing import Any

from torch import nn
from transformers import PreTrainedModel


class RestoredWeights:
    """Mix it in before a transformers trainer.

    Qwen-VL checkpoints name the vision tower otherwise than the model does. transformers 5.24 translates in ``from_pretrained``
    but not when a trainer resumes, so that a resumed run would go on with the vision tower it started from and only log the
    missing keys.
    """

    def _load_from_checkpoint(self: Any, resume_from_checkpoint: str, model: nn.Module | None = None) -> None:
        target = self.accelerator.unwrap_model(self.model if model is None else model)
        if not isinstance(target, PreTrainedModel) or self.is_deepspeed_enabled or self.is_fsdp_enabled:
            super()._load_from_checkpoint(resume_from_checkpoint, model)  # type: ignore[misc]
            return
        restored = type(target).from_pretrained(resume_from_checkpoint, dtype=target.dtype)
        target.load_state_dict(restored.state_dict())
