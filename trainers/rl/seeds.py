"""The seed of each rollout's draws: a resumed run draws what the uninterrupted one would have drawn."""

from __future__ import annotations

import hashlib


def draw_seed(run_seed: int, step: int, rollout: int) -> int:
    """Returns the seed of a rollout.

    Args:
        run_seed: Of the run.
        step: Updates made before it was rolled.
        rollout: Its place among the rollouts of all ranks.
    """
    return int.from_bytes(hashlib.sha256(f"{run_seed}:{step}:{rollout}".encode()).digest()[:6], "big")
