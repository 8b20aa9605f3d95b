"""A LoRA adapter to go on training."""

from __future__ import annotations

from pathlib import Path

from peft import PeftModel
from transformers import PreTrainedModel

from wildenv.errors import ConfigError


def open_adapter(model: PreTrainedModel, folder: str) -> PeftModel:
    """Puts a trained adapter on the model it was trained on, ready to be trained further.

    Raises:
        ConfigError: If the folder holds no adapter, or one of another model.
    """
    if not (Path(folder) / "adapter_config.json").is_file():
        raise ConfigError(f"trainer.adapter={folder} holds no adapter_config.json; name a checkpoint of a run with LoRA")
    try:
        return PeftModel.from_pretrained(model, folder, is_trainable=True)
    except (RuntimeError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ConfigError(f"trainer.adapter={folder} does not fit model.path ({reason})") from error
