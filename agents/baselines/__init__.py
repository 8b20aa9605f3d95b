"""Baselines: what search earns without the paradigm, or without search at all."""
