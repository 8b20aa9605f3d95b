"""What all generators behind a service share: waiting in line, repeating, giving up in time, and checking what came back.

A request has its whole answer within `timeout_s` or fails; one that took too long is not repeated, as it would take as long
again. A picture that cannot be decoded or has another size than was asked for is a failure, and so is an answer without one.
"""

from __future__ import annotations

import asyncio
import base64
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import NoReturn

import anyio
import anyio.to_thread
from PIL import Image

from wildenv.errors import ConfigError, DataError, GeneratorError, WebError
from wildenv.images import decode
from wildenv.secrets import scrub
from wildenv.web.net.manners import Manners, Rules, TryAgain, retry_after_seconds

_BUSY = (408, 409, 425, 429)
_DETAIL = 300


class RemoteGenerator(ABC):
    """Implements `Generator` but for the request itself, and for saying whether it needs references. Safe for threads.

    Args:
        id: See `Generator`.
        rules: How many requests at once and how patient to be.
        timeout_s: Seconds for one picture.
        size: ``(width, height)`` it must have; None for any.
        max_references: References it takes; an answer with more is an error, none is left out.

    Raises:
        ConfigError: If a value is out of range.
    """

    needs_references: bool

    def __init__(self, id: str, rules: Rules | None, timeout_s: float, size: tuple[int, int] | None, max_references: int) -> None:
        if not 0 < timeout_s < math.inf:
            raise ConfigError(f"generator.timeout_s={timeout_s} must be a positive number of seconds")
        if max_references < 1:
            raise ConfigError(f"generator.max_references={max_references} must be at least 1")
        self.id = id
        self.max_references = max_references
        self.timeout_s = timeout_s
        self._size = size
        self._manners = Manners(f"generator {id}", rules or Rules(concurrency=2, attempts=3, backoff_s=1.0, longest_wait_s=60.0))

    async def generate(self, prompt: str, references: Sequence[Image.Image], seed: int) -> Image.Image:
        """Returns an RGB picture; raises `GeneratorError` if there is none of exactly this."""
        require_room(self.id, references, self.max_references)
        # How many ask at once is the manners' to say: the limiter only keeps anyio's own limit out of it.
        limiter = anyio.CapacityLimiter(1)
        return await anyio.to_thread.run_sync(
            partial(self._draw, prompt, references, seed), abandon_on_cancel=True, limiter=limiter
        )

    @abstractmethod
    async def ask(self, prompt: str, references: Sequence[Image.Image], seed: int) -> str:
        """Sends one request and returns the picture in base64, as it was sent; raises with `refused` or `unusable` otherwise."""

    def refused(self, status: int, retry_after: str | None, said: str) -> NoReturn:
        """Raises for an HTTP status that is an error."""
        if 300 <= status < 400:
            raise self.failure(f"answers with a redirect ({status}); set generator.base_url to its final address")
        failure = self.failure(f"answered {status}: {said}")
        if status in _BUSY or status >= 500:
            raise TryAgain(f"http {status}", retry_after_seconds(retry_after, datetime.now(UTC)), failure)
        raise failure

    def unreachable(self, error: Exception) -> NoReturn:
        """Raises for a connection that failed."""
        failure = self.failure(f"cannot be reached ({error.__cause__ or error}); is generator.base_url right?")
        raise TryAgain("connection", None, failure) from None

    def unusable(self, why: str) -> NoReturn:
        """Raises for an answer that holds no picture; it is asked for again."""
        raise TryAgain("bad reply", None, self.failure(why))

    def failure(self, what: str) -> GeneratorError:
        """Returns the error that says so."""
        return GeneratorError(f"generator {self.id} {scrub(' '.join(what.split()))[:_DETAIL]}")

    def _draw(self, prompt: str, references: Sequence[Image.Image], seed: int) -> Image.Image:
        try:
            return self._manners.run(lambda: self._attempt(prompt, references, seed))
        except WebError as error:
            # The line is closed: an earlier request was told to wait for longer than this one may.
            raise GeneratorError(str(error)) from error

    def _attempt(self, prompt: str, references: Sequence[Image.Image], seed: int) -> Image.Image:
        try:
            sent = asyncio.run(asyncio.wait_for(self.ask(prompt, references, seed), self.timeout_s))
        except TimeoutError:
            raise self.failure(f"drew nothing within {self.timeout_s:g} s; raise generator.timeout_s") from None
        try:
            image = decode(base64.b64decode(sent.partition(",")[2] if sent.startswith("data:") else sent, validate=True))
        except (DataError, ValueError) as error:
            self.unusable(f"sent no readable picture: {error}")
        if self._size is not None and image.size != self._size:
            width, height = self._size
            raise self.failure(
                f"sent a picture of {image.width}x{image.height} pixels where {width}x{height} were asked for; set "
                f"generator.size, or width and height, to what it draws"
            )
        return image


def require_room(name: str, references: Sequence[Image.Image], most: int) -> None:
    """Raises `GeneratorError` if there are more references than a generator takes."""
    if len(references) > most:
        raise GeneratorError(
            f"generator {name} takes {most} references and the answer has {len(references)}; set env.limits.references={most}, "
            f"or generator.max_references if the model behind it takes more"
        )
