"""Which rollouts of a group are compared: decided before the advantage is computed.

A rollout that could not be scored (its web, tool or judge failed) is taken out of its group, so that neither the group's mean nor
its deviation knows of it. A group with too few scored rollouts is skipped: with one, (R - mean) is 0 whatever it did.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Groups:
    """Rewards of a batch, masked.

    Attributes:
        rewards: Rollouts x functions; NaN in the whole row of a rollout that takes no part.
        scored: For each rollout whether every function scored it.
        kept: For each rollout whether it takes part: it is scored and its group is not skipped.
        skipped: Groups that were skipped.
    """

    rewards: Tensor
    scored: Tensor
    kept: Tensor
    skipped: int


def mask_groups(rewards: Tensor, size: int, min_valid: int = 2) -> Groups:
    """Masks what must not enter an advantage.

    Args:
        rewards: Rollouts x reward functions, the rollouts of a group next to each other; NaN where a function abstained.
        size: Rollouts of a group.
        min_valid: Fewest scored rollouts of a group that is not skipped.
    """
    scored = ~torch.isnan(rewards).any(dim=1)
    enough = scored.view(-1, size).sum(dim=1) >= min_valid
    kept = scored & enough.repeat_interleave(size)
    return Groups(rewards.masked_fill(~kept[:, None], torch.nan), scored, kept, int((~enough).sum()))
