"""Locate, Corroborate, Isolate: a search policy in three phases, and the tools it reads pictures with."""
