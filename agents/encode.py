"""Chats to token ids, token classes and pixels: the one path that rollout, training and scoring share.

A model is trained on exactly the ids it will be prompted with, because both come from here. A chat is rendered by the
checkpoint's chat template and then cut where the model takes over and where it stops; each piece is tokenised alone, so that
the prompt of turn *n* is a prefix of the encoding of the whole chat by construction and no token straddles the cut.

Texts of a message are data: a control token spelled out in a web page (``<|im_end|>``, ``<tool_call>``, ``<|image_pad|>``) is
broken up before rendering and stays plain characters.

Not guaranteed: that a sampled turn, decoded and encoded again, gives back the sampled ids (byte-pair merges are not unique). Only
the Qwen-VL way of placing pictures (one pad token per merged patch, ``image_grid_thw``) is supported.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import torch
from transformers import PreTrainedTokenizerBase, ProcessorMixin

from wildenv.errors import ConfigError
from wildenv.images import ImageStore
from wildenv.messages import ANSWER, Message

_CALL_MARK = "<tool_call>"
_THINKING = ("<think>", "</think>")
_PLACEHOLDERS = ("<|image_pad|>", "<|video_pad|>")
_CACHED_VALUES = 32_000_000
"""Patch values kept between calls (128 MB of float32)."""


class TokenClass(IntEnum):
    """Whose words a token is, and what they do."""

    CONTEXT = 0
    """System, user and tool messages, and all scaffolding that the model does not write."""
    REASONING = 1
    """Assistant text outside of calls; the end-of-turn token too if the turn has no call."""
    TOOL_CALL = 2
    """A call of a tool, with its tags and the end-of-turn token."""
    ANSWER = 3
    """The call that ends the episode, with its tags and the end-of-turn token."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """One chat as a model reads it.

    Attributes:
        input_ids: Token ids.
        classes: A `TokenClass` value per token.
        mm_token_type_ids: 1 where a token stands for a part of a picture, else 0; Qwen-VL models need it for positions.
        pixel_values: Patches of all pictures in order, float32, patches x values; None without pictures.
        image_grid_thw: int64, pictures x 3: patches in time, height and width; None without pictures.
    """

    input_ids: list[int]
    classes: list[int]
    mm_token_type_ids: list[int]
    pixel_values: torch.Tensor | None = None
    image_grid_thw: torch.Tensor | None = None

    def __len__(self) -> int:
        return len(self.input_ids)


class TrajectoryEncoder:
    """Encodes canonical chats (`wildenv.messages`) for one checkpoint.

    Args:
        processor: The checkpoint's processor; a bare tokenizer makes a text-only encoder, which leaves pictures out.
        chat_template: Replaces the checkpoint's own template.

    Raises:
        ConfigError: If there is no chat template, or the processor does not place pictures as Qwen-VL does.
    """

    def __init__(self, processor: ProcessorMixin | PreTrainedTokenizerBase, chat_template: str | None = None) -> None:
        self.tokenizer: Any = processor
        self.image_processor: Any = None
        if not isinstance(processor, PreTrainedTokenizerBase):
            self.tokenizer, self.image_processor = processor.tokenizer, processor.image_processor
        self.chat_template = chat_template or processor.chat_template or self.tokenizer.chat_template
        if not isinstance(self.chat_template, str):
            raise ConfigError("the checkpoint has no single chat template; set model.chat_template to a .jinja file")
        if self.tokenizer.eos_token is None:
            raise ConfigError("the tokenizer has no end-of-turn token; set eos_token in the tokenizer_config.json of model.path")
        self.image_token: str | None = None
        self.image_token_id: int | None = None
        self._merge = 1
        if self.image_processor is not None:
            if "image_grid_thw" not in self.image_processor.model_input_names:
                raise ConfigError(
                    f"{type(processor).__name__} does not place pictures as Qwen-VL does; set model.path to a Qwen-VL checkpoint"
                )
            self.image_token = processor.image_token
            self.image_token_id = processor.image_token_id
            self._merge = self.image_processor.merge_size**2
        control = sorted(
            (t for t in self.tokenizer.added_tokens_encoder if t.startswith("<") and t.endswith(">")), key=len, reverse=True
        )
        self._control = re.compile("|".join(map(re.escape, control)) or r"(?!)")
        self._pixels: OrderedDict[str, tuple[torch.Tensor, torch.Tensor]] = OrderedDict()
        self._held = 0

    @property
    def placeholders(self) -> list[int]:
        """Ids that stand for pictures or films. A model must not write one: there would be no picture to it."""
        known = self.tokenizer.added_tokens_encoder
        return sorted({known[token] for token in (self.image_token, *_PLACEHOLDERS) if token in known})

    @property
    def vision(self) -> bool:
        """Whether pictures reach the model."""
        return self.image_processor is not None

    def encode(
        self,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]],
        store: ImageStore,
        add_generation_prompt: bool = False,
    ) -> Encoded:
        """Encodes a chat.

        Args:
            messages: The chat; blocks of a message are joined by newlines, pictures stay where they are.
            tools: JSON schemas of the tools, in OpenAI's form.
            store: Where the pictures of the chat are.
            add_generation_prompt: Ends with the opening of an assistant turn.

        Returns:
            Ids, classes and pixels. The encoding of ``messages[:i]`` with a generation prompt is a prefix of the encoding of
            ``messages`` whenever message ``i`` is the assistant's.

        Raises:
            ConfigError: If the template drops tool calls or pictures, or rewrites earlier turns when later ones follow.
            DataError: If a picture is not in the store.
        """
        chat = [self._plain(message) for message in messages]
        ids: list[int] = []
        classes: list[int] = []
        for text, message in self._pieces(chat, list(tools), add_generation_prompt):
            if message is None:
                piece = self._tokenise(text)["input_ids"]
                ids += piece
                classes += [int(TokenClass.CONTEXT)] * len(piece)
            else:
                piece, kinds = self._assistant(text, message)
                ids += piece
                classes += kinds
        digests = [b["digest"] for m in messages for b in m["content"] if b["type"] == "image"] if self.vision else []
        return self._fill(ids, classes, [self._patches(digest, store) for digest in digests])

    def encode_next(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]], store: ImageStore) -> Encoded:
        """Encodes what follows the last assistant turn, with the opening of the next one.

        For a caller that keeps the ids a model has sampled: after them, up to and with their end-of-turn token, come these. It is
        the last piece of what `encode` gives with a generation prompt; without an assistant turn it is all of it.

        Args:
            messages: The chat; its last message is not the assistant's.
            tools: As in `encode`.
            store: Where the pictures are.

        Raises:
            ConfigError: As `encode`.
        """
        chat = [self._plain(message) for message in messages]
        last = max((number for number, message in enumerate(chat) if message["role"] == "assistant"), default=-1)
        whole = self._render(chat, list(tools), True)
        done = self._render(chat[: last + 1], list(tools), False).rstrip() if last >= 0 else ""
        if not whole.startswith(done):
            raise _rewritten(last)
        ids = self._tokenise(whole[len(done) :])["input_ids"]
        digests = [b["digest"] for m in messages[last + 1 :] for b in m["content"] if b["type"] == "image"] if self.vision else []
        return self._fill(ids, [int(TokenClass.CONTEXT)] * len(ids), [self._patches(digest, store) for digest in digests])

    def decode(self, ids: Sequence[int]) -> str:
        """Returns generated ids as text, control tokens included except for the end of turn."""
        kept = [i for i in ids if i != self.tokenizer.eos_token_id]
        return self.tokenizer.decode(kept, skip_special_tokens=False, clean_up_tokenization_spaces=False)

    def _plain(self, message: Message) -> Message:
        """Returns the message as templates read it: no digests, control tokens broken, blocks set apart by newlines."""
        keep = _THINKING if message["role"] == "assistant" else ()
        blocks: list[dict[str, Any]] = []
        for block in message["content"]:
            if block["type"] == "image" and not self.vision:
                continue
            if blocks:
                blocks.append({"type": "text", "text": "\n"})
            text = block["type"] == "text"
            blocks.append({"type": "text", "text": self._inert(block["text"], keep)} if text else {"type": "image"})
        if not self.vision:
            # Templates of text-only models expect a string.
            plain: Message = {**message, "content": "".join(block["text"] for block in blocks)}
        else:
            plain = {**message, "content": blocks}
        if message.get("tool_calls"):
            plain["tool_calls"] = [
                {**call, "function": {"name": call["function"]["name"], "arguments": self._inert(call["function"]["arguments"])}}
                for call in message["tool_calls"]
            ]
        return plain

    def _inert(self, value: Any, keep: Sequence[str] = ()) -> Any:
        if isinstance(value, str):
            return self._control.sub(lambda m: m[0] if m[0] in keep else f"{m[0][0]} {m[0][1:]}", value)
        if isinstance(value, Mapping):
            return {key: self._inert(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._inert(item) for item in value]
        return value

    def _render(self, chat: list[Message], tools: list[dict[str, Any]], add_generation_prompt: bool) -> str:
        text = self.tokenizer.apply_chat_template(
            chat,
            tools=tools or None,
            chat_template=self.chat_template,
            add_generation_prompt=add_generation_prompt,
            tokenize=False,
        )
        assert isinstance(text, str)
        return text

    def _pieces(
        self, chat: list[Message], tools: list[dict[str, Any]], add_generation_prompt: bool
    ) -> list[tuple[str, Message | None]]:
        """Cuts the rendered chat into context (None) and assistant turns, each up to and with its end-of-turn token."""
        whole = self._render(chat, tools, add_generation_prompt)
        eos = self.tokenizer.eos_token
        pieces: list[tuple[str, Message | None]] = []
        done = 0
        for number, message in enumerate(chat):
            if message["role"] != "assistant":
                continue
            before = self._render(chat[:number], tools, True)
            after = self._render(chat[: number + 1], tools, False).rstrip()
            if not (whole.startswith(after) and after.startswith(before)):
                raise _rewritten(number)
            if not after.endswith(eos):
                raise ConfigError(f"the chat template does not end an assistant turn with {eos!r}; set model.chat_template")
            pieces.append((whole[done : len(before)], None))
            pieces.append((whole[len(before) : len(after)], message))
            done = len(after)
        pieces.append((whole[done:], None))
        return [(text, message) for text, message in pieces if text]

    def _tokenise(self, text: str, offsets: bool = False) -> Any:
        return self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=offsets, return_attention_mask=False)

    def _assistant(self, text: str, message: Message) -> tuple[list[int], list[int]]:
        calls = message.get("tool_calls") or []
        call_at = len(text)
        kind = TokenClass.REASONING
        if calls:
            call_at = text.find(_CALL_MARK)
            if call_at < 0 or any(call["function"]["name"] not in text[call_at:] for call in calls):
                raise ConfigError(
                    f"the chat template does not write tool calls in {_CALL_MARK} tags; set model.chat_template to one that does"
                )
            answer = any(call["function"]["name"] == ANSWER for call in calls)
            kind = TokenClass.ANSWER if answer else TokenClass.TOOL_CALL
        encoding = self._tokenise(text, offsets=True)
        classes = [int(TokenClass.REASONING if start < call_at else kind) for start, _ in encoding["offset_mapping"]]
        return encoding["input_ids"], classes

    def _patches(self, digest: str, store: ImageStore) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns the patches and the grid of a picture; the latest ones are kept, a rollout needs them once a turn."""
        if digest in self._pixels:
            self._pixels.move_to_end(digest)
        else:
            assert self.image_processor is not None
            out = self.image_processor(images=[store.get(digest)], return_tensors="pt")
            self._pixels[digest] = (out["pixel_values"], out["image_grid_thw"])
            self._held += out["pixel_values"].numel()
            while self._held > _CACHED_VALUES and len(self._pixels) > 1:
                _, (dropped, _) = self._pixels.popitem(last=False)
                self._held -= dropped.numel()
        return self._pixels[digest]

    def _fill(self, ids: list[int], classes: list[int], pictures: list[tuple[torch.Tensor, torch.Tensor]]) -> Encoded:
        """Repeats each picture's pad token once per merged patch."""
        places = [i for i, token in enumerate(ids) if token == self.image_token_id]
        if len(places) != len(pictures):
            raise ConfigError(
                f"the chat template renders {len(places)} of {len(pictures)} pictures; set model.chat_template to one that "
                "renders pictures in every role, tool messages too"
            )
        if not pictures:
            return Encoded(ids, classes, [0] * len(ids))
        long_ids: list[int] = []
        long_classes: list[int] = []
        types: list[int] = []
        done = 0
        for place, (_, grid) in zip(places, pictures, strict=True):
            count = int(grid.prod()) // self._merge
            long_ids += ids[done:place] + [ids[place]] * count
            long_classes += classes[done:place] + [classes[place]] * count
            types += [0] * (place - done) + [1] * count
            done = place + 1
        long_ids += ids[done:]
        long_classes += classes[done:]
        types += [0] * (len(ids) - done)
        patches, grids = zip(*pictures, strict=True)
        return Encoded(long_ids, long_classes, types, torch.cat(patches), torch.cat(grids))


def _rewritten(turn: int) -> ConfigError:
    return ConfigError(
        f"the chat template renders turn {turn} differently once later turns follow, so that a prompt would not be a prefix of "
        "its trajectory; set model.chat_template to a template that leaves earlier turns alone"
    )
