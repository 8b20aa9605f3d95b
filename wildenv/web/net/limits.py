"""What one fetch from a host that nobody vouches for may cost."""

from __future__ import annotations

import math
from dataclasses import dataclass

from wildenv.errors import ConfigError


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """What one fetch may cost. Settings: ``web.limits``.

    What is being fetched is in memory: at worst one page an episode, or all pictures of a search, of `decoded_bytes` each.

    Args:
        page_bytes: Of a page, as they arrive: packed, if the server packs them.
        picture_bytes: Of a picture, as they arrive.
        decoded_bytes: Of either, unpacked.
        redirects: That are followed.
        connect_s: Seconds to look up the name and connect, TLS included.
        first_byte_s: Seconds from there until the head of the reply is complete.
        total_s: Seconds of work in all, over redirects and repeated attempts. Waiting for one's turn to ask a host, and between
            attempts, counts towards the deadline of the tool call only.

    Raises:
        ConfigError: If a value is out of range.
    """

    page_bytes: int = 5_000_000
    picture_bytes: int = 20_000_000
    decoded_bytes: int = 20_000_000
    redirects: int = 5
    connect_s: float = 5.0
    first_byte_s: float = 10.0
    total_s: float = 15.0

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            whole = name.endswith("_bytes") or name == "redirects"
            if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
                raise ConfigError(f"web.limits.{name}={value!r} must be a {'whole ' if whole else ''}number")
            if not (0 <= value < math.inf) or (value == 0 and name != "redirects"):
                raise ConfigError(f"web.limits.{name}={value!r} must be above 0; only redirects may be 0")
