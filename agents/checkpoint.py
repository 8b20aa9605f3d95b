"""Opens and saves checkpoints: nano folders, Qwen-VL folders and hub ids, and text-only causal language models.

`load` answers a missing or unusable model with one sentence that names the setting to change. `save` writes everything that
`load` needs, reads the weights back and raises if a tensor is missing, empty or not finite. Nothing here downloads anything but
what transformers itself fetches for a hub id, and no other library's weight format is converted except GGUF.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoProcessor,
    AutoTokenizer,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    ProcessorMixin,
)

from agents.encode import TrajectoryEncoder
from agents.processor import StillProcessor, limit_pixels
from wildenv.errors import ConfigError, DataError
from wildenv.images import PixelPolicy

_ROOT = Path(__file__).resolve().parents[1]
_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


class Unopened(ConfigError):
    """transformers cannot open a model: it cannot be reached, or its files are no model."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model and everything that turns chats into its inputs.

    Attributes:
        model: In evaluation mode, on the device asked for.
        tokenizer: The processor's tokenizer.
        processor: None for a text-only model.
        encoder: Encodes canonical chats for this model.
    """

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    processor: ProcessorMixin | None
    encoder: TrajectoryEncoder


@dataclass(frozen=True, slots=True)
class Described:
    """A checkpoint without its weights.

    Attributes:
        where: The folder, or the hub id.
        config: Its ``config.json``.
        tokenizer: The processor's tokenizer.
        processor: None for a text-only model.
        encoder: Encodes canonical chats for this model.
    """

    where: str
    config: PretrainedConfig
    tokenizer: PreTrainedTokenizerBase
    processor: ProcessorMixin | None
    encoder: TrajectoryEncoder


def describe(
    path: str | Path,
    *,
    pixels: PixelPolicy | None = None,
    chat_template: str | Path | None = None,
    gguf_file: str | None = None,
) -> Described:
    """Opens all of a checkpoint but its weights.

    Args:
        path: A folder, a hub id, or ``package:NAME`` for a model that an installed Python package carries.
        pixels: Replaces the pixel limits of a model that sees.
        chat_template: A .jinja file (relative to the repository) that replaces the checkpoint's template.
        gguf_file: Name of a GGUF file in the folder.

    Raises:
        ConfigError: If there is no such model, or it cannot be used; the message names the setting.
    """
    where = _locate(path, gguf_file)
    source: dict[str, Any] = {} if gguf_file is None else {"gguf_file": gguf_file}
    template = None if chat_template is None else read_template(chat_template)
    config = _reach(path, lambda: AutoConfig.from_pretrained(where, **source))
    processor: ProcessorMixin | None = None
    if sees(config):
        processor = _reach(path, lambda: _processor(where))
        tokenizer = processor.tokenizer
        if pixels is not None:
            limit_pixels(processor.image_processor, pixels)
        if template is not None:
            processor.chat_template = template
    else:
        tokenizer = _reach(path, lambda: AutoTokenizer.from_pretrained(where, **source))
        if template is not None:
            tokenizer.chat_template = template
    tokenizer.padding_side = "left"
    encoder = TrajectoryEncoder(tokenizer if processor is None else processor)
    return Described(where, config, tokenizer, processor, encoder)


def is_local(path: str | Path) -> bool:
    """Whether a model is on this machine: a folder, or one that a package carries."""
    return str(path).startswith("package:") or Path(path).expanduser().is_dir()


def looks_like_folder(path: str | Path) -> bool:
    """Whether a path is spelled as no hub id is."""
    text = str(path)
    return Path(text).expanduser().is_absolute() or text.startswith(".") or text.count("/") > 1 or "\\" in text


def sees(config: PretrainedConfig) -> bool:
    """Whether a model takes pictures."""
    return getattr(config, "vision_config", None) is not None


def loader(config: PretrainedConfig) -> Any:
    """Returns the auto class that makes a model of this config."""
    return AutoModelForImageTextToText if sees(config) else AutoModelForCausalLM


def load(
    path: str | Path,
    dtype: str = "float32",
    device: str = "cpu",
    *,
    pixels: PixelPolicy | None = None,
    chat_template: str | Path | None = None,
    gguf_file: str | None = None,
    model_kwargs: Mapping[str, Any] | None = None,
) -> Loaded:
    """Opens a checkpoint.

    Args:
        path: As in `describe`.
        dtype: ``float32``, ``bfloat16`` or ``float16``.
        device: As torch names it.
        pixels: As in `describe`.
        chat_template: As in `describe`.
        gguf_file: As in `describe`.
        model_kwargs: Further arguments of ``from_pretrained``, such as ``attn_implementation``.

    Raises:
        ConfigError: If there is no such model, or it cannot be used; the message names the setting.
    """
    if dtype not in _DTYPES:
        raise ConfigError(f"model.dtype={dtype!r} is none of {', '.join(_DTYPES)}")
    found = describe(path, pixels=pixels, chat_template=chat_template, gguf_file=gguf_file)
    arguments = {**({} if gguf_file is None else {"gguf_file": gguf_file}), **(model_kwargs or {})}
    model = _reach(
        path,
        lambda: loader(found.config).from_pretrained(found.where, config=found.config, dtype=_DTYPES[dtype], **arguments),
    )
    if gguf_file is not None:
        _forget_quantization(model)
    tokenizer = found.tokenizer
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.eos_token_id if tokenizer.pad_token_id is None else tokenizer.pad_token_id
    return Loaded(model.to(device).eval(), tokenizer, found.processor, found.encoder)


def from_config(config: Mapping[str, Any], device: str = "cpu") -> Loaded:
    """Opens the model that a ``conf/model`` entry describes.

    Raises:
        ConfigError: As `load`; also if ``path`` is not set.
    """
    if not config["path"]:
        raise ConfigError(
            f"model.path is not set and the model {config['name']!r} has no folder yet; set model.path=FOLDER, "
            "or run a trainer with model=nano, which builds one"
        )
    pixels = config["pixels"]
    return load(
        config["path"],
        config["dtype"],
        device,
        pixels=PixelPolicy(pixels["max_pixels"], pixels["multiple"]) if config["vision"] else None,
        chat_template=config.get("chat_template"),
        gguf_file=config.get("gguf_file"),
        model_kwargs=config.get("model_kwargs"),
    )


def save(folder: str | Path, model: PreTrainedModel, processor: ProcessorMixin | PreTrainedTokenizerBase) -> Path:
    """Writes weights, processor, tokenizer and chat template, then checks the weights on disk.

    Raises:
        DataError: If a tensor on disk is missing, empty or not finite, which is what saving a partitioned (ZeRO-3) or offloaded
            model without gathering it leaves behind.
    """
    target = Path(folder)
    model.save_pretrained(target)
    processor.save_pretrained(target)
    check_weights(target, model)
    return target


def check_weights(folder: str | Path, model: PreTrainedModel) -> None:
    """Compares the safetensors files of a folder with a model's parameters.

    Raises:
        DataError: If a tensor is missing, of another shape, empty or not finite.
    """
    shapes: dict[str, tuple[int, ...]] = {}
    for file in sorted(Path(folder).glob("*.safetensors")):
        with safe_open(file, framework="pt") as tensors:
            for name in tensors.keys():  # noqa: SIM118 - safe_open is no mapping
                tensor = tensors.get_tensor(name)
                if tensor.numel() == 0 or not bool(torch.isfinite(tensor).all()):
                    raise DataError(f"{file}: tensor {name!r} is empty or not finite; gather the weights before saving")
                shapes[name] = tuple(tensor.shape)
    # Tied weights are written once, and transformers may rename on saving: sizes are compared, not names.
    stored = sum(_size(shape) for shape in shapes.values())
    # DeepSpeed keeps the size of a partitioned parameter in `ds_numel`.
    expected = sum(getattr(parameter, "ds_numel", parameter.numel()) for parameter in model.parameters())
    if stored < expected:
        raise DataError(f"{folder} holds {stored} of {expected} weights; gather the weights before saving")


def read_template(path: str | Path) -> str:
    """Returns a chat template; a relative path is relative to the repository.

    Raises:
        ConfigError: If there is no such file.
    """
    file = Path(path) if Path(path).is_absolute() else _ROOT / path
    if not file.is_file():
        raise ConfigError(f"model.chat_template={path} is not a file")
    return file.read_text(encoding="utf-8")


def _forget_quantization(model: Any) -> None:
    """Drops the marks of the file format: GGUF weights are unpacked on reading, and a marked model may not be trained."""
    for holder, name in ((model, "hf_quantizer"), (model, "quantization_method"), (model.config, "quantization_config")):
        if name in vars(holder):
            delattr(holder, name)
    model.is_quantized = False


def _size(shape: tuple[int, ...]) -> int:
    return int(torch.Size(shape).numel())


def _locate(path: str | Path, gguf_file: str | None) -> str:
    text = str(path)
    if text.startswith("package:"):
        package = text.removeprefix("package:")
        found = importlib.util.find_spec(package)
        if found is None or not found.submodule_search_locations:
            extra = package.removeprefix("llm_")
            raise ConfigError(
                f"model.path={text}: the package is not installed; run pip install -e '.[{extra}]', or choose another model"
            )
        return str(next(iter(found.submodule_search_locations)))
    folder = Path(text).expanduser()
    if looks_like_folder(path) and not folder.is_dir():
        raise ConfigError(f"model.path={text} is not a folder; set model.path to a checkpoint, or use model=nano")
    wanted = gguf_file or "config.json"
    if folder.is_dir() and not (folder / wanted).exists():
        raise ConfigError(f"model.path={text} holds no {wanted}; set model.path to a checkpoint folder, or use model=nano")
    return str(folder) if folder.is_dir() else text


def _reach(path: str | Path, open_: Any) -> Any:
    try:
        return open_()
    except (OSError, ValueError, ImportError, KeyError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise Unopened(
            f"the model {str(path)!r} cannot be opened ({reason}); set model.path to a checkpoint folder or to a hub id that "
            "can be reached from here, or use model=nano, which needs no download"
        ) from error


def _processor(where: str) -> ProcessorMixin:
    file = Path(where) / "processor_config.json"
    still = file.is_file() and json.loads(file.read_text(encoding="utf-8")).get("processor_class") == StillProcessor.__name__
    # The stock Qwen-VL processors want torchvision for videos, which no trajectory has.
    if still or importlib.util.find_spec("torchvision") is None:
        return StillProcessor.from_pretrained(where)
    return AutoProcessor.from_pretrained(where)
