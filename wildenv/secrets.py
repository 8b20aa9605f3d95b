"""Keys of services: read from the environment, never written anywhere.

A secret that was read is remembered for the life of the process, so that `scrub` finds it in any text that is about to be logged,
stored or shown. It finds the secret as it is and percent-encoded, not one that was split up or encoded in another way, and not
one that was never made a `Secret`.

Texts pass it where they enter something that lasts: a store (`wildenv.web.store`), what a provider said
(`wildenv.web.recorder`), the record of an episode (`wildenv.env`) and the logs (`logger`).
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping
from typing import Any
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


def scrubbed(value: Any) -> Any:
    """Returns JSON values with every secret of this process replaced in their texts; other values as they are."""
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, Mapping):
        return {scrubbed(name): scrubbed(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [scrubbed(one) for one in value]
    return value


class Scrubbing(logging.Filter):
    """Replaces secrets in what a logger says, tracebacks included."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Changes the record; lets every one pass."""
        record.msg, record.args = scrub(record.getMessage()), None
        if record.exc_info:
            # Formatters take a text that is there for the traceback's.
            record.exc_text = scrub(logging.Formatter().formatException(record.exc_info))
        return True


_SCRUBBING = Scrubbing()


def logger(name: str) -> logging.Logger:
    """Returns the logger of a module, which says no secrets."""
    found = logging.getLogger(name)
    # Adding the same filter again does nothing.
    found.addFilter(_SCRUBBING)
    return found
