"""The tools an agent may call."""
