"""Numbers of a config, checked before anything is made of them."""

from __future__ import annotations

import math
from typing import Any

from wildenv.construct import is_number
from wildenv.errors import ConfigError


def whole(name: str, value: Any, least: int = 1, none: str | None = None) -> None:
    """Checks a whole number.

    Args:
        name: The setting.
        value: What it is set to.
        least: The smallest it may be.
        none: What null means; null is refused if None.

    Raises:
        ConfigError: Naming the setting.
    """
    if value is None and none is not None:
        return
    if not is_number(value, whole=True) or value < least:
        raise ConfigError(f"{name}={value!r} must be a whole number of at least {least}{_null(none)}")


def positive(name: str, value: Any, none: str | None = None) -> None:
    """Checks a number above 0; arguments and errors as in `whole`."""
    if value is None and none is not None:
        return
    if not _is_finite(value) or value <= 0:
        raise ConfigError(f"{name}={value!r} must be a number above 0{_null(none)}")


def share(name: str, value: Any, none: str | None = None) -> None:
    """Checks a number in 0..1; arguments and errors as in `whole`."""
    if value is None and none is not None:
        return
    if not _is_finite(value) or not 0 <= value <= 1:
        raise ConfigError(f"{name}={value!r} must be a number from 0 to 1{_null(none)}")


def _is_finite(value: Any) -> bool:
    return is_number(value) and math.isfinite(value)


def _null(none: str | None) -> str:
    return "" if none is None else f"; null is {none}"
