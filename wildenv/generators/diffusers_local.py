"""A ``diffusers`` pipeline in this process, made for Qwen-Image-Edit and generic over pipelines that edit.

Loaded at the first picture and once a process; one picture is drawn at a time. The same seed draws the same bytes on the same
device with the same packages, not across them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from PIL import Image

from wildenv.errors import ConfigError, GeneratorError, told
from wildenv.generators.remote import require_room


class DiffusersGenerator:
    """Implements `Generator` over a pipeline. It edits: an answer without references is an error.

    Args:
        path: Hub id or folder of the checkpoint.
        pipeline: Name of the class in ``diffusers``.
        name: Of the checkpoint, for the id; the last part of `path` if None.
        device: Such as ``cuda`` or ``cpu``.
        dtype: Name of the torch type the weights are loaded in.
        arguments: What the pipeline is called with besides prompt, pictures and seed.
        image_argument: Name of its argument that takes the references.
        listed: Whether that argument takes a list of them; otherwise it takes one picture.
        max_references: References it takes.
        load: Makes the pipeline instead, for one that needs more than a path.

    Raises:
        ConfigError: If the values contradict each other.
    """

    needs_references = True

    def __init__(
        self,
        path: str,
        pipeline: str = "QwenImageEditPlusPipeline",
        name: str | None = None,
        device: str = "cuda",
        dtype: str = "bfloat16",
        arguments: Mapping[str, Any] | None = None,
        image_argument: str = "image",
        listed: bool = True,
        max_references: int = 3,
        load: Callable[[], Any] | None = None,
    ) -> None:
        if not path:
            raise ConfigError("generator.path is not set; give the hub id or the folder of a diffusers checkpoint")
        if max_references < 1 or (max_references > 1 and not listed):
            raise ConfigError(
                f"generator.max_references={max_references} must be at least 1, and 1 for a pipeline that takes one picture "
                f"(generator.listed=false)"
            )
        self._path = path
        self._pipeline = pipeline
        self._device = device
        self._dtype = dtype
        self._arguments = dict(arguments or {})
        self._image_argument = image_argument
        self._listed = listed
        self._load = load or self._from_checkpoint
        self._lock = threading.Lock()
        self._loaded: Any = None
        self.max_references = max_references
        drawn = "".join(f",{key}={self._arguments[key]}" for key in sorted(self._arguments))
        self.id = f"diffusers:{name or Path(path).name}{drawn}"

    async def generate(self, prompt: str, references: Sequence[Image.Image], seed: int) -> Image.Image:
        """Returns an RGB picture; raises `GeneratorError` if the pipeline fails or refuses."""
        require_room(self.id, references, self.max_references)
        if not references:
            raise GeneratorError(f"generator {self.id} draws from references, and the answer has none")
        limiter = anyio.CapacityLimiter(1)
        return await anyio.to_thread.run_sync(
            partial(self._draw, prompt, references, seed), abandon_on_cancel=True, limiter=limiter
        )

    def _draw(self, prompt: str, references: Sequence[Image.Image], seed: int) -> Image.Image:
        import torch

        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            pictures = [reference.convert("RGB") for reference in references]
            given = {
                **self._arguments,
                "prompt": prompt,
                self._image_argument: pictures if self._listed else pictures[0],
                # On the CPU, so that the noise does not depend on the device.
                "generator": torch.Generator("cpu").manual_seed(seed),
            }
            try:
                output = self._loaded(**given)
            except Exception as error:
                raise GeneratorError(f"generator {self.id} failed: {told(error)}") from error
        if any(getattr(output, "nsfw_content_detected", None) or []):
            raise GeneratorError(f"generator {self.id} refused: its safety checker blackened the picture")
        images = getattr(output, "images", None)
        if not isinstance(images, Sequence) or len(images) != 1 or not isinstance(images[0], Image.Image):
            raise GeneratorError(f"generator {self.id} returned no single picture; leave generator.arguments.output_type at pil")
        return images[0].convert("RGB")

    def _from_checkpoint(self) -> Any:
        try:
            import diffusers
            import torch
        except ImportError as error:
            raise ConfigError("generator.kind=diffusers needs packages; run pip install 'wildenv[draw]'") from error
        kind, dtype = getattr(diffusers, self._pipeline, None), getattr(torch, self._dtype, None)
        if kind is None or not hasattr(kind, "from_pretrained"):
            raise ConfigError(f"generator.pipeline={self._pipeline} is no pipeline of diffusers {diffusers.__version__}")
        if not isinstance(dtype, torch.dtype):
            raise ConfigError(f"generator.dtype={self._dtype} is no type of torch, such as bfloat16")
        try:
            pipeline = kind.from_pretrained(self._path, dtype=dtype).to(self._device)
        except (OSError, ValueError, RuntimeError) as error:
            raise ConfigError(
                f"generator.path={self._path} cannot be loaded on generator.device={self._device}: {error}"
            ) from error
        pipeline.set_progress_bar_config(disable=True)
        return pipeline
