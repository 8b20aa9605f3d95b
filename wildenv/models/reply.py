"""What a model replied, and when that is no reply.

`read_completion` reads the JSON of a chat completion; `require_whole` refuses one that is cut short, filtered, refused or empty,
so that half an answer is never taken for one. Whether an answer is true is not looked at.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wildenv.errors import DataError
from wildenv.messages import Action, Message, parse_action, storable, text_block
from wildenv.models.usage import Usage
from wildenv.strict_json import loads

_WHOLE = frozenset({"stop", "tool_calls", "function_call", "eos", "eos_token", "end_turn", "stop_sequence"})
_THOUGHT = ("<think>", "</think>")


class ReplyError(DataError):
    """A model answered with something that cannot be used.

    Args:
        message: Says what is wrong and what to change.
        kind: One of ``"length"``, ``"content filter"``, ``"refusal"``, ``"empty"``, ``"unfinished"``, ``"schema"``.
        raw: The reply as it came, as far as there was one.
        usage: What it took all the same, a first reply that was to be repaired included.
    """

    def __init__(self, message: str, kind: str, raw: str, usage: Usage | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.raw = raw
        self.usage = usage or Usage()

    def __reduce__(self) -> tuple[type[ReplyError], tuple[str, str, str, Usage]]:
        return type(self), (str(self), self.kind, self.raw, self.usage)


class Unreadable(ValueError):
    """What an endpoint sent is no chat completion. `kind` is one of a few words."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Completion:
    """One completion as the endpoint gave it.

    Attributes:
        text: Without reasoning.
        reasoning: What the model thought before; empty if it did not show.
        tool_calls: In OpenAI's form, arguments as they came, readable or not.
        finish: Why it ended, in the endpoint's word.
        refusal: What a refusal said; empty if it is none.
        model: The name that the endpoint gives the model it served.
        fingerprint: ``system_fingerprint``; None if the endpoint gives none.
        usage: Tokens.
    """

    text: str
    reasoning: str
    tool_calls: tuple[Mapping[str, Any], ...]
    finish: str
    refusal: str
    model: str
    fingerprint: str | None
    usage: Usage

    @property
    def raw(self) -> str:
        """What there is of it, for an error."""
        called = json.dumps(list(self.tool_calls), ensure_ascii=False) if self.tool_calls else ""
        return "\n".join(part for part in (self.reasoning, self.refusal, self.text, called) if part)

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON values; of the usage the counts only."""
        return {
            "text": self.text,
            "reasoning": self.reasoning,
            "tool_calls": [dict(call) for call in self.tool_calls],
            "finish": self.finish,
            "refusal": self.refusal,
            "model": self.model,
            "fingerprint": self.fingerprint,
            "usage": self.usage.counts(),
        }

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Completion:
        """Reads `to_dict` back."""
        return cls(**{**row, "tool_calls": tuple(row["tool_calls"]), "usage": Usage(**row["usage"])})


@dataclass(frozen=True, slots=True)
class Reply:
    """A usable reply.

    Attributes:
        text: What the model said, without its reasoning.
        reasoning: What it thought before; empty if it did not show.
        tool_calls: Native tool calls in OpenAI's form, arguments as they came. A call in Hermes form is part of the text.
        data: The JSON value, if a schema was asked for.
        finish: Why it ended, in the endpoint's word.
        model: The name that the endpoint gives the model it served.
        fingerprint: ``system_fingerprint``; None if the endpoint gives none.
        seed: The seed it was asked with.
        temperature: The temperature it was asked with.
        repaired: Whether the first attempt did not fit the schema.
        usage: What obtaining it took; the same when it comes from the store, then at the prices set now.
        cached: Whether the endpoint was not asked for this call. Depends on timing: keep it out of what is compared exactly.
    """

    text: str
    reasoning: str
    tool_calls: tuple[Mapping[str, Any], ...]
    data: Any
    finish: str
    model: str
    fingerprint: str | None
    seed: int | None
    temperature: float | None
    repaired: bool
    usage: Usage
    cached: bool = field(compare=False)

    def message(self) -> Message:
        """Returns the assistant's turn as it can be given to `WildEnv.step` or `wildenv.messages.parse_action`."""
        message: Message = {"role": "assistant", "content": [text_block(self.text)] if self.text else []}
        return {**message, "tool_calls": [dict(call) for call in self.tool_calls]} if self.tool_calls else message

    def action(self, turn: int = 1) -> Action:
        """Reads the tool calls, native or in Hermes form.

        Raises:
            MessageError: If there are none, or they cannot be read.
        """
        return parse_action(self.message(), turn)


def read_completion(body: str) -> Completion:
    """Reads the JSON of a chat completion.

    Raises:
        Unreadable: If it is none.
    """
    try:
        row = loads(body)
    except ValueError as error:
        raise Unreadable("bad reply", f"the reply is not JSON ({error}): {body[:80]!r}") from None
    if not isinstance(row, Mapping):
        raise Unreadable("bad reply", f"the reply is not a JSON object: {body[:80]!r}")
    choices = row.get("choices")
    if not choices and row.get("error"):
        raise Unreadable("error in reply", f"the reply is an error: {json.dumps(row['error'])[:300]}")
    if not isinstance(choices, list) or not choices:
        raise Unreadable("no choices", "the reply has no choices")
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(message, Mapping):
        raise Unreadable("bad reply", "the first choice of the reply has no message")
    text, thought = _split_thought(_text(message.get("content")))
    shown = message.get("reasoning_content") or message.get("reasoning")
    return Completion(
        text=storable(text),
        reasoning=storable("\n".join(part for part in (shown if isinstance(shown, str) else "", thought) if part).strip()),
        tool_calls=_calls(message.get("tool_calls")),
        finish=str(choice.get("finish_reason")),
        refusal=storable(message["refusal"]) if isinstance(message.get("refusal"), str) else "",
        model=row["model"] if isinstance(row.get("model"), str) else "",
        fingerprint=row["system_fingerprint"] if isinstance(row.get("system_fingerprint"), str) else None,
        usage=Usage.of_reply(row.get("usage")),
    )


def require_whole(completion: Completion, setting: str) -> None:
    """Refuses a completion that is not a whole answer.

    Args:
        completion: What came.
        setting: Where the model's settings are, for the message.

    Raises:
        ReplyError: If it is cut short, filtered, a refusal, or empty.
    """
    name = f"the reply of {completion.model or 'the model'}"
    if completion.finish == "length":
        raise ReplyError(f"{name} reached its longest length; raise {setting}.sampling.max_tokens", "length", completion.raw)
    if completion.finish == "content_filter":
        raise ReplyError(f"{name} was stopped by the endpoint's content filter", "content filter", completion.raw)
    if completion.refusal:
        raise ReplyError(f"{name} is a refusal: {completion.refusal[:200]}", "refusal", completion.raw)
    if completion.finish not in _WHOLE:
        raise ReplyError(f"{name} ended for the reason {completion.finish!r}", "unfinished", completion.raw)
    if not completion.text.strip() and not completion.tool_calls:
        raise ReplyError(f"{name} is empty", "empty", completion.raw)


def _text(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list) and all(isinstance(part, Mapping) and isinstance(part.get("text"), str) for part in content):
        return "\n".join(part["text"] for part in content)
    raise Unreadable("bad reply", "the content of the reply is no text")


def _split_thought(text: str) -> tuple[str, str]:
    """Returns what is said after the thoughts, and the thoughts; a template may have opened them already."""
    opened, closed = _THOUGHT
    thought, found, said = text.rpartition(closed)
    if found:
        return said.strip(), thought.replace(opened, "", 1).strip()
    if text.lstrip().startswith(opened):
        return "", text.replace(opened, "", 1).strip()
    return text, ""


def _calls(calls: Any) -> tuple[Mapping[str, Any], ...]:
    if not calls:
        return ()
    try:
        read = [{"id": str(call.get("id") or ""), "type": "function", "function": _function(call["function"])} for call in calls]
    except (TypeError, KeyError, AttributeError) as error:
        raise Unreadable("bad reply", f"the tool calls of the reply are of another form: {error!r}") from None
    return tuple(read)


def _function(function: Mapping[str, Any]) -> dict[str, str]:
    arguments = function.get("arguments")
    written = arguments if isinstance(arguments, str) else json.dumps({} if arguments is None else arguments)
    return {"name": storable(str(function["name"])), "arguments": storable(written)}
