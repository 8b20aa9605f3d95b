"""Qwen-Image-Edit's own pipeline of ``diffusers`` with random weights, small enough for a test.

The processor is a stand-in, because transformers' needs torchvision; the rest is the real thing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers import BatchFeature, Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration, Qwen2Tokenizer

SPECIAL = ["<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>", "<|image_pad|>", "<|video_pad|>"]
SETTINGS = {"true_cfg_scale": 2.0, "negative_prompt": " ", "num_inference_steps": 2, "height": 32, "width": 32}


class Processor:
    """Words and patches as the model wants them: one patch grid of 4x4, which merges to 4 tokens, for each picture."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    def __call__(self, text: Sequence[str], images: Sequence[Any] | None, padding: bool, return_tensors: str) -> BatchFeature:
        words = self.tokenizer([one.replace("<|image_pad|>", "<|image_pad|>" * 4) for one in text], return_tensors="pt")
        pictures = list(images or [])
        patches = torch.stack([torch.full((16, 3 * 2 * 14 * 14), float(one.float().mean())) for one in _tensors(pictures)])
        grid = torch.tensor([[1, 4, 4]] * len(pictures))
        return BatchFeature({**words, "pixel_values": patches.flatten(0, 1), "image_grid_thw": grid})


def _tensors(pictures: Sequence[Any]) -> list[torch.Tensor]:
    return [torch.tensor(bytearray(one.tobytes()), dtype=torch.uint8) / 255 for one in pictures]


def tiny_qwen() -> Any:
    """Returns the pipeline; the same weights every time."""
    from diffusers import (
        AutoencoderKLQwenImage,
        FlowMatchEulerDiscreteScheduler,
        QwenImageEditPlusPipeline,
        QwenImageTransformer2DModel,
    )
    from tokenizers.pre_tokenizers import ByteLevel

    torch.manual_seed(0)
    vocabulary = {character: number for number, character in enumerate(sorted(ByteLevel.alphabet()))}
    tokenizer = Qwen2Tokenizer(vocab=vocabulary, merges=[], additional_special_tokens=SPECIAL)
    ids = {word: tokenizer.convert_tokens_to_ids(word) for word in SPECIAL}
    text = {
        "vocab_size": len(tokenizer),
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "rope_parameters": {"mrope_section": [1, 1, 2], "rope_type": "default", "rope_theta": 1_000_000.0},
        "bos_token_id": None,
        "eos_token_id": ids["<|im_end|>"],
    }
    vision = {"depth": 1, "hidden_size": 16, "intermediate_size": 16, "num_heads": 2, "out_hidden_size": 16, "patch_size": 14}
    config = Qwen2_5_VLConfig(
        text_config=text,
        vision_config={**vision, "fullatt_block_indexes": [0]},
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
    )
    latent = 4
    pipeline = QwenImageEditPlusPipeline(
        scheduler=FlowMatchEulerDiscreteScheduler(),
        vae=AutoencoderKLQwenImage(
            base_dim=latent * 6,
            z_dim=latent,
            dim_mult=[1, 2, 4],
            num_res_blocks=1,
            temperal_downsample=[False, True],
            latents_mean=[0.0] * latent,
            latents_std=[1.0] * latent,
        ),
        text_encoder=Qwen2_5_VLForConditionalGeneration(config).eval(),
        tokenizer=tokenizer,
        processor=Processor(tokenizer),
        transformer=QwenImageTransformer2DModel(
            patch_size=2,
            in_channels=16,
            out_channels=4,
            num_layers=1,
            attention_head_dim=16,
            num_attention_heads=3,
            joint_attention_dim=16,
            guidance_embeds=False,
            axes_dims_rope=(8, 4, 4),
        ),
    )
    pipeline.set_progress_bar_config(disable=True)
    return pipeline
