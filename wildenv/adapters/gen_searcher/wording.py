"""How one chat message is written in Gen-Searcher's way: names of tools and arguments, tags, and where an episode ends."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from wildenv.episode import EndReason
from wildenv.messages import ANSWER, Message, observation_text, text_of

ANSWERED = "answer"
FAILED = "error"

TERMINATIONS: Mapping[str, EndReason] = {
    ANSWERED: "answered",
    "no_answer": "turns",
    "answer_parse_failed": "turns",
    "repeated_response": "turns",
    "max_response_length_exceeded": "context",
    FAILED: "policy",
}
"""What their end of an episode is here; three of theirs are one of ours."""

_WRITTEN: Mapping[str, str] = {"budget": "no_answer", "turns": "no_answer", "context": "max_response_length_exceeded"}
_NAMES = {"text_search": "search", "web_fetch": "browse"}
_ARGUMENTS = {"text_search": {"k": "top_k"}, "image_search": {"k": "top_k"}, "web_fetch": {"prompt": "query"}}


def termination(end_reason: str, answered: bool) -> str:
    """Returns how an episode ends in their words; theirs knows no judge, so that an answer is an answer, judged or not."""
    return ANSWERED if answered else _WRITTEN.get(end_reason, FAILED)


def written(message: Message) -> tuple[str, str]:
    """Returns role and text of a message; a reply of a tool is a turn of the user."""
    if message["role"] == "tool":
        return "user", observation_text([message])
    if message["role"] != "assistant":
        return message["role"], text_of(message)
    parts = [text_of(message)] if message["content"] else []
    parts += [_call(call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls", [])]
    return "assistant", "\n".join(parts)


def _call(name: str, arguments: Mapping[str, Any]) -> str:
    if name == ANSWER:
        return f"<answer>{_json(_answer(arguments))}</answer>"
    renamed = {_ARGUMENTS.get(name, {}).get(key, key): value for key, value in arguments.items()}
    if isinstance(renamed.get("queries"), str):
        renamed["queries"] = [renamed["queries"]]
    return f"<tool_call>\n{_json({'name': _NAMES.get(name, name), 'arguments': renamed})}\n</tool_call>"


def _answer(arguments: Mapping[str, Any]) -> dict[str, Any]:
    names = {"prompt": "gen_prompt", "references": "reference_images"}
    renamed = {names.get(key, key): value for key, value in arguments.items()}
    references = renamed.get("reference_images")
    if isinstance(references, list):
        renamed["reference_images"] = [{"img_id": one} if isinstance(one, str) else one for one in references]
    return renamed


def _json(value: Any) -> str:
    # Escaped, a tag inside an argument cannot end the call.
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")
