"""Text that a spreadsheet does not take for a formula: error messages, titles and names come from strangers.

It does not keep a program from reading such a cell as anything else.
"""

from __future__ import annotations

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def guarded(text: str) -> str:
    """Returns text with an apostrophe before what would begin a formula."""
    return f"'{text}" if text[:1] in _FORMULA else text


def unguarded(text: str) -> str:
    """Undoes `guarded`."""
    return text[1:] if text[:1] == "'" and text[1:2] in _FORMULA else text
