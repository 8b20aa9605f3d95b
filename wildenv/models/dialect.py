"""What endpoints understand differently: tools, pictures of tool replies, structured replies, one parameter.

A chat is turned here from wildenv's canonical form into the canonical form of what is sent; `wildenv.messages.to_openai` writes
that on the wire. What an endpoint makes of it (its chat template) is out of reach.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from wildenv.errors import ConfigError
from wildenv.messages import Block, Message, text_block, text_of, to_hermes
from wildenv.models.shape import Shape
from wildenv.models.wording import wording

Tools = Literal["native", "hermes"]
ToolPictures = Literal["after", "inline"]
Structured = Literal["words", "object", "schema"]
Limit = Literal["max_tokens", "max_completion_tokens"]

_CHOICES = {"tools": Tools, "tool_pictures": ToolPictures, "structured": Structured, "limit": Limit}


@dataclass(frozen=True, slots=True)
class Dialect:
    """How an endpoint wants to be spoken to. The defaults are understood everywhere.

    Attributes:
        tools: ``native`` gives tools as the request's ``tools``; ``hermes`` describes them in the system prompt, writes calls
            as ``<tool_call>`` text and tool replies as a user's.
        tool_pictures: With native tools, ``after`` sends pictures of tool replies in a user message after them, since some
            endpoints (OpenAI's) refuse them inside; ``inline`` leaves them where they are, as the trainers do.
        structured: How a JSON schema is asked for: in ``words`` only; as a JSON ``object`` in words; or as a ``schema`` that the
            endpoint enforces. The reply is checked in any case.
        limit: Name of the parameter for the longest reply.

    Raises:
        ConfigError: If a value is not one of these.
    """

    tools: Tools = "native"
    tool_pictures: ToolPictures = "after"
    structured: Structured = "words"
    limit: Limit = "max_tokens"

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in get_args(choices):
                raise ConfigError(f"{name}={getattr(self, name)!r} is not one of {', '.join(get_args(choices))}")

    def chat(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] | None, shape: Shape | None) -> list[Message]:
        """Returns the chat that is sent, in canonical form."""
        chat = list(messages)
        if self.tools == "hermes":
            chat = _hermes(chat, tools or ())
        elif self.tool_pictures == "after":
            chat = _pictures_after(chat)
        if shape is not None and self.structured != "schema":
            chat = with_request(chat, shape.request)
        return chat

    def parameters(self, tools: Sequence[Mapping[str, Any]] | None, shape: Shape | None) -> dict[str, Any]:
        """Returns the parameters of the request that say in the endpoint's own terms what `chat` does not."""
        found: dict[str, Any] = {}
        if tools and self.tools == "native":
            found["tools"] = [dict(tool) for tool in tools]
        if shape is not None and self.structured == "object":
            found["response_format"] = {"type": "json_object"}
        if shape is not None and self.structured == "schema":
            found["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "reply", "schema": shape.schema, "strict": True},
            }
        return found


def _hermes(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> list[Message]:
    chat: list[Message] = []
    previous = ""
    for message in messages:
        if message["role"] == "assistant":
            chat.append({"role": "assistant", "content": [text_block(to_hermes(message))]})
        elif message["role"] == "tool":
            blocks = [text_block("<tool_response>"), *message["content"], text_block("</tool_response>")]
            if previous == "tool":
                chat[-1]["content"] += blocks
            else:
                chat.append({"role": "user", "content": blocks})
        else:
            chat.append(message)
        previous = message["role"]
    if not tools:
        return chat
    described = text_block(wording("hermes").format(tools="\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools)))
    if chat and chat[0]["role"] == "system":
        return [{"role": "system", "content": [*chat[0]["content"], described]}, *chat[1:]]
    return [{"role": "system", "content": [described]}, *chat]


def _pictures_after(messages: Sequence[Message]) -> list[Message]:
    chat: list[Message] = []
    waiting: list[Block] = []
    number = 0
    for message in messages:
        if waiting and message["role"] == "user":
            message, waiting = {**message, "content": [*waiting, *message["content"]]}, []
        elif waiting and message["role"] != "tool":
            chat.append({"role": "user", "content": waiting})
            waiting = []
        if message["role"] == "tool":
            content = []
            for block in message["content"]:
                if block["type"] == "image":
                    number += 1
                    name = block["id"] or f"number {number}"
                    content.append(text_block(f"(picture {name}: see below)"))
                    waiting += [text_block(f"Picture {name}:"), block]
                else:
                    content.append(block)
            message = {**message, "content": content}
        chat.append(message)
    return [*chat, {"role": "user", "content": waiting}] if waiting else chat


def with_request(messages: Sequence[Message], request: str) -> list[Message]:
    """Returns the chat with a request at the end of its last message, or after it where that is not the user's."""
    if messages and messages[-1]["role"] == "user":
        last = messages[-1]
        return [*messages[:-1], {**last, "content": [*last["content"], text_block(request)]}]
    return [*messages, {"role": "user", "content": [text_block(request)]}]


def flat(message: Message) -> Message:
    """Returns a wire message with text alone as a string, which every endpoint and every chat template reads."""
    content = message["content"]
    if isinstance(content, list) and all(block["type"] == "text" for block in content):
        return {**message, "content": text_of(message)}
    return message
