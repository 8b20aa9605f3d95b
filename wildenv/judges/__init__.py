"""Judges: from a task and a submission to a verdict, or to none."""
