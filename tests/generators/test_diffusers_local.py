from __future__ import annotations

import asyncio
import importlib
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image

from wildenv.errors import ConfigError, GeneratorError
from wildenv.generators.base import Generator
from wildenv.generators.diffusers_local import DiffusersGenerator
from wildenv.images import encode

RED, BLUE = Image.new("RGB", (32, 32), "red"), Image.new("RGB", (32, 48), "blue")


class Pipeline:
    """Notes what it is called with, and draws noise by the seed or answers as told."""

    def __init__(self, **answer: Any) -> None:
        self.answer = answer
        self.calls: list[dict[str, Any]] = []
        self.inside = self.most_inside = 0
        self.lock = threading.Lock()

    def __call__(self, **given: Any) -> Any:
        import torch

        with self.lock:
            self.inside += 1
            self.most_inside = max(self.most_inside, self.inside)
        self.calls.append(given)
        if "raises" in self.answer:
            raise self.answer["raises"]
        noise = torch.randint(0, 255, (3,), generator=given["generator"]).tolist()
        with self.lock:
            self.inside -= 1
        return SimpleNamespace(**{"images": [Image.new("RGBA", (16, 8), tuple(noise))], **self.answer})


def _made(pipeline: Pipeline, **settings: Any) -> DiffusersGenerator:
    return DiffusersGenerator("org/tiny", load=lambda: pipeline, **settings)


def _draw(generator: DiffusersGenerator, *references: Image.Image, seed: int = 0) -> Image.Image:
    return asyncio.run(generator.generate("a cup", references, seed))


def test_prompt_references_seed_and_arguments_reach_the_pipeline() -> None:
    pipeline = Pipeline()
    generator = _made(pipeline, arguments={"true_cfg_scale": 4.0, "num_inference_steps": 40})
    assert isinstance(generator, Generator)
    assert generator.id == "diffusers:tiny,num_inference_steps=40,true_cfg_scale=4.0"
    assert _draw(generator, RED, BLUE.convert("L"), seed=5).mode == "RGB"
    call = pipeline.calls[0]
    assert (call["prompt"], call["true_cfg_scale"], call["num_inference_steps"]) == ("a cup", 4.0, 40)
    assert [(one.size, one.mode) for one in call["image"]] == [((32, 32), "RGB"), ((32, 48), "RGB")]
    assert call["generator"].initial_seed() == 5


def test_the_seed_decides() -> None:
    generator = _made(Pipeline())
    assert encode(_draw(generator, RED, seed=1)) == encode(_draw(generator, RED, seed=1)) != encode(_draw(generator, RED, seed=2))


def test_a_pipeline_that_takes_one_picture_under_another_name() -> None:
    pipeline = Pipeline()
    _draw(_made(pipeline, image_argument="init_image", listed=False, max_references=1), RED)
    assert pipeline.calls[0]["init_image"].size == RED.size


def test_it_is_loaded_at_the_first_picture_and_once() -> None:
    loaded = []
    generator = DiffusersGenerator("tiny", load=lambda: loaded.append(1) or Pipeline())
    assert not loaded
    _draw(generator, RED)
    _draw(generator, BLUE)
    assert loaded == [1]


def test_one_picture_is_drawn_at_a_time() -> None:
    pipeline = Pipeline()
    generator = _made(pipeline)

    async def many() -> None:
        await asyncio.gather(*(generator.generate("a cup", [RED], seed) for seed in range(8)))

    asyncio.run(many())
    assert (len(pipeline.calls), pipeline.most_inside) == (8, 1)


def test_more_references_than_it_takes_or_none_are_errors() -> None:
    pipeline = Pipeline()
    with pytest.raises(GeneratorError, match=r"takes 1 references and the answer has 2"):
        _draw(_made(pipeline, max_references=1), RED, BLUE)
    with pytest.raises(GeneratorError, match="the answer has none"):
        _draw(_made(pipeline))
    assert not pipeline.calls


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ({"raises": RuntimeError("CUDA out of memory")}, "failed: RuntimeError: CUDA out of memory"),
        ({"nsfw_content_detected": [True]}, "refused"),
        ({"images": []}, "no single picture"),
        ({"images": [RED, RED]}, "no single picture"),
        ({"images": [[0.5]]}, "no single picture"),
        ({"images": None}, "no single picture"),
    ],
)
def test_what_is_no_picture_is_a_failure(answer: dict[str, Any], says: str) -> None:
    with pytest.raises(GeneratorError, match=says):
        _draw(_made(Pipeline(**answer)), RED)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"path": ""}, r"generator\.path"),
        ({"max_references": 0}, r"generator\.max_references=0"),
        ({"listed": False, "max_references": 2}, r"generator\.listed=false"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        DiffusersGenerator(**{"path": "tiny", **settings})


def test_without_the_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "diffusers", None)
    with pytest.raises(ConfigError, match=r"pip install 'wildenv\[draw\]'"):
        _draw(DiffusersGenerator("tiny"), RED)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"pipeline": "NoSuchPipeline"}, r"generator\.pipeline=NoSuchPipeline"),
        ({"dtype": "float99"}, r"generator\.dtype=float99"),
        ({"pipeline": "DDPMPipeline"}, r"generator\.path=.* cannot be loaded on generator\.device=cpu"),
    ],
)
def test_a_checkpoint_that_cannot_be_loaded(settings: dict[str, Any], named: str, tmp_path: Path) -> None:
    pytest.importorskip("diffusers")
    with pytest.raises(ConfigError, match=named):
        _draw(DiffusersGenerator(str(tmp_path / "nothing"), **{"device": "cpu", "dtype": "float32", **settings}), RED)


@pytest.mark.slow
def test_qwen_image_edit_with_random_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("diffusers")
    from tests.generators.tiny_qwen import SETTINGS, tiny_qwen

    module = importlib.import_module("diffusers.pipelines.qwenimage.pipeline_qwenimage_edit_plus")
    # The pipeline enlarges every reference to about a million pixels.
    monkeypatch.setattr(module, "VAE_IMAGE_SIZE", 32 * 32)
    monkeypatch.setattr(module, "CONDITION_IMAGE_SIZE", 32 * 32)
    generator = DiffusersGenerator("tiny", load=tiny_qwen, arguments=SETTINGS)
    first = _draw(generator, RED, BLUE, seed=3)
    assert (first.size, first.mode) == ((32, 32), "RGB")
    assert encode(first) == encode(_draw(generator, RED, BLUE, seed=3))
    assert encode(first) != encode(_draw(generator, RED, BLUE, seed=4))
    assert encode(first) != encode(_draw(generator, RED, seed=3))
