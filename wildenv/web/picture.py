"""Pictures that were fetched, and the memory that decoded ones take.

A picture of a few bytes can have many pixels, and many episodes may show one each at the same time. So decoded pictures are lent:
together, those in use have at most `MOST_PIXELS`, and whoever needs another waits. What a user keeps after that is not counted.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from PIL import Image

from wildenv.images import FORMATS, MAX_SOURCE_PIXELS, decode
from wildenv.web.room import Room

MOST_PIXELS = 2 * MAX_SOURCE_PIXELS
"""Of all pictures that are decoded or cropped at the same time in a process: two of the largest, or many small ones."""

_PIXELS = Room(MOST_PIXELS)


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that was fetched and can be decoded.

    Attributes:
        read: Returns its bytes.
    """

    read: Callable[[], bytes]

    def opened(self) -> AbstractContextManager[Image.Image]:
        """Lends the picture: upright RGB, in the size it was published in. Errors as in `opened`."""
        return opened(self.read())


@contextmanager
def opened(data: bytes) -> Iterator[Image.Image]:
    """Decodes a picture and lends it; do not open another one meanwhile.

    Raises:
        DataError: If the bytes are not a picture that can be shown.
        DeadlineExceeded: If the tool call ran out of time while too many others were open.
    """
    with _PIXELS.taken(_announced(data)):
        yield decode(data)


def room_for(width: int, height: int) -> AbstractContextManager[None]:
    """Makes room for work on a picture that is not opened here. Raises `DeadlineExceeded` as `opened`."""
    return _PIXELS.taken(width * height)


def _announced(data: bytes) -> int:
    """Returns how many pixels the picture says it has; none if it will be refused."""
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            pixels = image.width * image.height
    except Exception:  # noqa: BLE001 - whoever decodes it says what is wrong
        return 0
    return pixels if pixels <= MAX_SOURCE_PIXELS else 0
