"""Drawing tokens with a seed for each row, and remembering how likely what was drawn is."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from transformers import LogitsProcessor


class Sampler(LogitsProcessor):
    """Makes greedy decoding draw from the softmax: the largest of logit / temperature + Gumbel noise is a draw from it.

    What a row gets depends on its seed and its logits, not on its neighbours.

    Args:
        seeds: One a row.
        temperature: Above 0.
        top_p: Only the most likely tokens that together have this probability are drawn.
        banned: Tokens that are never drawn.

    Attributes:
        log_probs: For each step so far a tensor of one number a row: the log-probability of what was drawn under
            softmax(logits / temperature), `top_p` and `banned` left aside.
    """

    def __init__(self, seeds: Sequence[int], temperature: float, top_p: float = 1.0, banned: Sequence[int] = ()) -> None:
        self.generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        self.temperature = temperature
        self.top_p = top_p
        self.banned = list(banned)
        self.log_probs: list[Tensor] = []

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> Tensor:
        """Returns scores whose largest is the draw."""
        logits = scores.float() / self.temperature
        uniform = torch.stack([torch.rand(scores.shape[1], generator=generator) for generator in self.generators])
        noise = -torch.log(-torch.log(uniform.clamp_min(torch.finfo(torch.float32).tiny)))
        allowed = logits if self.top_p >= 1 else self._nucleus(logits)
        if self.banned:
            allowed = allowed.index_fill(1, torch.tensor(self.banned, device=logits.device), -torch.inf)
        drawn = allowed + noise.to(logits.device)
        chosen = drawn.argmax(-1, keepdim=True)
        self.log_probs.append((logits.gather(1, chosen) - logits.logsumexp(-1, keepdim=True)).squeeze(1))
        return drawn

    def _nucleus(self, logits: Tensor) -> Tensor:
        ordered, places = logits.sort(descending=True)
        before = ordered.softmax(-1).cumsum(-1) - ordered.softmax(-1)
        # The most likely token is always allowed: nothing stands before it.
        cut = ordered.masked_fill(before >= self.top_p, -torch.inf)
        return torch.empty_like(logits).scatter_(1, places, cut)
