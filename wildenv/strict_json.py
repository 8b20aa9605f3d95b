"""Reading JSON that somebody else wrote: what cannot be used is a `ValueError`, however it is damaged.

Python reads ``NaN``, ``Infinity`` and numbers too large for a float, which other software refuses, and leaves a text that is
nested too deeply to a `RecursionError`. Whether the values make sense is for the caller to check.
"""

from __future__ import annotations

import json
import math
from typing import Any


def loads(text: str | bytes) -> Any:
    """Reads one JSON value.

    Raises:
        ValueError: If it is not JSON or not text, holds a number that is not finite, or is nested too deeply.
    """
    try:
        return json.loads(text, parse_float=finite, parse_constant=finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def finite(written: str) -> float:
    """Returns a number as a float.

    Raises:
        ValueError: If it is not finite.
    """
    value = float(written)
    if not math.isfinite(value):
        raise ValueError(f"{written[:20]} is not a finite number")
    return value
