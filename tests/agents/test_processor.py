"""The processor agrees with the environment's pixel policy and survives a round trip to disk."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from PIL import Image

from agents.checkpoint import Loaded
from agents.processor import StillProcessor, limit_pixels, still_image_processor
from wildenv.errors import ConfigError
from wildenv.images import PixelPolicy

SIZES = [(224, 224), (336, 168), (196, 280), (64, 48), (1000, 90), (27, 800), (112, 112), (1920, 1080)]


@pytest.mark.parametrize("policy", [PixelPolicy(), PixelPolicy(max_pixels=160_000, multiple=32)])
@pytest.mark.parametrize("size", SIZES)
def test_a_fitted_picture_costs_what_the_policy_says(policy: PixelPolicy, size: tuple[int, int]) -> None:
    processor = still_image_processor(policy, policy.multiple // 2, 2)
    shown = policy.fit(Image.effect_noise(size, 40).convert("RGB"))
    out = processor(images=[shown], return_tensors="pt")
    width, height = shown.size
    patch = policy.multiple // 2
    assert out["image_grid_thw"].tolist() == [[1, height // patch, width // patch]]


def test_a_fitted_picture_is_not_resampled() -> None:
    policy = PixelPolicy()
    shown = policy.fit(Image.effect_noise((300, 200), 60).convert("RGB"))
    processor = still_image_processor(policy, 14, 2)
    kept = processor(images=[shown], return_tensors="pt")["pixel_values"]
    raw = processor(images=[shown], do_resize=False, return_tensors="pt")["pixel_values"]
    assert torch.equal(kept, raw)


def test_it_saves_and_loads_without_a_video_part(nano: Loaded, tmp_path: Path) -> None:
    assert isinstance(nano.processor, StillProcessor)
    nano.processor.save_pretrained(tmp_path)
    again = StillProcessor.from_pretrained(tmp_path)
    assert StillProcessor.get_attributes() == ["image_processor", "tokenizer"]
    assert again.chat_template == nano.processor.chat_template
    assert dict(again.image_processor.size) == dict(nano.processor.image_processor.size)
    assert again.tokenizer.get_vocab() == nano.tokenizer.get_vocab()


def test_a_policy_that_does_not_fit_the_patches_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"pixels\.multiple=32.*set it to 28"):
        limit_pixels(still_image_processor(PixelPolicy(), 14, 2), PixelPolicy(max_pixels=20_000, multiple=32))
