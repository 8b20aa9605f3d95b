"""Pictures: one pixel policy, a content-addressed store, and the ids and lineage an agent sees.

A picture is stored once, as PNG, under the sha256 of its PNG bytes. Within an episode it also has an id (``IMG_001``) and,
if it was cropped, a parent. The store does not fetch anything and does not know where a picture is allowed to come from.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from math import ceil, floor
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from wildenv.errors import ConfigError, DataError, ToolError
from wildenv.shelf import Shelf

MAX_SOURCE_PIXELS = 64_000_000
"""A downloaded picture with more pixels than this is refused before it is decoded."""

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "AVIF", "ICO")
"""What is decoded. Pillow knows more, some of which start other programs (EPS) or only point to other files."""

_DIGEST = re.compile(r"[0-9a-f]{64}")

_BAND = 256
"""Rows of a picture that are worked on at once in floating point."""

Box = tuple[int, int, int, int]
"""``(x1, y1, x2, y2)`` in 0..1000 of width and height."""


@dataclass(frozen=True, slots=True)
class PixelPolicy:
    """The one rule for picture sizes, shared by environment, processor and model.

    Attributes:
        max_pixels: Upper bound of width x height after resizing.
        multiple: Both sides are multiples of this; patch size x merge size of the vision model.
    """

    max_pixels: int = 12_544
    multiple: int = 28

    def __post_init__(self) -> None:
        if self.multiple < 1 or self.max_pixels < self.multiple**2:
            raise ConfigError(f"pixels: max_pixels={self.max_pixels} must hold one {self.multiple}x{self.multiple} cell")

    def size(self, width: int, height: int) -> tuple[int, int]:
        """Returns the ``(width, height)`` that a picture of this size is resized to; idempotent."""
        cells = self.max_pixels // self.multiple**2
        scale = min(1.0, (self.max_pixels / (width * height)) ** 0.5)
        across = max(1, round(width * scale / self.multiple))
        down = max(1, round(height * scale / self.multiple))
        while across * down > cells:
            if across >= down:
                across -= 1
            else:
                down -= 1
        return across * self.multiple, down * self.multiple

    def fit(self, image: Image.Image) -> Image.Image:
        """Resizes to `size`; returns the same object when it fits already."""
        size = self.size(*image.size)
        return image if image.size == size else image.resize(size, Image.Resampling.BICUBIC)


def decode(data: bytes) -> Image.Image:
    """Decodes downloaded bytes to an upright RGB picture, flattened on white; of an animation its first frame.

    Raises:
        DataError: If the bytes are no picture in one of `FORMATS`, are cut short, or announce more than `MAX_SOURCE_PIXELS`.
    """
    try:
        image = Image.open(io.BytesIO(data), formats=FORMATS)
        if image.width * image.height > MAX_SOURCE_PIXELS:
            raise DataError(f"picture of {image.width}x{image.height} pixels is larger than {MAX_SOURCE_PIXELS}")
        image.load()
        # In place, like everything below where it can be: a second copy of a large picture is much to keep.
        ImageOps.exif_transpose(image, in_place=True)
        return _rgb(image)
    except DataError:
        raise
    except UnidentifiedImageError:
        # Pillow's message holds a memory address, which differs from run to run.
        raise DataError("not a readable picture: unknown format") from None
    except Exception as error:
        raise DataError(f"not a readable picture: {error}") from error


def _rgb(image: Image.Image) -> Image.Image:
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        rgba = image if image.mode == "RGBA" else image.convert("RGBA")
        image = Image.new("RGB", rgba.size, "white")
        image.paste(rgba, mask=rgba)
    elif image.mode.startswith(("I", "F")):
        image = _shallow(image)
    # What Pillow opened still hangs on to its file; only what was made here needs no copy.
    return image if type(image) is Image.Image and image.mode == "RGB" else image.convert("RGB")


def _shallow(image: Image.Image) -> Image.Image:
    """Returns a picture of sixteen bits and more a pixel, which `convert` would clip at 255, with eight."""
    deep = np.asarray(image)
    bands = [slice(start, start + _BAND) for start in range(0, len(deep), _BAND)]
    if image.mode.startswith("I;16"):
        top = 65_535.0
    else:
        top = max(255.0, *(float(np.nan_to_num(deep[band].astype(np.float64)).max()) for band in bands))
    shallow = np.empty(deep.shape, np.uint8)
    for band in bands:
        shallow[band] = (np.nan_to_num(deep[band].astype(np.float64)) * (255.0 / top)).clip(0, 255)
    return Image.fromarray(shallow)


def encode(image: Image.Image) -> bytes:
    """Encodes a picture to the PNG bytes its digest is taken from."""
    buffer = io.BytesIO()
    whole = image if image.mode == "RGB" else image.convert("RGB")
    whole.save(buffer, format="PNG", compress_level=1)
    return buffer.getvalue()


def digest_of(png: bytes) -> str:
    """Returns the digest of PNG bytes: 64 hex digits."""
    return hashlib.sha256(png).hexdigest()


class ImageStore:
    """PNG files by digest, under a folder (``ab/abcdef….png``), or for as long as the store lives.

    Writing is atomic and idempotent, so that many threads and processes may share a folder.

    Args:
        root: The folder; None keeps the pictures in memory, and many large ones in a temporary folder.
    """

    def __init__(self, root: str | Path | None = None) -> None:
        self.root = None if root is None else Path(root)
        self._shelf = Shelf()

    def path(self, digest: str) -> Path:
        """Returns where a digest is kept under the folder.

        Raises:
            ConfigError: If the store has no folder.
            DataError: If it is not a digest.
        """
        if self.root is None:
            raise ConfigError("this picture store is a temporary one and has no paths; give it a folder")
        if not _DIGEST.fullmatch(digest):
            raise DataError(f"{digest[:80]!r} is not a picture digest: 64 hex digits")
        return self.root / digest[:2] / f"{digest}.png"

    def put(self, image: Image.Image) -> str:
        """Stores a picture and returns its digest."""
        return self.put_png(encode(image))

    def put_png(self, png: bytes) -> str:
        """Stores PNG bytes as they are and returns their digest."""
        digest = digest_of(png)
        if self.root is None:
            self._shelf.put(digest, png)
            return digest
        path = self.path(digest)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_name(f".{digest}.{os.getpid()}.{os.urandom(4).hex()}.part")
            part.write_bytes(png)
            part.replace(path)
        return digest

    def png(self, digest: str) -> bytes:
        """Returns the stored bytes.

        Raises:
            DataError: If the digest is not stored.
        """
        if self.root is None:
            try:
                return self._shelf.get(digest)
            except KeyError:
                raise DataError(f"picture {digest[:12]} is not in this store") from None
        try:
            return self.path(digest).read_bytes()
        except FileNotFoundError:
            raise DataError(f"picture {digest[:12]} is not under {self.root}") from None

    def get(self, digest: str) -> Image.Image:
        """Returns the stored picture.

        Raises:
            DataError: If the digest is not stored or its bytes are damaged.
        """
        return decode(self.png(digest))

    def __contains__(self, digest: str) -> bool:
        return digest in self._shelf if self.root is None else self.path(digest).exists()


@dataclass(frozen=True, slots=True)
class ImageRecord:
    """One picture of an episode.

    Attributes:
        id: ``IMG_001`` and so on, in order of appearance.
        digest: Of the picture as the agent sees it.
        source: Digest of the picture before the pixel policy, the one a crop is cut from and a reference is handed on as.
        size: ``(width, height)`` of the source in pixels.
        parent: Id of the picture it was cropped from.
        box: The part of the parent, in 0..1000.
        url: Where it was downloaded from; a crop has its parent's.
        page: The page it was found on.
        title: Its title in the search results.
    """

    id: str
    digest: str
    source: str
    size: tuple[int, int]
    parent: str | None = None
    box: Box | None = None
    url: str = ""
    page: str = ""
    title: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON values."""
        return {
            "id": self.id,
            "digest": self.digest,
            "source": self.source,
            "size": list(self.size),
            "parent": self.parent,
            "box": None if self.box is None else list(self.box),
            "url": self.url,
            "page": self.page,
            "title": self.title,
        }

    @classmethod
    def from_dict(cls, row: dict[str, Any]) -> ImageRecord:
        """Reads `to_dict` back."""
        box = row["box"]
        return cls(**{**row, "size": tuple(row["size"]), "box": None if box is None else tuple(box)})


class Gallery:
    """The pictures of one episode: ids, lineage, and the pixels behind them.

    Args:
        store: Where pixels go.
        policy: How large the agent sees them.
    """

    def __init__(self, store: ImageStore, policy: PixelPolicy) -> None:
        self.store = store
        self.policy = policy
        self._records: dict[str, ImageRecord] = {}
        self._by_source: dict[str, ImageRecord] = {}
        self._by_url: dict[str, ImageRecord] = {}
        self._shown: dict[str, np.ndarray[Any, np.dtype[np.uint8]]] = {}

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[ImageRecord]:
        return iter(self._records.values())

    def since(self, count: int) -> Iterator[ImageRecord]:
        """Returns the pictures after the first `count`."""
        return islice(self._records.values(), count, None)

    def record(self, image_id: str) -> ImageRecord:
        """Returns the record of an id.

        Raises:
            ToolError: If the agent has not been shown such an id.
        """
        if image_id not in self._records:
            known = f"{next(iter(self._records))} to {next(reversed(self._records))}" if self._records else "none yet"
            raise ToolError(f"there is no image {image_id[:40]!r}; images so far: {known}")
        return self._records[image_id]

    def add(self, image: Image.Image, *, url: str, page: str, title: str) -> ImageRecord:
        """Adds a downloaded picture; one whose pixels are known already keeps its first id."""
        source = self.store.put(image)
        record = self._by_source.get(source)
        if record is None:
            record = self._by_source[source] = self._append(image, source, None, None, url, page, title)
        self._by_url.setdefault(url, record)
        return record

    def at(self, url: str) -> ImageRecord | None:
        """Returns the picture that was downloaded from an address, if one was: it need not be downloaded again."""
        return self._by_url.get(url)

    def crop(self, image_id: str, box: Box) -> ImageRecord:
        """Cuts a part out of a picture, at the resolution it was downloaded in.

        Raises:
            ToolError: If the id is unknown, or the box is outside 0..1000, empty, or smaller than 8 pixels a side.
        """
        parent = self.record(image_id)
        x1, y1, x2, y2 = box
        if not (0 <= x1 < x2 <= 1000 and 0 <= y1 < y2 <= 1000):
            raise ToolError(f"box {list(box)} is not [x1,y1,x2,y2] within 0 to 1000, x1 below x2 and y1 below y2")
        width, height = parent.size
        pixels = (x1 * width // 1000, y1 * height // 1000, -(-x2 * width // 1000), -(-y2 * height // 1000))
        if pixels[2] - pixels[0] < 8 or pixels[3] - pixels[1] < 8:
            raise ToolError(f"box {list(box)} is less than 8 pixels wide or high in {image_id} ({width}x{height} pixels)")
        image = self.store.get(parent.source).crop(pixels)
        return self._append(image, self.store.put(image), image_id, box, parent.url, parent.page, parent.title)

    def shown(self, image_id: str) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """Returns a copy of the picture as the agent sees it: uint8, height x width x 3."""
        return self._shown[self.record(image_id).id].copy()

    def shown_size(self, image_id: str) -> tuple[int, int]:
        """Returns the ``(width, height)`` of the picture as the agent sees it."""
        height, width, _ = self._shown[self.record(image_id).id].shape
        return width, height

    def lineage(self, image_id: str) -> tuple[ImageRecord, Box]:
        """Follows crops back to the downloaded picture.

        Returns:
            That picture, and the smallest box of whole thousandths of it that holds all boxes asked for; never an empty one.
        """
        record = self.record(image_id)
        x1, y1, x2, y2 = Fraction(0), Fraction(0), Fraction(1000), Fraction(1000)
        while record.parent is not None and record.box is not None:
            left, top, right, bottom = record.box
            across, down = Fraction(right - left, 1000), Fraction(bottom - top, 1000)
            x1, x2, y1, y2 = left + x1 * across, left + x2 * across, top + y1 * down, top + y2 * down
            record = self.record(record.parent)
        return record, (floor(x1), floor(y1), ceil(x2), ceil(y2))

    def _append(
        self, image: Image.Image, source: str, parent: str | None, box: Box | None, url: str, page: str, title: str
    ) -> ImageRecord:
        fitted = self.policy.fit(image)
        digest = source if fitted is image else self.store.put(fitted)
        image_id = f"IMG_{len(self._records) + 1:03d}"
        record = ImageRecord(image_id, digest, source, image.size, parent, box, url, page, title)
        self._records[image_id] = record
        self._shown[image_id] = np.asarray(fitted, dtype=np.uint8)
        return record
