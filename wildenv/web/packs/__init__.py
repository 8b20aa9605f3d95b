"""Packs: recorded webs as single files, and what can be done with them."""
