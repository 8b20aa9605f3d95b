"""Where episodes are played: in this process (``executor=local``) or in workers of a Ray cluster (``executor=ray``).

An executor plays the same episodes as any other: it is no part of what a folder was rolled with, and a folder begun by one is
finished by another.
"""
