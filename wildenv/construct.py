"""Objects from plain settings: whatever is wrong with a setting is said with its name, before anything is made.

Checks names, and values whose type is one of a few plain ones; ranges are for the object to check.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, Union, get_args, get_origin, get_type_hints

from wildenv.errors import ConfigError

_PLAIN: dict[Any, tuple[str, Callable[[Any], bool]]] = {
    int: ("a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool)),
    float: ("a number", lambda value: isinstance(value, int | float) and not isinstance(value, bool)),
    bool: ("true or false", lambda value: isinstance(value, bool)),
    str: ("text", lambda value: isinstance(value, str)),
    date: ("a date, YYYY-MM-DD", lambda value: isinstance(value, date)),
    type(None): ("null", lambda value: value is None),
}


def construct(maker: Callable[..., Any], where: str, given: object, hidden: tuple[str, ...] = ()) -> Any:
    """Calls a maker with settings.

    Args:
        maker: A class or function.
        where: Where the settings stand, such as ``web.limits``.
        given: The settings, by name; None is none.
        hidden: Parameters that are no settings.

    Raises:
        ConfigError: If a setting is unknown, missing or of a wrong type. What the maker itself raises is passed on.
    """
    return maker(**checked(maker, where, given, hidden))


def checked(maker: Callable[..., Any], where: str, given: object, hidden: tuple[str, ...] = ()) -> dict[str, Any]:
    """Returns what `construct` would call a maker with; arguments and errors as there."""
    if given is None:
        given = {}
    if not isinstance(given, Mapping):
        raise ConfigError(f"{where}={given!r} must be a group of settings, {where}.NAME")
    try:
        parameters = inspect.signature(maker).parameters.values()
    except ValueError:
        # Some built-in classes do not say what they take.
        return dict(given)
    named = {
        one.name: one
        for one in parameters
        if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY) and one.name not in hidden
    }
    unknown = sorted(set(given) - set(named), key=str)
    if unknown and not any(one.kind is one.VAR_KEYWORD for one in parameters):
        there = f"there are {', '.join(f'{where}.{name}' for name in named)}" if named else "it has none"
        raise ConfigError(f"{where}.{unknown[0]} is no setting; {there}")
    missing = [name for name, one in named.items() if one.default is one.empty and name not in given]
    if missing:
        raise ConfigError(f"{where}.{missing[0]} is missing; set it")
    hints = _hints(maker)
    return {name: _value(f"{where}.{name}", value, hints.get(name)) for name, value in given.items()}


def is_number(value: object, whole: bool = False) -> bool:
    """Says whether a value is a number, which true and false are not."""
    return _PLAIN[int if whole else float][1](value)


def day_of(text: str) -> date:
    """Reads a date.

    Raises:
        ValueError: Saying how a date is written.
    """
    try:
        if len(text) == len("YYYY-MM-DD"):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise ValueError(f"{text!r} is no date; write YYYY-MM-DD")


def _hints(maker: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(maker.__init__ if inspect.isclass(maker) else maker)
    except (NameError, TypeError, AttributeError):
        # Somebody's own class may name types that are not there at run time; then nothing is known of its values.
        return {}


def _value(name: str, value: object, hint: Any) -> Any:
    wanted = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    if not all(one in _PLAIN for one in wanted):
        return value
    if date in wanted and isinstance(value, str):
        try:
            return day_of(value)
        except ValueError as error:
            raise ConfigError(f"{name}={error}") from error
    if not any(_PLAIN[one][1](value) for one in wanted):
        raise ConfigError(f"{name}={value!r} must be {' or '.join(_PLAIN[one][0] for one in wanted)}")
    return value
