"""Collecting trajectories and training models on them; run from a checkout, not shipped in the wheel."""

from agents.needs import need

need({"hydra": "hydra-core", "rich": "rich", "torch": "torch"}, "train")
