"""Rewards: from verdicts to a number and whether it may be trained on."""
