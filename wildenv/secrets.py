"""Keys of services: read from the environment, never written anywhere.

A secret that was read is remembered for the life of the process, so that `scrub` finds it in any text that is about to be logged,
stored or shown. It finds the secret as it is and percent-encoded, not one that was split up or encoded in another way.
"""

from __future__ import annotations

import os
import threading
from urllib.parse import quote

from wildenv.errors import ConfigError

HIDDEN = "[secret]"

_LEAST = 6
"""A shorter value is not looked for: it would be found in words."""

_known: set[str] = set()
_lock = threading.Lock()


class Secret:
    """A value that shows itself only to those who ask with `reveal`.

    Args:
        value: The value.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value
        if len(value) >= _LEAST:
            with _lock:
                _known.update((value, quote(value, safe="")))

    def reveal(self) -> str:
        """Returns the value, for the header it is sent in."""
        return self._value

    def __repr__(self) -> str:
        return HIDDEN


def secret_from_env(name: str, setting: str) -> Secret:
    """Reads a key from an environment variable.

    Args:
        name: Of the variable.
        setting: The setting that names the variable, for the message.

    Raises:
        ConfigError: If the variable is not set.
    """
    value = os.environ.get(name, "").strip()
    if not value:
        raise ConfigError(f"the environment variable {name} is not set; export {name}=YOUR_KEY, or name another one in {setting}")
    return Secret(value)


def scrub(text: str) -> str:
    """Returns the text with every secret of this process replaced by `HIDDEN`."""
    with _lock:
        known = sorted(_known, key=len, reverse=True)
    for value in known:
        text = text.replace(value, HIDDEN)
    return text
