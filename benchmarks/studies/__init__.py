"""Studies of the benchmark itself, rather than of an agent."""
