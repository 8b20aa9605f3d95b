"""A Qwen-VL processor for still pictures: needs neither torchvision nor a video part.

Its pixel limits are the environment's `PixelPolicy`, so a picture that the environment has fitted goes through unchanged and
costs the tokens that the budget counted. Videos are refused by the base class for want of a video processor. Software that
insists on the stock processor (a vLLM server, for instance) wants a checkpoint saved with torchvision installed, see
`agents.checkpoint`.
"""

from __future__ import annotations

from typing import Any

from transformers import PreTrainedTokenizerBase, Qwen2VLImageProcessorPil, Qwen2VLProcessor
from transformers.image_processing_utils import BaseImageProcessor

from wildenv.errors import ConfigError
from wildenv.images import PixelPolicy


class StillProcessor(Qwen2VLProcessor):
    """Image processor and tokenizer of a Qwen-VL checkpoint, saved and loaded together.

    Args:
        image_processor: Cuts pictures into patches.
        tokenizer: With Qwen's vision tokens.
        chat_template: Jinja source.
    """

    # The base class derives the parts it saves and loads from this signature: naming no video processor leaves it out.
    def __init__(
        self,
        image_processor: BaseImageProcessor | None = None,
        tokenizer: PreTrainedTokenizerBase | None = None,
        chat_template: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(image_processor, tokenizer, chat_template=chat_template, **kwargs)


def still_image_processor(policy: PixelPolicy, patch_size: int, merge_size: int) -> Qwen2VLImageProcessorPil:
    """Returns an image processor whose limits are the pixel policy's.

    Raises:
        ConfigError: If the policy's multiple is not one merged patch.
    """
    image_processor = Qwen2VLImageProcessorPil(patch_size=patch_size, merge_size=merge_size)
    limit_pixels(image_processor, policy)
    return image_processor


def limit_pixels(image_processor: Any, policy: PixelPolicy) -> None:
    """Sets the limits of a Qwen-VL image processor to the pixel policy's.

    Raises:
        ConfigError: If the policy's multiple is not one merged patch.
    """
    cell = image_processor.patch_size * image_processor.merge_size
    if policy.multiple != cell:
        raise ConfigError(
            f"model.pixels.multiple={policy.multiple}, but the model merges patches to {cell}x{cell} pixels; set it to {cell}"
        )
    image_processor.size = {"shortest_edge": policy.multiple**2, "longest_edge": policy.max_pixels}
