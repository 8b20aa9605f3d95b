"""Builds the nano model: Qwen2-VL's architecture at a few million parameters, with random weights and its own tokenizer.

The result is a checkpoint folder like any other; `agents.checkpoint.load` opens it. It knows nothing until it is trained.
Qwen2-VL rather than Qwen3-VL: without normalised queries and keys a small model learns to copy from its context within minutes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from transformers import Qwen2VLConfig, Qwen2VLForConditionalGeneration

from agents import checkpoint
from agents.processor import StillProcessor, still_image_processor
from trainers import induction
from trainers.tokenizer import END_OF_TURN, PADDING, train_tokenizer
from wildenv.errors import ConfigError
from wildenv.images import PixelPolicy

_RECIPE = 4
"""Raised when this module builds something else from the same inputs."""
_STAMP = "nano.json"


def build_nano(config: Mapping[str, Any], corpus: Iterable[str], seed: int, out_dir: str | Path) -> Path:
    """Writes a freshly initialised nano checkpoint, unless the folder already holds the one asked for.

    Args:
        config: ``conf/model/nano.yaml`` as plain values.
        corpus: Texts to train the tokenizer on.
        seed: Of the weights.
        out_dir: The checkpoint folder.

    Returns:
        The folder.

    Raises:
        ConfigError: If sizes in the config do not fit together, or the folder holds something else.
    """
    folder = Path(out_dir)
    texts = list(corpus)
    template = checkpoint.read_template(config["chat_template"])
    digest = _digest(config, texts, template, seed)
    stamp = folder / _STAMP
    if stamp.exists():
        if json.loads(stamp.read_text(encoding="utf-8"))["digest"] == digest:
            return folder
    elif folder.exists() and any(folder.iterdir()):
        raise ConfigError(f"{folder} holds something other than a nano model; choose another folder for it")
    processor = nano_processor(config, texts)
    model = _model(config, processor.tokenizer, seed)
    checkpoint.save(folder, model, processor)
    stamp.write_text(json.dumps({"digest": digest}) + "\n", encoding="utf-8")
    return folder


def nano_processor(config: Mapping[str, Any], corpus: Iterable[str]) -> StillProcessor:
    """Returns the processor of a nano model, its tokenizer trained on the corpus.

    Args:
        config: ``conf/model/nano.yaml`` as plain values.
        corpus: Texts to train the tokenizer on.

    Raises:
        ConfigError: If a size does not fit.
    """
    tokenizer = train_tokenizer(corpus, **config["tokenizer"])
    policy = PixelPolicy(config["pixels"]["max_pixels"], config["pixels"]["multiple"])
    vision = config["vision_tower"]
    image_processor = still_image_processor(policy, vision["patch_size"], vision["spatial_merge_size"])
    return StillProcessor(image_processor, tokenizer, chat_template=checkpoint.read_template(config["chat_template"]))


def _digest(config: Mapping[str, Any], texts: list[str], template: str, seed: int) -> str:
    # `path` says where the folder is, not what is in it.
    settings = {key: value for key, value in config.items() if key != "path"}
    digest = hashlib.sha256(json.dumps([_RECIPE, settings, template, seed], sort_keys=True).encode())
    for text in texts:
        digest.update(hashlib.sha256(text.encode()).digest())
    return digest.hexdigest()


def nano_config(config: Mapping[str, Any], tokenizer: Any) -> Qwen2VLConfig:
    """Returns the architecture of a nano model.

    Args:
        config: ``conf/model/nano.yaml`` as plain values.
        tokenizer: The model's.

    Raises:
        ConfigError: If sizes in the config do not fit together.
    """
    text = dict(config["text"])
    rope = {"rope_type": "default", "rope_theta": text.pop("rope_theta"), "mrope_section": list(text.pop("mrope_section"))}
    head_dim = text["hidden_size"] // text["num_attention_heads"]
    if text["hidden_size"] % text["num_attention_heads"] or 2 * sum(rope["mrope_section"]) != head_dim:
        raise ConfigError(
            f"model.text.mrope_section={rope['mrope_section']} must sum to half of hidden_size / num_attention_heads"
        )
    token = tokenizer.convert_tokens_to_ids
    return Qwen2VLConfig(
        text_config={
            **text,
            "vocab_size": len(tokenizer),
            "rope_parameters": rope,
            "bos_token_id": None,
            "eos_token_id": token(END_OF_TURN),
            "pad_token_id": token(PADDING),
        },
        vision_config={**config["vision_tower"], "hidden_size": text["hidden_size"]},
        image_token_id=token("<|image_pad|>"),
        video_token_id=token("<|video_pad|>"),
        vision_start_token_id=token("<|vision_start|>"),
        vision_end_token_id=token("<|vision_end|>"),
        tie_word_embeddings=True,
    )


def _model(config: Mapping[str, Any], tokenizer: Any, seed: int) -> Qwen2VLForConditionalGeneration:
    shape = nano_config(config, tokenizer)
    text, token = config["text"], tokenizer.convert_tokens_to_ids
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Qwen2VLForConditionalGeneration(shape)
    if config["init"] == "copying":
        if text["num_key_value_heads"] != text["num_attention_heads"] or text["num_hidden_layers"] < 2:
            raise ConfigError("model.init=copying needs two text layers and no grouped keys; set model.init=random")
        induction.prepare(model, seed)
    elif config["init"] != "random":
        raise ConfigError(f"model.init={config['init']!r} is neither copying nor random")
    model.generation_config.eos_token_id = token(END_OF_TURN)
    model.generation_config.pad_token_id = token(PADDING)
    return model
