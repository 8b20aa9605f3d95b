"""The shape that a structured reply must have: a JSON schema, checked by the ``jsonschema`` package.

A reply is the JSON value alone, or one fenced block of it with words around. Nothing is guessed: a value that does not fit is
described, never bent until it fits. References to schemas elsewhere are not followed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from wildenv.errors import ConfigError
from wildenv.models.wording import wording
from wildenv.strict_json import finite

_BLOCK = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n?```", re.DOTALL | re.IGNORECASE)
_SHOWN = 5
_CHARS = 200


class Misfit(ValueError):
    """A reply does not have the shape; the message tells the model what is wrong."""


class Shape:
    """A JSON schema.

    Args:
        schema: Draft 2020-12.

    Raises:
        ConfigError: If it is no valid schema, or ``jsonschema`` is not installed.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        try:
            from jsonschema import Draft202012Validator, SchemaError
            from referencing import Registry
        except ImportError as error:
            raise ConfigError("structured replies need the package jsonschema; run pip install 'wildenv[chat]'") from error
        self.schema = dict(schema)
        try:
            Draft202012Validator.check_schema(self.schema)
        except SchemaError as error:
            raise ConfigError(f"the schema of the reply is not valid at {error.json_path}: {error.message[:_CHARS]}") from None
        # With an empty registry nothing is ever fetched.
        self._validator = Draft202012Validator(self.schema, registry=Registry())

    @property
    def request(self) -> str:
        """What asks a model in words for a reply of this shape."""
        return wording("structured").format(schema=json.dumps(self.schema, ensure_ascii=False))

    def read(self, text: str) -> Any:
        """Returns the value.

        Raises:
            Misfit: If the text is not JSON or does not fit the schema.
        """
        blocks = _BLOCK.findall(text)
        if len(blocks) > 1:
            raise Misfit(f"there are {len(blocks)} blocks; write one")
        written = (blocks[0] if blocks else text).strip()
        try:
            value = json.loads(written, parse_float=finite, parse_constant=finite, object_pairs_hook=_once)
        except (ValueError, RecursionError) as error:
            raise Misfit(f"it is not JSON: {error}") from None
        from referencing.exceptions import Unresolvable

        try:
            errors = sorted(self._validator.iter_errors(value), key=lambda error: error.json_path)
        except Unresolvable as error:
            raise ConfigError(f"the schema of the reply refers to something that is not in it: {error}") from None
        if errors:
            shown = [f"at {error.json_path}: {error.message[:_CHARS]}" for error in errors[:_SHOWN]]
            more = [f"and {len(errors) - _SHOWN} more"] if len(errors) > _SHOWN else []
            raise Misfit("\n".join([*shown, *more]))
        return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise ValueError(f"the key {max(names, key=names.count)!r} is there twice")
    return dict(pairs)
