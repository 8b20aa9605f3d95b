"""Models behind OpenAI-compatible endpoints, and what is built on one."""
