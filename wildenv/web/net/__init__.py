"""Asking other machines: guarded fetching of what anybody serves, trusted services, manners towards both, and what they cost."""
