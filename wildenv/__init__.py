"""A Gymnasium environment with a replayable, date-cutoff web for agents that find references for image generators.

Importing the package registers the Gymnasium ids and loads no model library.
"""

from wildenv.interrupt import starting

with starting():
    from wildenv.registration import ENV_ID, make_env, make_vec, register

__all__ = ["ENV_ID", "make_env", "make_vec"]

register()
