"""What the hostile server sends: pages and pictures that are odd, broken or far larger than they look. Made once, on demand."""

from __future__ import annotations

import gzip
import io
import struct
import zlib
from collections.abc import Callable
from functools import cache

from PIL import Image

MIB = 1 << 20


def article(words: str = "The kestrel of 2026 has a copper band on its left wing.") -> bytes:
    """A page with enough text for an extractor to find it."""
    paragraph = f"<p>{words} {'It was shown to the public in the hall by the river, and many came to see it. ' * 3}</p>"
    return (
        "<!DOCTYPE html><html><head><meta charset='utf-8'><title>The kestrel</title></head><body><article><h1>The kestrel</h1>"
        f"{paragraph * 4}</article></body></html>"
    ).encode()


@cache
def zeros_gzip(size: int) -> bytes:
    """Gzip of so many zeros, a multiple of 1 MiB: one packed block over and over, so that it takes no time to make."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    first = packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    check = 0
    for _ in range(size // MIB):
        check = zlib.crc32(bytes(MIB), check)
    head = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
    tail = packer.flush() + struct.pack("<II", check, size & 0xFFFF_FFFF)
    return head + first + block * (size // MIB - 1) + tail


@cache
def long_html(size: int) -> bytes:
    """HTML of at least so many bytes."""
    one = article()
    body = one[one.index(b"<article>") : one.index(b"</body>")]
    return one[: one.index(b"<article>")] + body * (size // len(body) + 1) + b"</body></html>"


@cache
def deep_html(depth: int = 200_000) -> bytes:
    """Elements inside elements."""
    return b"<!DOCTYPE html><html><body>" + b"<div>" * depth + b"deep" + b"</div>" * depth + b"</body></html>"


def _saved(image: Image.Image, form: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


def _scene(size: tuple[int, int] = (96, 64)) -> Image.Image:
    image = Image.linear_gradient("L").resize(size).convert("RGB")
    image.paste((200, 60, 20), (8, 8, 40, 40))
    return image


def _rotated() -> bytes:
    exif = Image.Exif()
    exif[0x0112] = 6
    return _saved(_scene(), "JPEG", exif=exif)


def _palette() -> bytes:
    image = _scene().quantize(16)
    return _saved(image, "PNG", transparency=bytes([0, 128, *([255] * 14)]))


def _deep_grey() -> bytes:
    return _saved(
        Image.linear_gradient("L").resize((64, 64)).convert("I").point(lambda value: value * 257).convert("I;16"), "PNG"
    )


def _animated(frames: int) -> bytes:
    first, *rest = [Image.new("L", (32, 32), number * 7 % 256) for number in range(frames)]
    return _saved(first, "GIF", save_all=True, append_images=rest, duration=10)


def _bomb(side: int = 50_000) -> bytes:
    """A black and white PNG of so many pixels a side, all of them there: 0.3 MB."""
    row = bytes(side // 8 + 1)
    rows = 1000
    packer = zlib.compressobj(9)
    first = packer.compress(row * rows) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(row * rows) + packer.flush(zlib.Z_FULL_FLUSH)
    check = 1
    for _ in range(side // rows):
        check = zlib.adler32(row * rows, check)
    # An empty last block, and the check sum of all rows instead of those two that were packed.
    data = first + block * (side // rows - 1) + b"\x03\0" + struct.pack(">I", check)
    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>alert(1)</script></svg>'

_MAKERS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "png": ("image/png", lambda: _saved(_scene(), "PNG")),
    "cmyk-jpeg": ("image/jpeg", lambda: _saved(_scene().convert("CMYK"), "JPEG")),
    "palette-alpha-png": ("image/png", _palette),
    "16-bit-png": ("image/png", _deep_grey),
    "animated-gif": ("image/gif", lambda: _animated(5)),
    "gif-of-2000-frames": ("image/gif", lambda: _animated(2000)),
    "rotated-jpeg": ("image/jpeg", _rotated),
    "webp": ("image/webp", lambda: _saved(_scene(), "WEBP")),
    "avif": ("image/avif", lambda: _saved(_scene(), "AVIF")),
    "truncated-jpeg": ("image/jpeg", lambda: _saved(_scene((400, 300)), "JPEG")[:1500]),
    "truncated-png": ("image/png", lambda: _saved(_scene((400, 300)), "PNG")[:-300]),
    "pixel-bomb": ("image/png", _bomb),
    "noise": ("image/jpeg", lambda: b"\xff\xd8\xff" + bytes(range(256)) * 8),
    "svg-as-png": ("image/png", lambda: SVG),
    "html-as-jpeg": ("image/jpeg", lambda: b"\xef\xbb\xbf \n" + article()),
}

PICTURES = tuple(_MAKERS)


@cache
def picture(name: str) -> tuple[str, bytes]:
    """Returns the declared type and the bytes of one of `PICTURES`."""
    media_type, make = _MAKERS[name]
    return media_type, make()


@cache
def packed(data: bytes) -> bytes:
    """Gzip of bytes, the same every time."""
    return gzip.compress(data, mtime=0)


def prepare() -> None:
    """Makes what takes long to make, so that nobody waits for it who measures how long a reply takes."""
    zeros_gzip(1024 * MIB)
    long_html(20 * MIB)
    deep_html()
    for name in PICTURES:
        picture(name)
