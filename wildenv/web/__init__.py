"""The recorded, replayable, date-cutoff web."""
