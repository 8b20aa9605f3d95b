"""What a generator is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from PIL import Image


@runtime_checkable
class Generator(Protocol):
    """Draws a picture from a prompt and references. One instance serves many episodes at once.

    Attributes:
        id: Names the generator and everything that changes what it draws, the seed excepted.
        needs_references: Whether it draws from references only: it is then not asked about an answer that has none.
    """

    id: str
    needs_references: bool

    async def generate(self, prompt: str, references: Sequence[Image.Image], seed: int) -> Image.Image:
        """Draws.

        Args:
            prompt: The refined prompt.
            references: In the order the prompt counts them; may be empty, unless `needs_references`.
            seed: The same one draws the same picture, where the backend allows it.

        Returns:
            An RGB picture.

        Raises:
            GeneratorError: If it could not draw from exactly this; it never draws from less.
        """
        ...
