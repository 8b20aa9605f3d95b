"""What kind of document some bytes are.

A server's claim counts, except where the first bytes prove it wrong: PDF is often sent under another name, and pictures and
archives pose as HTML. Not a safety check: what is called HTML here can still be anything.
"""

from __future__ import annotations

from typing import Literal

Kind = Literal["html", "pdf", "text"]

_TYPES: dict[str, Kind] = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "application/pdf": "pdf",
    "application/x-pdf": "pdf",
    "text/plain": "text",
    "text/markdown": "text",
}
_UNSAID = ("", "application/octet-stream", "binary/octet-stream", "application/x-download")
_MARKUP = (b"<!doctype html", b"<html", b"<head", b"<body")
# PNG, JPEG, GIF, RIFF (WebP, AVI, WAV), gzip, zip (and office files), bzip2, xz, zstd, 7z, Ogg, ELF, Windows programs.
_BINARY = (
    *(b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd"),
    *(b"7z\xbc\xaf", b"OggS", b"\x7fELF", b"MZ\x90"),
)


def kind_of(data: bytes, media_type: str) -> Kind | None:
    """Returns the kind of a document; None for one that is not read.

    Args:
        data: The document.
        media_type: The server's claim, lower case, without parameters; empty if it made none.
    """
    start = data[:1024].lstrip()
    if start.startswith(b"%PDF-"):
        return "pdf"
    if start.startswith(_BINARY):
        return None
    if media_type in _UNSAID:
        return "html" if start.lower().startswith(_MARKUP) else None
    return _TYPES.get(media_type)
