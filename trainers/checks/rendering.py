"""What a chat template can do, found out by rendering chats with it: no tokenizer, no weights, no network.

The chats are the ones that a rollout makes: a tool call, a reply with pictures, a second call. Text only is looked at; what a
tokenizer makes of it is for `trainers.checks.template`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from jinja2.exceptions import TemplateError
from transformers.utils.chat_template_utils import render_jinja_template

from wildenv.errors import MessageError
from wildenv.messages import Message, parse_action

CALL, WORDS, REPLY = "image_search", "brass weathercock", "two pictures of a weathercock"
_TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": CALL,
            "description": "Searches pictures.",
            "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
        },
    }
]


@dataclass(frozen=True, slots=True)
class Rendered:
    """What a template does with a chat that uses tools.

    Attributes:
        calls: Whether the name and the arguments of a tool call are there.
        replies: Whether the reply of a tool is there.
        pictures: Whether the pictures of a reply are there; None if the template knows no pictures at all.
        prefix: Whether earlier turns stay as they are once later ones follow, so that a prompt is a prefix of its trajectory.
        readable: Whether what it writes for a call is read back as that call (`wildenv.messages.parse_action`).
        error: What the template says if it refuses the chat.
    """

    calls: bool = False
    replies: bool = False
    pictures: bool | None = None
    prefix: bool = False
    readable: bool = False
    error: str = ""

    @property
    def complaint(self) -> str:
        """Why it cannot be trained with, in half a sentence; empty if it can."""
        if self.error:
            return f"refuses a chat with tool calls and tool messages ({self.error})"
        if not self.calls:
            return "renders no tool calls"
        if not self.replies:
            return "renders no tool messages"
        if self.pictures is False:
            return "renders no pictures in tool messages"
        if not self.prefix:
            return "renders earlier turns differently once later ones follow, so that a prompt is no prefix of its trajectory"
        if not self.readable:
            return "writes tool calls in a form that the rollout does not read (JSON in <tool_call> tags is read)"
        return ""


def inspect(template: str) -> Rendered:
    """Renders chats with a template and says what came of it.

    Args:
        template: Jinja source.
    """
    place = _picture(template)
    try:
        return _inspect(template, place)
    except _Refused as refused:
        if place is None:
            return Rendered(error=str(refused))
        try:
            # Some templates take lists of a user and strings of everybody else.
            return replace(_inspect(template, None), pictures=False)
        except _Refused:
            return Rendered(pictures=False, error=str(refused))


def _inspect(template: str, place: str | None) -> Rendered:
    chat = _chat(blocks=place is not None)
    start, called, whole = _render(template, chat[:2], True), _render(template, chat[:3]), _render(template, chat)
    turn = called[len(start) :]
    calls = CALL in turn and WORDS in turn
    return Rendered(
        calls=calls,
        replies=REPLY in whole,
        pictures=None if place is None else whole.count(place) == 2,
        prefix=_prefix(template, chat),
        readable=calls and called.startswith(start) and _readable(turn),
    )


class _Refused(Exception):
    """What a template said when it refused a chat."""


def _render(template: str, chat: Sequence[Message], prompt: bool = False) -> str:
    try:
        # Declared as a text, and two lists in truth.
        rendered: Any = render_jinja_template(
            conversations=[list(chat)],
            tools=_TOOLS,
            chat_template=template,
            add_generation_prompt=prompt,
            bos_token="",
            eos_token="",
        )
    except (TemplateError, TypeError, KeyError, ValueError) as error:
        said = str(error).strip().splitlines()
        raise _Refused(said[0] if said else type(error).__name__) from error
    return str(rendered[0][0])


def _picture(template: str) -> str | None:
    """Returns what the template writes for a picture of a user's message; None if it writes nothing."""
    words = [{"type": "text", "text": "before"}, {"type": "text", "text": "after"}]
    try:
        without = _render(template, [{"role": "user", "content": words}])
        with_one = _render(template, [{"role": "user", "content": [words[0], {"type": "image"}, words[1]]}])
    except _Refused:
        return None
    start = 0
    while start < len(without) and without[start] == with_one[start]:
        start += 1
    end = len(with_one) - (len(without) - start)
    place = with_one[start:end].strip()
    # A template that expects a string writes the list out.
    return None if not place or "'type'" in with_one else place


def _chat(blocks: bool) -> list[Message]:
    def content(text: str, pictures: int = 0) -> Any:
        if not blocks:
            return text
        return [{"type": "text", "text": text}, *({"type": "image"} for _ in range(pictures))]

    def turn(words: str) -> Message:
        call = {"id": "call_1", "type": "function", "function": {"name": CALL, "arguments": {"query": words}}}
        return {"role": "assistant", "content": content("I look for it."), "tool_calls": [call]}

    def reply(text: str, pictures: int) -> Message:
        return {"role": "tool", "tool_call_id": "call_1", "name": CALL, "content": content(text, pictures)}

    return [
        {"role": "system", "content": content("You look for pictures.")},
        {"role": "user", "content": content("Draw the new weathercock.")},
        turn(WORDS),
        reply(REPLY, 2),
        turn("another one"),
        reply("nothing found", 0),
        {"role": "assistant", "content": content("Done.")},
    ]


def _prefix(template: str, chat: list[Message]) -> bool:
    whole = _render(template, chat)
    for number, message in enumerate(chat):
        if message["role"] == "assistant":
            before = _render(template, chat[:number], True)
            after = _render(template, chat[: number + 1]).rstrip()
            if not (whole.startswith(after) and after.startswith(before)):
                return False
    return True


def _readable(turn: str) -> bool:
    try:
        calls = parse_action(turn).calls
    except MessageError:
        return False
    return [(call.name, dict(call.arguments)) for call in calls] == [(CALL, {"query": WORDS})]
