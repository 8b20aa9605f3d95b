"""The forward pass of GRPO over chats with pictures: batches without one, and how far rollout and training agree.

Mix it in before TRL's GRPOTrainer.
"""

from __future__ import annotations

from typing import Any

import torch
from PIL import Image
from torch import Tensor

from agents.encode import TrajectoryEncoder


class PictureForward:
    """Changes TRL's `_get_per_token_logps_and_entropies` and `_compute_loss`.

    Attributes:
        encoder: Of the model.
        dummy_image: Whether a batch without pictures gets a row with the smallest one, which no loss depends on. Under ZeRO-3 a
            rank that skips the vision tower would leave the others waiting for ever.
    """

    encoder: TrajectoryEncoder
    dummy_image: bool

    def _get_per_token_logps_and_entropies(
        self: Any,
        model: Any,
        input_ids: Tensor,
        attention_mask: Tensor,
        logits_to_keep: int,
        batch_size: int | None = None,
        compute_entropy: bool = False,
        compute_aux_loss: bool = False,
        pixel_values: Tensor | None = None,
        image_grid_thw: Tensor | None = None,
        num_images: list[int] | None = None,
        mm_token_type_ids: Tensor | None = None,
        **other: Any,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Computes log-probabilities chunk by chunk, each with the pictures of its own rows."""
        size = batch_size or len(input_ids)
        parts = []
        picture = patch = 0
        for start in range(0, len(input_ids), size):
            rows = slice(start, start + size)
            arguments: dict[str, Any] = {}
            count = sum(num_images[rows]) if num_images else 0
            if count and pixel_values is not None and image_grid_thw is not None:
                grid = image_grid_thw[picture : picture + count]
                patches = int(grid.prod(-1).sum())
                arguments = {
                    "pixel_values": pixel_values[patch : patch + patches],
                    "image_grid_thw": grid,
                    "num_images": num_images[rows] if num_images else None,
                }
                picture, patch = picture + count, patch + patches
            types = None if mm_token_type_ids is None else mm_token_type_ids[rows]
            ids, mask = input_ids[rows], attention_mask[rows]
            stand_in = self.dummy_image and not count
            if stand_in:
                ids, mask, types, arguments = _with_dummy(self.encoder, ids, mask)
            logps, entropies, aux = super()._get_per_token_logps_and_entropies(  # type: ignore[misc]
                model,
                ids,
                mask,
                logits_to_keep,
                compute_entropy=compute_entropy,
                compute_aux_loss=compute_aux_loss,
                mm_token_type_ids=types,
                **arguments,
                **{name: value for name, value in other.items() if value is not None},
            )
            if stand_in:
                # Times 0: the gradient of the vision tower is computed, and is nothing.
                logps, entropies = logps[:-1] + 0.0 * logps[-1].sum(), None if entropies is None else entropies[:-1]
            parts.append((logps, entropies, aux))
        logps = torch.cat([part[0] for part in parts])
        entropies = torch.cat([part[1] for part in parts]) if compute_entropy else None
        aux = torch.stack([part[2] for part in parts]).mean() if compute_aux_loss else None
        self._last_logps = logps.detach()
        return logps, entropies, aux

    def _compute_loss(self: Any, model: Any, inputs: dict[str, Any]) -> Tensor:
        """Also logs how far the log-probabilities of what was drawn are from those it is trained with, before any update."""
        metrics = self._metrics["train" if self.model.training else "eval"]
        before = {name: len(values) for name, values in metrics.items()}
        loss: Tensor = super()._compute_loss(model, inputs)  # type: ignore[misc]
        drawn = inputs["completion_mask"] * inputs["tool_mask"]
        if not self.accelerator.reduce(drawn.sum(), "sum").item():
            # TRL counts a pass in which nothing is learnt as one of entropy 0.
            for name in list(metrics):
                del metrics[name][before.get(name, 0) :]
        sampled = inputs.get("sampling_per_token_logps")
        if sampled is not None and self._step % (self.args.steps_per_generation * self.num_iterations) < min(
            self.args.gradient_accumulation_steps, self.args.steps_per_generation
        ):
            gap = (self._last_logps - sampled).abs()[drawn.bool() & ~torch.isnan(sampled)]
            sums = torch.stack([gap.sum(), torch.tensor(float(len(gap)), device=gap.device)])
            total, count = self.accelerator.reduce(sums, "sum").tolist()
            if count:
                metrics["sampling/logp_gap"].append(total / count)
        return loss


def _with_dummy(encoder: TrajectoryEncoder, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor, dict[str, Any]]:
    """Adds a row that ends with the smallest picture and an end-of-turn token."""
    processor: Any = encoder.image_processor
    side = processor.patch_size * processor.merge_size
    out = processor(images=[Image.new("RGB", (side, side))], return_tensors="pt")
    count = int(out["image_grid_thw"].prod()) // processor.merge_size**2
    end = encoder.tokenizer.eos_token_id
    row = torch.full_like(ids[:1], end)
    row[0, -1 - count : -1] = encoder.image_token_id
    shown = torch.zeros_like(mask[:1])
    shown[0, -1 - count :] = 1
    types = torch.zeros_like(ids)
    kinds = torch.zeros_like(ids[:1])
    kinds[0, -1 - count : -1] = 1
    rows = [*[0] * len(ids), 1]
    pictures = {
        "pixel_values": out["pixel_values"].to(ids.device),
        "image_grid_thw": out["image_grid_thw"].to(ids.device),
        "num_images": rows,
    }
    return torch.cat([ids, row]), torch.cat([mask, shown]), torch.cat([types, kinds]), pictures
