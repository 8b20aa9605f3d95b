"""The environment served over the OpenEnv protocol, and a client of it.

`wildenv.adapters.openenv.server` makes the application, `wildenv.adapters.openenv.client` talks to one. Importing this package
loads neither; it only says what to install if ``openenv`` is missing. Nothing here asks who a client is: whoever reaches the port
may play.
"""

from __future__ import annotations

from importlib.util import find_spec

from wildenv.errors import ConfigError

if find_spec("openenv") is None:
    raise ConfigError("serving the environment, and playing a served one, needs: pip install -e '.[openenv]'")
