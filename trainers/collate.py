"""The multimodal trajectory collator: chats with pictures in any role become one padded batch with a loss weight per token.

TRL's own collator cannot place pictures in tool messages, so rows are encoded here, by the encoder that rollouts use too. Rows
are expected to fit (`trainers.fit`): nothing is cut here.

Sequences are padded on the right and come without an attention mask: in a causal model no real token ever sees what stands
behind it, and without a mask attention takes a path that is about twice as fast. A model that looks ahead must not be trained
on these batches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from PIL import Image
from torch import Tensor

from agents.encode import Encoded, TokenClass, TrajectoryEncoder
from trainers.data import Rows
from wildenv.errors import ConfigError, DataError

Turns = Literal["all", "last"]
CLASS_NAMES = {kind.name.lower(): kind for kind in TokenClass}


class TrajectoryCollator:
    """Turns ``{"row", "kept"}`` items into a batch.

    Args:
        rows: Where rows are read from.
        encoder: Of the model that is trained.
        weights: Loss weight of each kind of token, by `TokenClass` name in lower case; missing kinds are 0.
        assistant_turns: Train every assistant turn or the last one only.
        dummy_image: Give a batch without pictures one picture that nothing attends to and no loss depends on. Under ZeRO-3 a rank
            whose batch has no picture would otherwise skip the vision tower and leave the others waiting for ever.

    Raises:
        ConfigError: If a weight is negative, of an unknown kind, or all are 0; or `dummy_image` is asked of a text-only model.
    """

    def __init__(
        self,
        rows: Rows,
        encoder: TrajectoryEncoder,
        weights: Mapping[str, float],
        assistant_turns: Turns = "all",
        dummy_image: bool = False,
    ) -> None:
        strange = sorted(set(weights) - set(CLASS_NAMES))
        if strange:
            raise ConfigError(f"trainer.token_weights: unknown kinds {strange}; the kinds are {', '.join(CLASS_NAMES)}")
        if any(weight < 0 for weight in weights.values()) or not any(weights.values()):
            raise ConfigError("trainer.token_weights: weights are at least 0 and one is above 0")
        if assistant_turns not in ("all", "last"):
            raise ConfigError(f"trainer.assistant_turns={assistant_turns!r} is neither 'all' nor 'last'")
        if dummy_image and not encoder.vision:
            raise ConfigError("trainer.dummy_image=true needs a model that sees; set it to false for a text-only model")
        self._rows = rows
        self._encoder = encoder
        self._table = torch.zeros(len(TokenClass))
        for name, weight in weights.items():
            self._table[CLASS_NAMES[name]] = weight
        self._turns = assistant_turns
        self._dummy_image = dummy_image
        pad = encoder.tokenizer.pad_token_id
        self._pad = encoder.tokenizer.eos_token_id if pad is None else pad

    def __call__(self, items: Sequence[Mapping[str, int]]) -> dict[str, Tensor]:
        """Returns a batch.

        Returns:
            ``input_ids``, ``classes`` (int64) and ``weights`` (float32), all batch x length; for a model that sees also
            ``mm_token_type_ids`` and, with pictures, ``pixel_values`` (patches x values) and ``image_grid_thw`` (pictures x 3).

        Raises:
            DataError: If a row has no token to train on.
        """
        encoded = [self._encode(item) for item in items]
        weights = [self._weights(row) for row in encoded]
        for item, weight in zip(items, weights, strict=True):
            # The first token of a chat has no predecessor and is never a target.
            if not bool((weight[1:] > 0).any()):
                name = self._rows[item["row"]].id
                raise DataError(f"row {name} has no token to train on; see trainer.token_weights and trainer.assistant_turns")
        batch = {
            "input_ids": self._padded([torch.tensor(row.input_ids) for row in encoded], self._pad),
            "classes": self._padded([torch.tensor(row.classes) for row in encoded], int(TokenClass.CONTEXT)),
            "weights": self._padded(weights, 0.0),
        }
        if not self._encoder.vision:
            return batch
        batch["mm_token_type_ids"] = self._padded([torch.tensor(row.mm_token_type_ids) for row in encoded], 0)
        pictures = [row for row in encoded if row.pixel_values is not None]
        if pictures:
            batch["pixel_values"] = torch.cat([row.pixel_values for row in pictures if row.pixel_values is not None])
            batch["image_grid_thw"] = torch.cat([row.image_grid_thw for row in pictures if row.image_grid_thw is not None])
        elif self._dummy_image:
            self._add_dummy(batch)
        return batch

    def _encode(self, item: Mapping[str, int]) -> Encoded:
        row = self._rows[item["row"]]
        return self._encoder.encode(row.messages[: item["kept"]], row.tools, self._rows.images)

    def _weights(self, row: Encoded) -> Tensor:
        classes = torch.tensor(row.classes)
        weights = self._table[classes]
        if self._turns == "last":
            context = (classes == TokenClass.CONTEXT).nonzero()
            inside = (classes != TokenClass.CONTEXT).nonzero()
            last = int(inside[-1]) if len(inside) else 0
            before = context[context < last]
            weights[: int(before[-1]) + 1 if len(before) else 0] = 0
        return weights

    @staticmethod
    def _padded(sequences: list[Tensor], value: float) -> Tensor:
        return torch.nn.utils.rnn.pad_sequence(sequences, batch_first=True, padding_value=value)

    def _add_dummy(self, batch: dict[str, Tensor]) -> None:
        """Appends the smallest picture behind the first row: after all that could attend to it, and of weight 0."""
        processor: Any = self._encoder.image_processor
        side = processor.patch_size * processor.merge_size
        out = processor(images=[Image.new("RGB", (side, side))], return_tensors="pt")
        count = int(out["image_grid_thw"].prod()) // processor.merge_size**2
        for name, filling in (("input_ids", self._pad), ("classes", 0), ("weights", 0.0), ("mm_token_type_ids", 0)):
            batch[name] = torch.nn.functional.pad(batch[name], (0, count), value=filling)
        assert self._encoder.image_token_id is not None
        batch["input_ids"][0, -count:] = self._encoder.image_token_id
        batch["mm_token_type_ids"][0, -count:] = 1
        batch["pixel_values"], batch["image_grid_thw"] = out["pixel_values"], out["image_grid_thw"]
