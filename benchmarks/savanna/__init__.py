"""Savanna: search and generation scores by domain and by retrieval confusion."""
