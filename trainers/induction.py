"""Starting weights from which a model of a few layers learns to copy from its context at once.

What a large model has from pretraining, a small one finds only after far more text than a laptop can show it: a head that
looks at the previous token, and a later head that looks for what followed the same token before (an induction head). `prepare`
writes that pair into random weights, lets every later head pass on what it looks at, and keeps the rest of each layer quiet
enough for the identity of a token to be heard. They are ordinary weights that training is free to change; they hold no
knowledge of any text.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

FAST_PAIRS = 6
"""Rotary pairs, fastest first, that the previous-token head tells positions apart by."""
SHARPNESS = 7.0
"""Size of that head's query and key in each such pair; at 48 dimensions a head it attends to the previous token by 0.98."""
QUIET = 0.1
"""Factor on all outputs into the residual stream, so that embeddings outweigh noise."""
MATCH = 1.5
"""Factor on queries and keys of the induction heads."""


def prepare(model: Any, seed: int) -> None:
    """Rewrites the weights of a Qwen2-VL model in place.

    Args:
        model: With at least two text layers, biases on queries and keys, and as many key heads as query heads.
        seed: Of the random subspaces.
    """
    generator = torch.Generator().manual_seed(seed)
    text = model.model.language_model
    heads, width = text.config.num_attention_heads, text.config.hidden_size
    size = width // heads
    half = size // 2
    # Slow pairs turn little over the length of a chat: what is written there can be compared across it.
    slow = [*range(half // 2, half), *range(half + half // 2, size)]
    read, write = _orthonormal(len(slow), width, generator), _orthonormal(width, len(slow), generator)
    with torch.no_grad():
        for layer in text.layers:
            layer.self_attn.o_proj.weight.mul_(QUIET)
            layer.mlp.down_proj.weight.mul_(QUIET)
        for block in model.model.visual.blocks:
            block.attn.proj.weight.mul_(QUIET)
            block.mlp.fc2.weight.mul_(QUIET)
        for layer in text.layers[1:]:
            for head in range(heads):
                rows = slice(head * size, (head + 1) * size)
                passed = _orthonormal(size, width, generator)
                layer.self_attn.v_proj.weight[rows] = passed
                layer.self_attn.o_proj.weight[:, rows] = QUIET * passed.T
        _look_back(text, size, half, read, write)
        # Two induction heads in the second layer, and one in the third where there is one.
        for number, head in ((1, 0), (1, 1), (2, 0)):
            if number < len(text.layers) and head < heads:
                _look_up(text.layers[number].self_attn, head * size, size, slow, read, write)


def _look_back(text: Any, size: int, half: int, read: Tensor, write: Tensor) -> None:
    """Makes head 0 of the first layer attend to the previous token and write part of it into the residual stream."""
    attention = text.layers[0].self_attn
    rows = slice(0, size)
    for projection in (attention.q_proj, attention.k_proj):
        projection.weight[rows] *= QUIET
        projection.bias[rows] = 0
    theta = text.config.rope_parameters["rope_theta"]
    for pair in range(min(FAST_PAIRS, half)):
        # Rotated by the same position as the key plus one, this query meets the key exactly.
        angle = torch.tensor(-(theta ** (-pair / half)))
        attention.k_proj.bias[pair] = SHARPNESS
        attention.q_proj.bias[pair] = SHARPNESS * torch.cos(angle)
        attention.q_proj.bias[half + pair] = SHARPNESS * torch.sin(angle)
    attention.v_proj.weight[rows] = 0
    attention.v_proj.bias[rows] = 0
    attention.v_proj.weight[: len(read)] = read
    attention.o_proj.weight[:, rows] = 0
    attention.o_proj.weight[:, : len(read)] = QUIET * write


def _look_up(attention: Any, first: int, size: int, slow: list[int], read: Tensor, write: Tensor) -> None:
    """Makes a head compare the current token with what `_look_back` wrote: it finds what followed the same token before."""
    dimensions = [first + index for index in slow]
    for projection, match in ((attention.q_proj, read), (attention.k_proj, write.T)):
        projection.weight[first : first + size] *= QUIET
        projection.weight[dimensions] = MATCH * match


def _orthonormal(rows: int, columns: int, generator: torch.Generator) -> Tensor:
    tall, _ = torch.linalg.qr(torch.randn(max(rows, columns), min(rows, columns), generator=generator))
    return (tall if rows >= columns else tall.T).contiguous()
