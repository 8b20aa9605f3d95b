"""The command `wildenv`: record, replay, and what can be done with packs."""
