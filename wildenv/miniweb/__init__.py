"""The embedded web: a small dated world generated from a seed, its pages, its pictures and its search index."""
