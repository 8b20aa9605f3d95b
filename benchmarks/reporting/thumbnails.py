"""Small pictures for the page, each kept once however many episodes show it.

A page has two sizes: thumbnails of what an agent was shown, and larger ones of what was judged. They are WebP; their bytes
depend on the pictures and on the version of the encoder. A picture that is not in its folder, or is damaged, is counted and
left empty.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from PIL import Image
from tqdm import tqdm

from wildenv.errors import ConfigError, DataError
from wildenv.images import ImageStore

_QUALITY = 70
_THREADS = 2
"""Pillow works outside the interpreter lock; more threads than this only hold more pictures in memory."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large pictures are on the page.

    Attributes:
        small: Longest side of a thumbnail, in pixels.
        large: Longest side of a picture that was judged, handed on, or cropped from.
        each: Thumbnails of an episode at most; further pictures are named, not shown.
    """

    small: int = 96
    large: int = 256
    each: int = 40

    def __post_init__(self) -> None:
        if not 16 <= self.small <= self.large <= 2048:
            raise ConfigError(f"thumb_px={self.small} and large_px={self.large} must satisfy 16 <= thumb_px <= large_px <= 2048")
        if self.each < 0:
            raise ConfigError(f"thumbs_per_episode={self.each} must be 0 or more")


class Thumbnails:
    """The pictures of a page, numbered in the order they are first asked for.

    Args:
        sizes: How large they are.
    """

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self.missing = 0
        self._numbers: dict[tuple[str, int], int] = {}
        self._wanted: list[tuple[ImageStore, str, int]] = []

    def small(self, store: ImageStore, digest: str) -> int:
        """Returns the number of a thumbnail."""
        return self._number(store, digest, self.sizes.small)

    def large(self, store: ImageStore, digest: str) -> int:
        """Returns the number of a larger picture."""
        return self._number(store, digest, self.sizes.large)

    def encode(self, progress: bool = True) -> list[bytes]:
        """Returns the WebP bytes of all pictures by number; empty for a missing one, which `missing` counts."""
        with ThreadPoolExecutor(_THREADS) as threads:
            bar = tqdm(threads.map(_encoded, self._wanted), "pictures", len(self._wanted), unit="pic", disable=not progress)
            encoded = list(bar)
        self.missing = sum(not data for data in encoded)
        return encoded

    def _number(self, store: ImageStore, digest: str, side: int) -> int:
        key = (digest, side)
        if key not in self._numbers:
            self._numbers[key] = len(self._wanted)
            self._wanted.append((store, digest, side))
        return self._numbers[key]


def total(encoded: Sequence[bytes]) -> int:
    """Returns the bytes that pictures take inside a page, where they are written in base 64."""
    return sum(4 * -(-len(data) // 3) for data in encoded)


def _encoded(wanted: tuple[ImageStore, str, int]) -> bytes:
    store, digest, side = wanted
    try:
        image = store.get(digest)
    except DataError:
        return b""
    image.thumbnail((side, side), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    image.save(buffer, format="WEBP", quality=_QUALITY, method=2)
    return buffer.getvalue()
