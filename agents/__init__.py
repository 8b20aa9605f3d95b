"""Policies that play wildenv episodes; run from a checkout, not shipped in the wheel."""
