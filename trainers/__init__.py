"""Collecting trajectories and training models on them; run from a checkout, not shipped in the wheel."""
