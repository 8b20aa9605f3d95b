"""Values out of the JSON that a service sent, which may be missing, null or of the wrong type.

An entry that lacks what makes it usable is left out by whoever reads it; a reply whose shape is wrong is the service's failure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

from wildenv.errors import ProviderError, ToolError

LONGEST_QUERY = 2048
"""Characters; search engines cut or refuse what is longer."""

LARGEST_COUNT = 10**12
"""Of credits or tokens that are believed; what a service counts beyond it cannot be told from a fault."""

_UNPRINTABLE = re.compile(r"[\ud800-\udfff\x00]")


def text(value: Any) -> str:
    """Returns a text or number without surrounding space and what UTF-8 cannot hold; "" for anything else."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return _UNPRINTABLE.sub("", value).strip() if isinstance(value, str) else ""


def count(value: Any) -> int | None:
    """Returns a whole number from 0 to `LARGEST_COUNT`; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_COUNT else None


def error_status(body: Any, name: str) -> int | None:
    """Returns the HTTP status in a field of a reply; None if there is none or it is no error."""
    status = count(body.get(name)) if isinstance(body, dict) else None
    return status if status is not None and 400 <= status < 1000 else None


def query_text(query: str) -> str:
    """Returns a query as it is sent.

    Raises:
        ToolError: If it is longer than `LONGEST_QUERY`.
    """
    if len(query) > LONGEST_QUERY:
        raise ToolError(f"the query has {len(query):,} characters; a search takes at most {LONGEST_QUERY:,}")
    return text(query)


def mapping(value: Any, service: str) -> Mapping[str, Any]:
    """Returns the value if it is a JSON object.

    Raises:
        ProviderError: If it is not.
    """
    if not isinstance(value, dict):
        raise unexpected(service, f"a {type(value).__name__} where an object belongs")
    return value


def rows(body: Mapping[str, Any], name: str, service: str) -> list[Mapping[str, Any]]:
    """Returns the objects of a list; a list that is missing or null is empty, entries that are no objects are left out.

    Raises:
        ProviderError: If it is something else than a list.
    """
    value = body.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise unexpected(service, f"{name} is a {type(value).__name__}, not a list")
    return [row for row in value if isinstance(row, dict)]


def address(value: Any, base: str = "") -> str | None:
    """Returns an absolute http(s) address.

    Args:
        value: As the service gave it: absolute, relative, or without a scheme (``//host/path``).
        base: What a relative one is relative to.

    Returns:
        The address; None if it is none that can be fetched, such as ``data:``.
    """
    given = text(value).replace(" ", "%20")
    if not given or re.search(r"\s", given):
        return None
    try:
        url = urljoin(base or "https:", given)
        parts = urlsplit(url)
        return url if parts.scheme in ("http", "https") and parts.hostname else None
    except ValueError:
        return None


def unexpected(service: str, what: str) -> ProviderError:
    """Returns the error for a reply of the wrong shape."""
    return ProviderError(f"{service} sent a reply of an unexpected shape: {what}; its API may have changed", "unexpected reply")
