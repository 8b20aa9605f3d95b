"""A transformers checkpoint as a chat model, in this process.

It is the chat client with another line: schemas, repair, refusals of replies that are cut short, the store of replies and the
counting of tokens are the same code as for an endpoint. One request is answered at a time; use an endpoint (vLLM, for instance)
for many. The checkpoint is opened at the first request that the store does not answer. Greedy unless a temperature is set; equal
requests get equal replies on the same hardware with the same versions, and no further.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wildenv.errors import ConfigError, ProviderError
from wildenv.images import decode
from wildenv.messages import Message
from wildenv.models.chat import ChatModel
from wildenv.models.dialect import Dialect
from wildenv.models.pictures import Pictures
from wildenv.models.sampling import Sampling
from wildenv.web.net.manners import Rules
from wildenv.web.request import sha256
from wildenv.web.store import Store

DTYPES = ("float32", "bfloat16", "float16")

_OWN = frozenset({"model", "messages", "tools", "max_tokens", "temperature", "top_p", "seed", "chat_template_kwargs"})
_DATA_URL = "base64,"


class LocalChat(ChatModel):
    """Implements `Chat` with a checkpoint of transformers, one that sees or a text-only one. Safe for threads.

    Args:
        path: A hub id, or a folder that holds a checkpoint.
        name: What replies are kept under; None is `LocalLine.name`.
        dtype: ``float32``, ``bfloat16`` or ``float16``.
        device: As torch names it.
        chat_template: A .jinja file that replaces the checkpoint's template.
        sampling: How words are drawn; ``max_tokens`` must be set, ``extra`` goes to ``generate``.
        pictures: Format and size of the pictures the model sees.
        timeout_s: Seconds for one reply.
        store: Where replies are kept.
        mode: See `ChatModel`.
        setting: Where these arguments stand in the config, for messages.
        opened: A model and its processor (or tokenizer) as they are, instead of opening `path`.

    Raises:
        ConfigError: If a value is not valid, or `path` looks like a folder and is none.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        name: str | None = None,
        dtype: str = "float32",
        device: str = "cpu",
        chat_template: str | Path | None = None,
        sampling: Sampling | None = None,
        pictures: Pictures | None = None,
        timeout_s: float = 600.0,
        store: Store | None = None,
        mode: str | None = None,
        setting: str = "model",
        opened: tuple[Any, Any] | None = None,
    ) -> None:
        if dtype not in DTYPES:
            raise ConfigError(f"{setting}.dtype={dtype!r} is none of {', '.join(DTYPES)}")
        sampling = sampling or Sampling()
        if sampling.max_tokens is None:
            raise ConfigError(f"{setting}.sampling.max_tokens must be set: a local model has no longest reply of its own")
        line = LocalLine(str(path), dtype, device, chat_template, setting, opened)
        super().__init__(
            name or line.name,
            line.base_url,
            sampling=sampling,
            # Templates of the checkpoints that see render tools and the pictures of tool replies themselves.
            dialect=Dialect(tools="native", tool_pictures="inline", structured="words"),
            pictures=pictures,
            rules=Rules(concurrency=1, attempts=1),
            timeout_s=timeout_s,
            store=store,
            mode=mode,
            setting=setting,
            line=line,
        )


class LocalLine:
    """Implements `wildenv.models.wire.Line` with a checkpoint in this process.

    Attributes:
        name: Tells what decides about replies: the path, for a folder its name and a digest of the weights; the precision; and
            a digest of a template that replaces the checkpoint's.
        base_url: Says in messages that it is no endpoint.
    """

    def __init__(
        self,
        path: str,
        dtype: str,
        device: str,
        chat_template: str | Path | None,
        setting: str,
        opened: tuple[Any, Any] | None = None,
    ) -> None:
        folder = Path(path).expanduser()
        if (folder.is_absolute() or path.startswith(".")) and opened is None and not (folder / "config.json").is_file():
            raise ConfigError(f"{setting}.path={path} holds no config.json; give a checkpoint folder or a hub id")
        self.base_url = f"local:{path}"
        self._path = str(folder) if folder.is_dir() else path
        self._dtype = dtype
        self._device = device
        self._template = None if chat_template is None else _read(chat_template, setting)
        weights = f"{folder.name}@{_digest(folder)[:12]}" if folder.is_dir() and opened is None else path
        template = "" if self._template is None else f":{sha256(self._template)[:8]}"
        self.name = f"{weights}:{dtype}{template}"
        self._setting = setting
        self._lock = threading.Lock()
        self._given = opened
        self._opened = opened

    def send(self, body: Mapping[str, Any], limit_s: float) -> str:
        """Answers a chat completion request; one at a time.

        Raises:
            TimeoutError: If writing took longer than `limit_s` seconds.
            ProviderError: If the chat is too long for the model, or the model failed.
            ConfigError: If the checkpoint cannot be opened, or does not do what is asked of it.
        """
        with self._lock:
            if self._opened is None:
                self._opened = self._open()
            model, processor = self._opened
            tokenizer = _tokenizer(processor)
            ends = _ends(model, tokenizer)
            if not ends:
                raise ConfigError(
                    f"{self._setting}.path={self._path} has no end-of-turn token; set eos_token in its tokenizer_config.json"
                )
            inputs = self._inputs(body, processor, tokenizer)
            ids = self._generate(model, inputs, ends, body, limit_s)
        text = tokenizer.decode([one for one in ids if one not in (*ends, tokenizer.pad_token_id)], skip_special_tokens=False)
        answer = {
            "model": body["model"],
            "choices": [
                {"message": {"role": "assistant", "content": text}, "finish_reason": "stop" if ids[-1] in ends else "length"}
            ],
            "usage": {"prompt_tokens": int(inputs["input_ids"].shape[1]), "completion_tokens": len(ids)},
        }
        return json.dumps(answer)

    def close(self) -> None:
        """Lets go of the model, unless it was given as it is."""
        with self._lock:
            self._opened = self._given

    def _open(self) -> tuple[Any, Any]:
        try:
            import torch
            from transformers import (
                AutoConfig,
                AutoModelForCausalLM,
                AutoModelForImageTextToText,
                AutoProcessor,
                AutoTokenizer,
            )
        except ImportError as error:
            raise ConfigError(f"{self._setting}: a local model needs pip install 'wildenv[train]' ({error})") from error
        try:
            config = AutoConfig.from_pretrained(self._path)
            sees = getattr(config, "vision_config", None) is not None
            kind = AutoModelForImageTextToText if sees else AutoModelForCausalLM
            model: Any = kind.from_pretrained(self._path, dtype=getattr(torch, self._dtype))
            model.to(self._device).eval()
            processor = (AutoProcessor if sees else AutoTokenizer).from_pretrained(self._path)
        except (OSError, ValueError, ImportError, KeyError, RuntimeError) as error:
            reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
            raise ConfigError(
                f"{self._setting}.path={self._path} cannot be opened ({reason.strip()}); give a checkpoint folder or a hub id "
                f"that can be reached from here, and check {self._setting}.device. Some processors need pip install torchvision"
            ) from error
        return model, processor

    def _inputs(self, body: Mapping[str, Any], processor: Any, tokenizer: Any) -> Mapping[str, Any]:
        """Returns the model inputs of a request, a batch of one."""
        sees = processor is not tokenizer
        template = self._template or processor.chat_template or tokenizer.chat_template
        if not isinstance(template, str):
            raise ConfigError(f"{self._setting}: the checkpoint has no single chat template; set {self._setting}.chat_template")
        from jinja2 import TemplateError

        control = _control(tokenizer)
        try:
            inputs: Mapping[str, Any] = processor.apply_chat_template(
                [self._message(message, control, sees) for message in body["messages"]],
                tools=body.get("tools"),
                chat_template=template,
                add_generation_prompt=True,
                tokenize=True,
                return_dict=True,
                return_tensors="pt",
                **body.get("chat_template_kwargs", {}),
            )
        except (TemplateError, ValueError, TypeError) as error:
            raise ConfigError(
                f"{self._setting}.chat_template: the template of {self._path} does not render the chat ({error}); set another one"
            ) from error
        return inputs

    def _message(self, message: Message, control: re.Pattern[str], sees: bool) -> Message:
        """Returns a message of the request as templates read it: pictures as such, no control tokens in what others wrote."""
        own = message["role"] == "assistant"

        def plain(text: str) -> str:
            return text if own else control.sub(lambda found: f"{found[0][0]} {found[0][1:]}", text)

        content: Any = message["content"] or ""
        if isinstance(content, str):
            content = plain(content)
        else:
            content = [self._block(block, plain(block.get("text", "")), sees) for block in content]
        if sees and isinstance(content, str):
            content = [{"type": "text", "text": content}]
        found = {**message, "content": content}
        if message.get("tool_calls"):
            found["tool_calls"] = [_with_arguments(call) for call in message["tool_calls"]]
        return found

    def _block(self, block: Mapping[str, Any], text: str, sees: bool) -> dict[str, Any]:
        if block["type"] == "text":
            return {"type": "text", "text": text}
        if not sees:
            raise ConfigError(
                f"{self._setting}.path={self._path} is a text-only model and is shown a picture; name one that sees"
            )
        data = block["image_url"]["url"].partition(_DATA_URL)[2]
        return {"type": "image", "image": decode(base64.b64decode(data))}

    def _generate(
        self, model: Any, inputs: Mapping[str, Any], ends: Sequence[int], body: Mapping[str, Any], limit_s: float
    ) -> list[int]:
        import torch
        from transformers import StoppingCriteriaList

        read, wanted = int(inputs["input_ids"].shape[1]), int(body["max_tokens"])
        room = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        if room is not None and read + wanted > room:
            raise ProviderError(
                f"{self._setting}: the chat has {read} tokens and the reply may have {wanted}, more than the {room} of "
                f"{self._path}; lower {self._setting}.sampling.max_tokens or {self._setting}.pictures.pixels.max_pixels",
                "context length",
            )
        clock = _Clock(limit_s)
        settings = {name: value for name, value in body.items() if name not in _OWN}
        if body.get("temperature"):
            drawn = {"do_sample": True, "temperature": body["temperature"], "top_p": body.get("top_p")}
            settings |= {name: value for name, value in drawn.items() if value is not None}
        else:
            settings["do_sample"] = False
        devices = [model.device] if model.device.type == "cuda" else []
        try:
            with torch.inference_mode(), torch.random.fork_rng(devices=devices):
                torch.manual_seed(body.get("seed", 0))
                out = model.generate(
                    **{name: _placed(tensor, model) for name, tensor in inputs.items()},
                    max_new_tokens=wanted,
                    eos_token_id=list(ends),
                    pad_token_id=ends[0],
                    stopping_criteria=StoppingCriteriaList([clock]),
                    **settings,
                )
        except torch.OutOfMemoryError as error:
            advice = f"lower {self._setting}.pictures.pixels.max_pixels or {self._setting}.sampling.max_tokens"
            raise ProviderError(f"{self._setting}: {self._path} does not fit into memory; {advice}", "memory") from error
        except (RuntimeError, IndexError) as error:
            raise ProviderError(f"{self._setting}: {self._path} failed: {error}") from error
        except (TypeError, ValueError) as error:
            raise ConfigError(f"{self._setting}.sampling: {self._path} cannot generate so: {error}") from error
        ids: list[int] = out[0, read:].tolist()
        if clock.late and ids[-1] not in ends:
            raise TimeoutError
        return ids


def _placed(tensor: Any, model: Any) -> Any:
    """Returns a tensor where the model is, pixels in the precision of its weights."""
    return tensor.to(model.device, model.dtype) if tensor.is_floating_point() else tensor.to(model.device)


class _Clock:
    """Ends writing when the time is up; a stopping criterion of transformers."""

    def __init__(self, limit_s: float) -> None:
        self._end = time.monotonic() + limit_s
        self.late = False

    def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
        self.late = time.monotonic() > self._end
        return input_ids.new_full((input_ids.shape[0],), int(self.late)).bool()


def _tokenizer(processor: Any) -> Any:
    """Returns the tokenizer of a processor; a tokenizer is its own."""
    return getattr(processor, "tokenizer", processor)


def _ends(model: Any, tokenizer: Any) -> list[int]:
    """Returns the ids that end a turn, the tokenizer's own first."""
    told = model.generation_config.eos_token_id
    ids = [tokenizer.eos_token_id, *(told if isinstance(told, list) else [told])]
    return list(dict.fromkeys(one for one in ids if one is not None))


def _control(tokenizer: Any) -> re.Pattern[str]:
    """Returns what finds the control tokens of a tokenizer in a text."""
    tokens = sorted((one for one in tokenizer.get_added_vocab() if one[0] + one[-1] == "<>"), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, tokens)) or r"(?!)")


def _with_arguments(call: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a tool call with its arguments as a mapping, as templates want them."""
    function = call["function"]
    return {**call, "function": {**function, "arguments": json.loads(function["arguments"])}}


def _read(path: str | Path, setting: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{setting}.chat_template={path} cannot be read ({error.strerror})") from error


def _digest(folder: Path) -> str:
    """Returns a digest of a checkpoint's weights and of how they are used."""
    digest = hashlib.sha256()
    for pattern in ("*.json", "*.jinja", "*.safetensors", "*.bin", "*.gguf"):
        for file in sorted(folder.glob(pattern)):
            with file.open("rb") as data:
                digest.update(file.name.encode() + hashlib.file_digest(data, "sha256").digest())
    return digest.hexdigest()
