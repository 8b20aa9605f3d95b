"""Pictures that were fetched, and the memory that decoded ones take.

A picture of a few bytes can have many pixels, and many episodes may show one each at the same time. So decoded pictures are lent:
together, those in use have only so many pixels, and whoever needs another waits. What a user keeps after that is not counted.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass

from PIL import Image

from wildenv.images import FORMATS, MAX_SOURCE_PIXELS, decode
from wildenv.web.room import Room

MOST_PIXELS = 2 * MAX_SOURCE_PIXELS
"""Of all large pictures that are decoded or cropped at the same time in a process: two of the largest."""

SMALL_PIXELS = 4_000_000
"""A picture that has no more is small; small ones have room of their own, so that they need not wait for large ones."""

_LARGE = Room(MOST_PIXELS)
_SMALL = Room(MOST_PIXELS // 2)

_BLOCK_BYTES = 64 << 20
if "PILLOW_BLOCK_SIZE" not in os.environ:
    # Of Pillow's own blocks of 16 MiB, glibc keeps many once they are freed, for each thread that had some; what is above 32 MiB
    # it always gives back. Measured with 32 episodes and pictures of 64 megapixels: 1.6 GB in place of 5.
    Image.core.set_block_size(_BLOCK_BYTES)  # type: ignore[attr-defined] # documented, not declared


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that was fetched and can be decoded.

    Attributes:
        read: Returns its bytes.
        watched: What goes wrong with it happens inside of this.
    """

    read: Callable[[], bytes]
    watched: Callable[[], AbstractContextManager[None]] = nullcontext

    @contextmanager
    def opened(self) -> Iterator[Image.Image]:
        """Lends the picture as `opened` does: upright RGB, in the size it was published in."""
        with ExitStack() as stack:
            with self.watched():
                image = stack.enter_context(opened(self.read()))
            yield image


@contextmanager
def opened(data: bytes) -> Iterator[Image.Image]:
    """Decodes a picture and lends it; do not open another one meanwhile.

    Raises:
        DataError: If the bytes are not a picture that can be shown.
        DeadlineExceeded: If the tool call ran out of time while too many others were open.
    """
    with _taken(_announced(data)):
        yield decode(data)


def room_for(width: int, height: int) -> AbstractContextManager[None]:
    """Makes room for work on a picture that is not opened here. Raises `DeadlineExceeded` as `opened`."""
    return _taken(width * height)


def _taken(pixels: int) -> AbstractContextManager[None]:
    return (_SMALL if pixels <= SMALL_PIXELS else _LARGE).taken(pixels)


def _announced(data: bytes) -> int:
    """Returns how many pixels the picture says it has; none if it will be refused."""
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            pixels = image.width * image.height
    except Exception:  # noqa: BLE001 - whoever decodes it says what is wrong
        return 0
    return pixels if pixels <= MAX_SOURCE_PIXELS else 0
