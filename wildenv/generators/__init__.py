"""Image generators: what an answer is handed on to."""
