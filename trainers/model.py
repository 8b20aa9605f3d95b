"""The model a run starts from: the nano model is built where there is none yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from trainers.data import Rows
from trainers.nano import build_nano
from wildenv.messages import text_of

INITIAL = "initial"
_CORPUS_ROWS = 1_000


def provide_model(model: Mapping[str, Any], rows: Rows, folder: Path) -> dict[str, Any]:
    """Returns the model config with a path: a nano model without one is built first.

    Args:
        model: The ``model`` config.
        rows: Training rows; a nano model's tokenizer is trained on their texts.
        folder: The run directory; a nano model is built under ``initial``.

    Raises:
        ConfigError: If sizes in the config do not fit together.
    """
    if model["kind"] != "nano" or model["path"] is not None:
        return dict(model)
    return {**model, "path": str(build_nano(model, corpus(rows), model["seed"], folder / INITIAL))}


def corpus(rows: Rows) -> Iterator[str]:
    """Yields the texts of the first rows, calls included: what the model will read and write."""
    for index in range(min(len(rows), _CORPUS_ROWS)):
        for message in rows[index].messages:
            yield text_of(message)
            for call in message.get("tool_calls", []):
                for value in call["function"]["arguments"].values():
                    yield str(value)
