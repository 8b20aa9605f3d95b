"""Template, image token and pixel policy of a model, checked with its own encoder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.trainers.preflight.conftest import Check, Make
from trainers.checks.all import run_check
from trainers.checks.finding import Status

NANO = (Path(__file__).resolve().parents[3] / "conf/model/nano.jinja").read_text(encoding="utf-8")
CHECKS = ("model", "chat template", "tool pictures", "prefix", "image token", "vocabulary", "pixel policy")


@pytest.fixture
def folder(nano_folder: Path, tmp_path: Path) -> Path:
    """A checkpoint to spoil."""
    return Path(shutil.copytree(nano_folder, tmp_path / "model"))


def change(file: Path, **values: object) -> None:
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | values), encoding="utf-8")


@pytest.mark.parametrize("name", CHECKS)
def test_the_nano_model_passes_before_it_is_built(make: Make, name: str) -> None:
    subject = make()
    assert [found.status for found in run_check(name, subject)] == [Status.PASSED]
    assert not subject.folder.exists()


@pytest.mark.parametrize("name", CHECKS)
def test_a_checkpoint_passes_without_its_weights(check: Check, folder: Path, name: str) -> None:
    for file in folder.glob("*.safetensors"):
        file.unlink()
    assert check(name, f"model.path={folder}").status is Status.PASSED


@pytest.mark.parametrize(
    ("name", "old", "new", "reason"),
    [
        ("chat template", "message.tool_calls or []", "[]", "tool calls"),
        ("chat template", "{{- body(message.content) -}}\n        {{- '\\n</tool", "{{- '\\n</tool", "tool messages"),
        ("tool pictures", "<|vision_start|><|image_pad|><|vision_end|>", "", "0 of 3 pictures"),
        ("prefix", "'<|im_start|>assistant\\n' if", "'<|im_start|>assistant:\\n' if", "prefix of its trajectory"),
    ],
)
def test_a_template_that_loses_something_is_refused(
    check: Check, tmp_path: Path, name: str, old: str, new: str, reason: str
) -> None:
    assert old in NANO
    template = tmp_path / "broken.jinja"
    template.write_text(NANO.replace(old, new), encoding="utf-8")
    found = check(name, f"model.chat_template={template}")
    assert found.status is Status.REFUSED
    assert reason in found.reason
    assert "model.chat_template" in found.reason


def test_an_image_token_that_the_model_does_not_know_is_refused(check: Check, folder: Path) -> None:
    change(folder / "config.json", image_token_id=7)
    found = check("image token", f"model.path={folder}")
    assert found.status is Status.REFUSED
    assert "7 to config.json" in found.reason
    assert "model.path" in found.reason


def test_a_vocabulary_without_embeddings_is_refused(check: Check, folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["text_config"]["vocab_size"] = 100
    change(folder / "config.json", **config)
    found = check("vocabulary", f"model.path={folder}")
    assert found.status is Status.REFUSED
    assert "embeddings for 100" in found.reason


def test_pixels_of_another_patch_are_refused_and_hide_nothing_else(make: Make, folder: Path) -> None:
    subject = make(f"model.path={folder}", "model.pixels.multiple=32")
    (found,) = run_check("pixel policy", subject)
    assert found.status is Status.REFUSED
    assert "model.pixels.multiple=32" in found.reason
    assert "set it to 28" in found.reason
    (pictures,) = run_check("tool pictures", subject)
    assert pictures.status is Status.NOT_CHECKED
    assert [one.status for one in run_check("image token", subject)] == [Status.PASSED]


def test_pixels_of_the_environment_must_be_the_models(check: Check) -> None:
    found = check("pixel policy", "env.pixels={max_pixels: 50176, multiple: 28}")
    assert found.status is Status.REFUSED
    assert "env.pixels" in found.reason


def test_a_text_model_has_no_pictures_to_check(check: Check, folder: Path) -> None:
    shape = {"model_type": "llama", "vocab_size": 600, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    (folder / "config.json").write_text(json.dumps({**shape, "architectures": ["LlamaForCausalLM"]}), encoding="utf-8")
    (folder / "processor_config.json").unlink(missing_ok=True)
    assert check("chat template", f"model.path={folder}").status is Status.PASSED
    for name in ("tool pictures", "image token", "pixel policy"):
        assert check(name, f"model.path={folder}").status is Status.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("path", "status"), [("Qwen/Qwen3-VL-8B-Instruct", Status.PASSED), ("Qwen/Qwen2.5-VL-7B-Instruct", Status.REFUSED)]
)
def test_a_hub_model_out_of_reach_is_checked_by_its_familys_template(make: Make, path: str, status: Status) -> None:
    subject = make("scale=cluster_grpo", f"model.path={path}")
    (model,) = run_check("model", subject)
    assert model.status is Status.NOT_CHECKED
    assert "TRL" in model.reason
    (template,) = run_check("chat template", subject)
    assert template.status is status
    assert "by TRL's qwen" in template.reason
    for name in ("image token", "vocabulary", "pixel policy", "LoRA", "length", "positions", "disk space"):
        assert run_check(name, subject)[0].status in (Status.NOT_CHECKED, Status.NOT_APPLICABLE)


def test_a_refused_family_names_the_setting(check: Check) -> None:
    found = check("chat template", "scale=cluster_grpo", "model.path=Qwen/Qwen2.5-VL-7B-Instruct")
    assert "renders no tool calls" in found.reason
    assert "model.path" in found.reason
    assert "model.chat_template" in found.reason


def test_an_unknown_hub_model_is_not_checked(check: Check) -> None:
    assert check("chat template", "scale=cluster_grpo", "model.path=somebody/else").status is Status.NOT_CHECKED


def test_a_folder_that_is_no_model_is_refused(check: Check, tmp_path: Path) -> None:
    found = check("model", f"model.path={tmp_path}")
    assert found.status is Status.REFUSED
    assert "model.path" in found.reason
