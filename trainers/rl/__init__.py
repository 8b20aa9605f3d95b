"""The parts of `trainers.grpo`."""
