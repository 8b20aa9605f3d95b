"""Benchmarks and the reports made from their episodes; run from a checkout, not shipped in the wheel."""

from agents.needs import need

need({"hydra": "hydra-core", "rich": "rich"}, "bench")
