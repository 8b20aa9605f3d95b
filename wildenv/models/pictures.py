"""How pictures are sent to a model: format and size."""

from __future__ import annotations

import io
from dataclasses import asdict, dataclass
from typing import Any

from PIL import Image

from wildenv.errors import ConfigError
from wildenv.images import ImageStore, PixelPolicy, encode
from wildenv.messages import data_url

FORMATS = ("png", "jpeg")


@dataclass(frozen=True, slots=True)
class Pictures:
    """One form for every picture a model is sent.

    Attributes:
        format: ``png``, lossless, or ``jpeg``, smaller.
        quality: Of a JPEG, 1 to 95.
        pixels: The sizes a model sees; None sends pictures as large as they are.

    Raises:
        ConfigError: If a value is not valid.
    """

    format: str = "png"
    quality: int = 90
    pixels: PixelPolicy | None = None

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise ConfigError(f"format={self.format!r} is not one of {', '.join(FORMATS)}")
        if not 1 <= self.quality <= 95:
            raise ConfigError(f"quality={self.quality} must be from 1 to 95")

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON values: what decides about the bytes that are sent."""
        row = asdict(self)
        return {name: value for name, value in row.items() if name != "quality" or self.format == "jpeg"}

    def url(self, digest: str, store: ImageStore) -> str:
        """Returns a picture as a data URL; the stored bytes themselves where format and size fit already.

        Raises:
            DataError: If the digest is not in the store or its bytes are damaged.
        """
        png = store.png(digest)
        if self.format == "png" and self._fits(png):
            return data_url(png, "image/png")
        image = store.get(digest)
        if self.pixels is not None:
            image = self.pixels.fit(image)
        if self.format == "png":
            return data_url(encode(image), "image/png")
        buffer = io.BytesIO()
        image.save(buffer, format="JPEG", quality=self.quality)
        return data_url(buffer.getvalue(), "image/jpeg")

    def _fits(self, png: bytes) -> bool:
        if self.pixels is None:
            return True
        width, height = Image.open(io.BytesIO(png), formats=("PNG",)).size
        return self.pixels.size(width, height) == (width, height)
