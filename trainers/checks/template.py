"""The chat template, the image token and the pixel policy, by the very encoder that rollouts and training use.

Where a checkpoint cannot be read here, its family's template in TRL is rendered instead, and every finding says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from PIL import Image

from agents import checkpoint
from agents.encode import TokenClass
from trainers.checks import families
from trainers.checks.finding import Finding, Spared, Status, Unknown
from trainers.checks.rendering import inspect
from trainers.checks.subject import Subject
from wildenv.errors import ConfigError, MessageError
from wildenv.images import ImageStore
from wildenv.messages import Message, image_block, parse_action, text_block

TEMPLATE, PICTURES, PREFIX, TOKEN, PIXELS = "chat template", "tool pictures", "prefix", "image token", "pixel policy"
_QUERY, _FOUND = "brass weathercock", "two pictures of a weathercock"
_SIZES = ((640, 480), (90, 400), (33, 31))
"""Of pictures, width x height, that are sent through the processor."""


def model(subject: Subject) -> Iterator[Finding]:
    """Whether all of the model but its weights can be opened."""
    opened = subject.opened
    if isinstance(opened, ConfigError):
        if not subject.elsewhere:
            raise opened
        bundled = _bundled(subject)
        instead = "" if bundled is None else f"; its template is taken from TRL ({bundled})"
        yield Finding("model", Status.NOT_CHECKED, f"{opened}{instead}")
    elif opened.throwaway:
        yield Finding("model", Status.PASSED, "will be built; checked with a tokenizer made for the purpose")
    else:
        yield Finding("model", Status.PASSED, f"{subject.model['path']} is a {type(opened.config).__name__}")


def template(subject: Subject) -> Iterator[Finding]:
    """Whether tool calls and tool messages are rendered, and calls read back as they were."""
    if (bundled := _rendered(subject)) is not None:
        rendered, source = bundled
        yield Finding(TEMPLATE, *_verdict(rendered.complaint, f"renders tool calls and tool messages ({source})", source))
        return
    known = subject.fitted
    encoder = known.encoder
    chat = _chat(pictures=0)
    encoded = encoder.encode(chat, subject.tools, ImageStore())
    text = encoder.tokenizer.decode(encoded.input_ids)
    if _FOUND not in text:
        raise ConfigError("the chat template renders no tool messages; set model.chat_template to one that does")
    start = next(at for at, kind in enumerate(encoded.classes) if kind != TokenClass.CONTEXT)
    end = next(at for at in range(start, len(encoded)) if encoded.classes[at] == TokenClass.CONTEXT)
    written = encoder.decode(encoded.input_ids[start:end])
    wanted = chat[2]["tool_calls"][0]["function"]
    try:
        read = [(call.name, dict(call.arguments)) for call in parse_action(written).calls]
    except MessageError as error:
        raise ConfigError(
            f"the chat template writes a tool call as {written[:80]!r}, which the rollout does not read ({error}); set "
            "model.chat_template to one that writes JSON in <tool_call> tags"
        ) from error
    if read != [(wanted["name"], wanted["arguments"])]:
        raise ConfigError(
            f"a tool call is read back from the chat template as {read}; set model.chat_template to one that writes JSON in "
            "<tool_call> tags"
        )
    yield Finding(TEMPLATE, Status.PASSED, "renders tool calls and tool messages; calls are read back as they were")


def pictures(subject: Subject) -> Iterator[Finding]:
    """Whether pictures in tool messages are rendered, each with as many tokens as it has merged patches."""
    if not subject.sees:
        raise Spared("the model takes no pictures; what tools show is left out of its chats")
    if (bundled := _rendered(subject)) is not None:
        rendered, source = bundled
        complaint = rendered.complaint if rendered.error else "" if rendered.pictures else "renders no pictures in tool messages"
        yield Finding(PICTURES, *_verdict(complaint, f"renders pictures in tool messages ({source})", source))
        return
    known = subject.fitted
    store = ImageStore()
    chat = _chat(len(_SIZES), store, subject)
    encoded = known.encoder.encode(chat, subject.tools, store)
    tokens = sum(encoded.mm_token_type_ids)
    expected = sum(w * h for w, h in (subject.pixels.size(*size) for size in _SIZES)) // subject.pixels.multiple**2
    if tokens != expected:
        raise ConfigError(
            f"{len(_SIZES)} pictures take {tokens} tokens where the budget of the environment counts {expected}; set "
            "model.pixels.multiple to patch size x merge size of the model"
        )
    yield Finding(PICTURES, Status.PASSED, f"{len(_SIZES)} pictures in a tool message are rendered, as {tokens} tokens")


def prefix(subject: Subject) -> Iterator[Finding]:
    """Whether the prompt of every turn is a prefix of the whole trajectory, token by token."""
    if (bundled := _rendered(subject)) is not None:
        rendered, source = bundled
        complaint = rendered.complaint if rendered.error or not rendered.prefix else ""
        yield Finding(PREFIX, *_verdict(complaint, f"earlier turns are left as they are ({source})", source))
        return
    known = subject.fitted
    store = ImageStore()
    chat = _chat(len(_SIZES) if subject.sees else 0, store, subject)
    whole = known.encoder.encode(chat, subject.tools, store).input_ids
    for number, message in enumerate(chat):
        if message["role"] == "assistant":
            prompt = known.encoder.encode(chat[:number], subject.tools, store, add_generation_prompt=True).input_ids
            if whole[: len(prompt)] != prompt:
                raise ConfigError(
                    f"the prompt of turn {number} is no prefix of its trajectory; set model.chat_template to a template that "
                    "leaves earlier turns alone"
                )
    yield Finding(PREFIX, Status.PASSED, "the prompt of every turn is a prefix of its trajectory, token by token")


def image_token(subject: Subject) -> Iterator[Finding]:
    """Whether tokenizer, processor and config.json mean the same token by a picture."""
    if not subject.sees:
        raise Spared("the model takes no pictures")
    known = subject.known
    tokenizer, token, number = known.encoder.tokenizer, known.encoder.image_token, known.encoder.image_token_id
    ids = tokenizer(token, add_special_tokens=False)["input_ids"]
    if ids != [number]:
        raise ConfigError(
            f"the processor's image token {token!r} is {ids} to the tokenizer and {number} to the processor; set model.path to a "
            "checkpoint whose tokenizer has it as one token"
        )
    configured = getattr(known.config, "image_token_id", None)
    if configured != number:
        raise ConfigError(
            f"the image token {token!r} is {number} to the processor and {configured} to config.json, so that pictures would not "
            "reach the model; set model.path to a checkpoint whose files belong together"
        )
    yield Finding(TOKEN, Status.PASSED, f"{token} is {number} to tokenizer, processor and config.json")


def vocabulary(subject: Subject) -> Iterator[Finding]:
    """Whether the model has an embedding for every token of the tokenizer."""
    known = subject.known
    size = known.config.get_text_config().vocab_size
    highest = max(known.encoder.tokenizer.get_vocab().values())
    if highest >= size:
        raise ConfigError(
            f"the tokenizer has tokens up to {highest} and the model embeddings for {size}; set model.path to a checkpoint whose "
            "tokenizer and weights belong together"
        )
    yield Finding("vocabulary", Status.PASSED, f"tokens up to {highest}, embeddings for {size}")


def pixel_policy(subject: Subject) -> Iterator[Finding]:
    """Whether environment, config and processor size pictures alike, so that a fitted picture goes through unchanged."""
    own = subject.env["pixels"]
    if dict(own) != dict(subject.model["pixels"]):
        raise ConfigError(
            f"env.pixels={dict(own)} is not model.pixels={dict(subject.model['pixels'])}; leave env.pixels alone, it follows the "
            "model"
        )
    if not subject.sees:
        raise Spared("the model takes no pictures; model.pixels is the environment's alone")
    policy = subject.pixels
    if isinstance(subject.opened, ConfigError):
        raise Unknown("the processor of the model cannot be read here")
    processor = subject.opened.encoder.image_processor
    cell = processor.patch_size * processor.merge_size
    if policy.multiple != cell:
        raise ConfigError(
            f"model.pixels.multiple={policy.multiple}, but the model merges patches to {cell}x{cell} pixels; set it to {cell}"
        )
    _ = subject.fitted
    for size in _SIZES:
        width, height = policy.size(*size)
        _, down, across = processor(images=[Image.new("RGB", (width, height))], return_tensors="pt")["image_grid_thw"][0].tolist()
        seen = (across * processor.patch_size, down * processor.patch_size)
        if seen != (width, height):
            raise ConfigError(
                f"a picture of {width}x{height} pixels, as the environment shows it, becomes {seen[0]}x{seen[1]} in the "
                f"processor; change model.pixels (max_pixels={policy.max_pixels}, multiple={policy.multiple})"
            )
    shown = f"at most {policy.max_pixels} pixels, sides in multiples of {cell}"
    yield Finding(PIXELS, Status.PASSED, f"{shown}; unchanged by the processor")


def _bundled(subject: Subject) -> str | None:
    return families.family(str(subject.model["path"] or ""))


def _rendered(subject: Subject) -> tuple[Any, str] | None:
    """Returns what the family's bundled template can do, and how to call it; None if the model's own can be had."""
    if not isinstance(subject.opened, ConfigError):
        return None
    given = subject.model.get("chat_template")
    if given is not None:
        return inspect(checkpoint.read_template(given)), f"by {given}"
    bundled = _bundled(subject) if subject.elsewhere else None
    if bundled is None:
        if not subject.elsewhere:
            raise Unknown("the model cannot be opened")
        raise Unknown("the model cannot be read here, and TRL brings no template of its family")
    return inspect(families.template(bundled)), f"by TRL's {bundled} template"


def _verdict(complaint: str, passed: str, source: str) -> tuple[Status, str]:
    if not complaint:
        return Status.PASSED, passed
    return Status.REFUSED, (
        f"the chat template {complaint} ({source}); set model.path to a model of another family, such as Qwen3-VL, or "
        "model.chat_template to a template that does (python -m trainers.preflight families lists them)"
    )


def _chat(pictures: int, store: ImageStore | None = None, subject: Subject | None = None) -> list[Message]:
    """A chat of two searches and an answer, the second reply with pictures."""

    def turn(number: int, name: str, **arguments: Any) -> Message:
        call = {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
        return {"role": "assistant", "content": [text_block("I look for it.")], "tool_calls": [call]}

    def reply(number: int, name: str, blocks: list[dict[str, Any]]) -> Message:
        return {"role": "tool", "tool_call_id": f"call_{number}", "name": name, "content": blocks}

    shown: list[dict[str, Any]] = []
    for number, size in enumerate(_SIZES[:pictures], 1):
        assert store is not None
        assert subject is not None
        digest = store.put(subject.pixels.fit(Image.new("RGB", size, (40 * number, 90, 120))))
        shown += [text_block(f"IMG_{number:03d}: a weathercock"), image_block(f"IMG_{number:03d}", digest)]
    return [
        {"role": "system", "content": [text_block("You look for pictures.")]},
        {"role": "user", "content": [text_block("Draw the new weathercock.")]},
        turn(1, "text_search", queries=[_QUERY]),
        reply(1, "text_search", [text_block(_FOUND)]),
        turn(2, "image_search", query=_QUERY),
        reply(2, "image_search", shown or [text_block("no pictures")]),
        turn(3, "answer", prompt="A brass weathercock.", references=["IMG_001"]),
    ]
