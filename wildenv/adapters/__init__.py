"""Other software's formats: what episodes and tasks are written as, and read from."""
