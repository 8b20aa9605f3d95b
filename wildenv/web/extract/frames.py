"""What goes through the pipes to and from extraction workers: a JSON header and bytes, each with its length."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO

from wildenv.errors import DataError

_LENGTHS = struct.Struct(">II")
LARGEST = 256 * 1024 * 1024
"""Bytes of a header or body; a longer one is taken for nonsense."""


def pack(header: Mapping[str, Any], body: bytes = b"") -> bytes:
    """Returns one frame."""
    text = json.dumps(header).encode()
    return _LENGTHS.pack(len(text), len(body)) + text + body


def unpack(buffer: bytes | bytearray) -> tuple[dict[str, Any], bytes] | None:
    """Returns the header and body of the frame in a buffer; None while it is not complete.

    Raises:
        DataError: If it is no frame.
    """
    if len(buffer) < _LENGTHS.size:
        return None
    head, body = _LENGTHS.unpack_from(buffer)
    if max(head, body) > LARGEST:
        raise DataError("an extraction worker wrote something that is no answer")
    end = _LENGTHS.size + head
    if len(buffer) < end + body:
        return None
    return json.loads(buffer[_LENGTHS.size : end]), bytes(buffer[end : end + body])


def read(stream: BinaryIO) -> tuple[dict[str, Any], bytes] | None:
    """Waits for the next frame of a stream; None at its end."""
    lengths = stream.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    head, body = _LENGTHS.unpack(lengths)
    text, data = stream.read(head), stream.read(body)
    return None if len(text) < head or len(data) < body else (json.loads(text), data)
