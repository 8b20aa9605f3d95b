"""Observation and action spaces that fit chats: any Unicode text, any number of pictures of any size.

``gymnasium.spaces.Text`` rejects blanks and punctuation by default and is corrupted by the shared memory of asynchronous vector
environments; these spaces have no shared-memory form, so that such an environment refuses them instead. Use `wildenv.make_vec`.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

_LETTERS = "abcdefghijklmnopqrstuvwxyz ABC.,!?{}\"':<>/_0123456789\näéß中図"


class Unicode(gymnasium.Space[str]):
    """All strings of at most `max_length` characters, the empty one included."""

    def __init__(self, max_length: int = 1_000_000, seed: int | np.random.Generator | None = None) -> None:
        self.max_length = max_length
        super().__init__(dtype=str, seed=seed)

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> str:
        """Draws a string of at most 40 characters."""
        _refuse_mask(mask, probability)
        length = int(self.np_random.integers(0, min(40, self.max_length) + 1))
        return "".join(_LETTERS[int(i)] for i in self.np_random.integers(0, len(_LETTERS), length))

    def contains(self, x: Any) -> bool:
        """Whether `x` is such a string."""
        return isinstance(x, str) and len(x) <= self.max_length

    @property
    def is_np_flattenable(self) -> bool:
        """Text has no array form."""
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unicode) and self.max_length == other.max_length

    def __hash__(self) -> int:
        return hash((Unicode, self.max_length))

    def __repr__(self) -> str:
        return f"Unicode(max_length={self.max_length})"


class Pictures(gymnasium.Space[tuple[np.ndarray[Any, Any], ...]]):
    """Tuples of at most `max_count` pictures, each uint8, height x width x 3, of at most `max_pixels` pixels."""

    def __init__(self, max_count: int, max_pixels: int, seed: int | np.random.Generator | None = None) -> None:
        self.max_count = max_count
        self.max_pixels = max_pixels
        super().__init__(dtype=np.uint8, seed=seed)

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> tuple[np.ndarray[Any, Any], ...]:
        """Draws at most two small pictures."""
        _refuse_mask(mask, probability)
        side = int(min(8, self.max_pixels**0.5))
        count = int(self.np_random.integers(0, min(2, self.max_count) + 1))
        return tuple(self.np_random.integers(0, 256, (side, side, 3), dtype=np.uint8) for _ in range(count))

    def contains(self, x: Any) -> bool:
        """Whether `x` is such a tuple."""
        return isinstance(x, tuple) and len(x) <= self.max_count and all(self._is_picture(item) for item in x)

    def _is_picture(self, x: Any) -> bool:
        return (
            isinstance(x, np.ndarray)
            and x.dtype == np.uint8
            and x.ndim == 3
            and x.shape[2] == 3
            and 0 < x.shape[0] * x.shape[1] <= self.max_pixels
        )

    @property
    def is_np_flattenable(self) -> bool:
        """A varying number of pictures has no array form."""
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pictures) and (self.max_count, self.max_pixels) == (other.max_count, other.max_pixels)

    def __hash__(self) -> int:
        return hash((Pictures, self.max_count, self.max_pixels))

    def __repr__(self) -> str:
        return f"Pictures(max_count={self.max_count}, max_pixels={self.max_pixels})"


def _refuse_mask(mask: Any | None, probability: Any | None) -> None:
    if mask is not None or probability is not None:
        raise gymnasium.error.Error("this space does not support masks or probabilities when sampling")
