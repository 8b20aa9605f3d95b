"""A generator that draws nothing twice: pictures are kept in a store by all that can change them."""

from __future__ import annotations

from collections.abc import Sequence

import anyio.to_thread
from PIL import Image

from wildenv.errors import DataError, GeneratorError
from wildenv.generators.base import Generator
from wildenv.images import decode, digest_of, encode
from wildenv.web.request import canonical_json, sha256
from wildenv.web.store import Blob, Store

NAMESPACE = "drawn"
"""Of the store; never part of a pack of the web."""


class CachedGenerator:
    """Implements `Generator`: answers from a store, asks another generator for what is missing, and keeps its pictures.

    So a run that is repeated or resumed draws the same bytes, whether or not the backend would. Found by the generator's id, the
    prompt, the digests of the references and the seed. Failures are not kept. Two calls for the same picture at the same time
    both draw; the later one is kept.

    Args:
        generator: Draws.
        store: Keeps. One that is read-only never asks the generator.
    """

    def __init__(self, generator: Generator, store: Store) -> None:
        self.generator = generator
        self.store = store
        self.id = generator.id
        self.needs_references = generator.needs_references
        self.max_references: int | None = getattr(generator, "max_references", None)

    async def generate(self, prompt: str, references: Sequence[Image.Image], seed: int) -> Image.Image:
        """Returns an RGB picture; raises `GeneratorError` also for one that a read-only store does not hold, or holds damaged."""
        request = {
            "generator": self.id,
            "prompt": prompt,
            "references": [digest_of(encode(reference)) for reference in references],
            "seed": seed,
        }
        key = sha256(canonical_json(request))
        kept = await anyio.to_thread.run_sync(self._kept, key)
        if kept is not None:
            return kept
        if self.store.read_only:
            raise GeneratorError(
                f"{self.id}: the store holds no picture for this prompt and these references (key {key[:12]}); set "
                f"generator.replay=false to draw it"
            )
        image = await self.generator.generate(prompt, references, seed)
        blob = Blob(encode(image), "image/png")
        await anyio.to_thread.run_sync(lambda: self.store.put(NAMESPACE, key, request, {"blob": blob.digest}, blob))
        return image

    def _kept(self, key: str) -> Image.Image | None:
        row = self.store.get(NAMESPACE, key)
        if row is None:
            return None
        try:
            return decode(self.store.blob(row["blob"]).data)
        except (DataError, KeyError) as error:
            raise GeneratorError(
                f"{self.id}: the kept picture {key[:12]} is damaged ({error}); use another generator.store"
            ) from error
