"""Opens the model a run starts from, and builds the nano model where there is none yet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from accelerate import PartialState

from agents import checkpoint
from agents.checkpoint import Loaded
from agents.runs import Config
from trainers.data import Rows
from trainers.nano import build_nano
from wildenv.messages import text_of

INITIAL = "initial"
_CORPUS_ROWS = 1_000


def open_model(config: Config, rows: Rows, folder: Path) -> Loaded:
    """Opens the model of the config; sets ``model.path`` of `config` when it builds one.

    Args:
        config: The whole config.
        rows: Training rows; a nano model's tokenizer is trained on their texts.
        folder: The run directory; a nano model is built under ``initial``.

    Raises:
        ConfigError: If the model cannot be opened; the message names the setting.
    """
    model = config["model"]
    if model["kind"] == "nano" and model["path"] is None:
        model["path"] = str(folder / INITIAL)
        with PartialState().local_main_process_first():
            build_nano({**model, "path": None}, corpus(rows), model["seed"], model["path"])
    return checkpoint.from_config(model)


def corpus(rows: Rows) -> Iterator[str]:
    """Yields the texts of the first rows, calls included: what the model will read and write."""
    for index in range(min(len(rows), _CORPUS_ROWS)):
        for message in rows[index].messages:
            yield text_of(message)
            for call in message.get("tool_calls", []):
                for value in call["function"]["arguments"].values():
                    yield str(value)
