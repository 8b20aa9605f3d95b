"""Undoes what the body of an HTTP reply was packed with, piece by piece, so that a small body cannot become a large one unseen.

Only gzip and deflate: the standard library unpacks them into pieces of a bounded size. Other packings are not asked for. How much
may come out in all is the reader's to say.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

ACCEPTED = "gzip, deflate"
"""For the header ``Accept-Encoding``."""

PIECE = 65_536
"""No piece that is unpacked is larger, in bytes."""


class BadEncoding(Exception):
    """A body is packed in a way that was not asked for, or not packed as it says."""


class Unfinished(Exception):
    """A packed body ends before its end."""


def unpacked(chunks: Iterable[bytes], coding: str) -> Iterator[bytes]:
    """Unpacks a body.

    Args:
        chunks: As they arrive.
        coding: The header ``Content-Encoding``; empty if there is none.

    Yields:
        The body, in pieces of at most `PIECE` bytes where it was packed.

    Raises:
        BadEncoding: If it cannot be unpacked. A body packed twice is among that: no honest server does it.
        Unfinished: If it is cut short.
    """
    coding = coding.strip().lower()
    if coding in ("", "identity"):
        return iter(chunks)
    if coding in ("gzip", "x-gzip"):
        return _inflated(chunks, 31)
    if coding == "deflate":
        return _deflated(chunks)
    raise BadEncoding(f"packed with {coding[:60]!r}, which was not asked for")


def _deflated(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Unpacks what servers call deflate: a zlib stream by the standard, without its header by some."""
    arriving = iter(chunks)
    start = b""
    for chunk in arriving:
        start += chunk
        if len(start) >= 2:
            break
    else:
        if start:
            raise Unfinished("it ends inside its header")
        return
    has_header = start[0] & 0x0F == 8 and int.from_bytes(start[:2], "big") % 31 == 0

    def whole() -> Iterator[bytes]:
        yield start
        yield from arriving

    yield from _inflated(whole(), 15 if has_header else -15)


def _inflated(chunks: Iterable[bytes], wbits: int) -> Iterator[bytes]:
    stream = zlib.decompressobj(wbits)
    begun = False
    try:
        for chunk in chunks:
            data = chunk
            while data:
                if stream.eof:
                    if wbits != 31 or not data.startswith(b"\x1f"):
                        return  # Bytes after the end are no part of the body.
                    stream = zlib.decompressobj(wbits)
                begun = True
                piece = stream.decompress(data, PIECE)
                if piece:
                    yield piece
                data = stream.unused_data if stream.eof else stream.unconsumed_tail
        if begun:
            # At most what one instruction of the stream makes: all of its input was taken above.
            rest = stream.flush()
            if rest:
                yield rest
    except zlib.error as error:
        raise BadEncoding(str(error)) from error
    if begun and not stream.eof:
        raise Unfinished("it ends before its end mark")
