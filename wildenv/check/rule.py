"""What the rules of all checks have in common."""

from __future__ import annotations

import json
from typing import Any


def require(holds: object, rule: str) -> None:
    """Raises `AssertionError` with the rule unless it holds; unlike `assert`, also under ``python -O``."""
    if not holds:
        raise AssertionError(rule)


def is_json(value: Any) -> bool:
    """Whether a value consists of JSON values, finite numbers only."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True
