"""A chat model that says what a test tells it to, and keeps what it was shown."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wildenv.images import ImageStore
from wildenv.messages import Message
from wildenv.models.reply import Reply, ReplyError
from wildenv.models.shape import Misfit, Shape
from wildenv.models.usage import Usage


@dataclass(frozen=True)
class Shown:
    """What a request held."""

    messages: list[Message]
    tools: list[dict[str, Any]]
    schema: Mapping[str, Any] | None
    images: ImageStore | None
    seed: int | None

    @property
    def last(self) -> str:
        """The last text."""
        return str([block["text"] for block in self.messages[-1]["content"] if block["type"] == "text"][-1])

    @property
    def tool_names(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.tools]


class FakeChat:
    """Says the next of `says` at each request: a text, a reply, a JSON value where a schema is asked for, or an exception."""

    model = "fake"
    # What `reply` counts for each reply.
    usage = Usage(calls=1, prompt_tokens=10, completion_tokens=2, cost=0.5)

    def __init__(self, *says: Any) -> None:
        self.says = list(says)
        self.shown: list[Shown] = []

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        schema: Mapping[str, Any] | None = None,
        images: ImageStore | None = None,
        seed: int | None = None,
    ) -> Reply:
        self.shown.append(Shown(copy.deepcopy(list(messages)), [dict(tool) for tool in tools or ()], schema, images, seed))
        said = self.says[len(self.shown) - 1]
        if isinstance(said, Exception):
            raise said
        if isinstance(said, Reply):
            return said
        text = said if isinstance(said, str) else json.dumps(said)
        if schema is None:
            return reply(text)
        try:
            return reply(text, data=Shape(schema).read(text))
        except Misfit as misfit:
            raise ReplyError(str(misfit), "schema", text) from None


def reply(text: str, *calls: tuple[str, dict[str, Any]], data: Any = None) -> Reply:
    """Returns a reply; native calls are names with arguments."""
    native = tuple(
        {"id": f"n{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for number, (name, arguments) in enumerate(calls)
    )
    finish = "tool_calls" if native else "stop"
    return Reply(text, "", native, data, finish, "fake", None, None, None, False, FakeChat.usage, cached=False)


def hermes(text: str, name: str, **arguments: Any) -> str:
    """Returns a turn with a call in text."""
    return f"{text}\n<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"
