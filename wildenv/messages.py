"""Tool calls and chat messages, and every textual form they come in.

The canonical form of a chat is a list of plain dicts, JSON values only::

    {"role": "system" | "user", "content": [block, ...]}
    {"role": "assistant", "content": [block], "tool_calls": [call, ...]}
    {"role": "tool", "tool_call_id": ..., "name": ..., "content": [block, ...]}

    block = {"type": "text", "text": ...} | {"type": "image", "id": "IMG_001", "digest": ...}
    call = {"id": ..., "type": "function", "function": {"name": ..., "arguments": {...}}}

Pictures are named by digest, so a chat can be written to disk, hashed and compared. `parse_action` reads what a model wrote;
the `to_*` functions write what other software expects. Nothing here checks whether a tool exists or its arguments make sense.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from wildenv.errors import MessageError
from wildenv.images import ImageStore
from wildenv.strict_json import finite

Message = dict[str, Any]
Block = dict[str, Any]

MAX_ACTION_CHARS = 65_536
"""A longer action is refused unread."""

_UNREADABLE_CHARS = 2_000
"""Of an action that cannot be read, so much is kept."""

ANSWER = "answer"
IMAGE_LINE = "<image>"

_TOOL_ALIASES = {"search": "text_search", "browse": "web_fetch", "visit": "web_fetch"}
_ARGUMENT_ALIASES = {
    "text_search": {"query": "queries", "top_k": "k"},
    "web_fetch": {"query": "prompt", "goal": "prompt"},
    "image_search": {"queries": "query", "top_k": "k"},
    "crop_image": {"img_id": "image_id", "bbox": "box"},
    ANSWER: {"gen_prompt": "prompt", "reference_images": "references"},
}
_OPEN = re.compile(r"<(tool_call|answer)>\s*(?:```(?:json)?\s*)?(?=[{\[])|<tool_response>")
_CLOSE = re.compile(r"\s*(?:```\s*)?(?:</(?:tool_call|answer)>|\Z)")
_TAG = re.compile(r"<(?=/?(?:tool_call|tool_response|answer)>)")
_REPLY = re.compile(r"^<tool_response>\n(.*?)\n</tool_response>$", re.DOTALL | re.MULTILINE)
_FENCE = re.compile(r"\A```(?:json)?\s*\n(.*?)\n?```\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool, ``answer`` included; `arguments` are JSON values as the model gave them."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """The end of an episode: the refined prompt and the ids of the references handed to the generator."""

    prompt: str
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Action:
    """One assistant turn: what it said, then what it called."""

    text: str
    calls: tuple[ToolCall, ...]


def parse_action(action: str | Mapping[str, Any] | list[Any], turn: int = 1) -> Action:
    """Reads an assistant turn in any of the accepted forms.

    Accepted are JSON ``{"name", "arguments"}``, an OpenAI message or tool call (or a list of tool calls), and text with
    ``<tool_call>{...}</tool_call>`` or ``<answer>{...}</answer>`` in it. Tool and argument names of Gen-Searcher are
    translated.

    Args:
        action: The turn.
        turn: Its number; calls that come without an id are named after it.

    Returns:
        The turn, with at least one call.

    Raises:
        MessageError: If it cannot be read; the message tells the agent what to write instead.
    """
    if isinstance(action, str):
        _check_size(len(action))
        text, raw = _split_text(storable(action))
    elif isinstance(action, Mapping | list):
        written = _json(action)
        _check_size(len(written))
        text, raw = _split_value(_load(written))
    else:
        raise MessageError(f"an action is a string, a mapping or a list of tool calls, not {type(action).__name__}")
    if not raw:
        raise MessageError('no tool call found; write <tool_call>{"name": ..., "arguments": {...}}</tool_call>')
    calls = tuple(_read_call(call, f"call_{turn}_{number}") for number, call in enumerate(raw, 1))
    if len(calls) > 1 and any(call.name == ANSWER for call in calls):
        raise MessageError("an answer ends the episode and must be the only call of its turn")
    if len({call.id for call in calls}) != len(calls):
        raise MessageError("two calls of one turn share an id")
    # Markup left in the prose would be read as a call when the turn is written as text and read back.
    return Action(_TAG.sub("‹", text), calls)


def written_form(action: Any) -> str:
    """Returns an action as text, readable as a call or not, for the record."""
    if isinstance(action, str):
        return storable(action)
    try:
        return _json(action)
    except MessageError:
        return f"({type(action).__name__})"


def unreadable_message(action: Any) -> Message:
    """Returns the canonical message of a turn that cannot be read as an action: what was written, a long text cut."""
    written = written_form(action)
    shown = written if len(written) <= _UNREADABLE_CHARS else f"{written[:_UNREADABLE_CHARS]} [cut]"
    return {"role": "assistant", "content": [text_block(shown)] if shown else []}


def storable(text: str) -> str:
    """Returns text that UTF-8 can hold: a lone half of a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def parse_answer(call: ToolCall) -> Answer:
    """Reads the arguments of an ``answer`` call; references may be ids or Gen-Searcher's ``{"img_id": ...}``.

    Raises:
        MessageError: If the prompt is missing or empty, the references are missing, or one of them is not an id.
    """
    prompt = call.arguments.get("prompt")
    if not isinstance(prompt, str) or not prompt.strip():
        raise MessageError("answer needs a non-empty 'prompt'")
    if "references" not in call.arguments:
        raise MessageError("answer needs 'references', a list of image ids; give [] to hand over none")
    references = call.arguments["references"]
    if isinstance(references, str):
        references = [references]
    if not isinstance(references, list | tuple):
        raise MessageError("'references' must be a list of image ids")
    ids: list[str] = []
    for item in references:
        image_id = item.get("img_id") if isinstance(item, Mapping) else item
        if not isinstance(image_id, str):
            raise MessageError("each reference is an image id such as IMG_001")
        ids.append(image_id)
    return Answer(prompt.strip(), tuple(dict.fromkeys(ids)))


def text_block(text: str) -> Block:
    """Returns a text block."""
    return {"type": "text", "text": text}


def image_block(image_id: str, digest: str) -> Block:
    """Returns an image block."""
    return {"type": "image", "id": image_id, "digest": digest}


def text_of(message: Message) -> str:
    """Returns the text of a message, its blocks joined by newlines."""
    return "\n".join(block["text"] for block in message["content"] if block["type"] == "text")


def digests_of(messages: Sequence[Message]) -> list[str]:
    """Returns the digests of all pictures of a chat in the order a model sees them."""
    return [block["digest"] for message in messages for block in message["content"] if block["type"] == "image"]


def assistant_message(action: Action) -> Message:
    """Returns the canonical message of a turn."""
    return {
        "role": "assistant",
        "content": [text_block(action.text)] if action.text else [],
        "tool_calls": [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": dict(c.arguments)}} for c in action.calls
        ],
    }


def tool_message(call: ToolCall, blocks: list[Block]) -> Message:
    """Returns the canonical message of a tool's reply."""
    return {"role": "tool", "tool_call_id": call.id, "name": call.name, "content": blocks}


def observation_text(messages: Sequence[Message]) -> str:
    """Writes replies as the text of an observation: tool replies fenced, the place of each picture marked by a line
    ``<image>``."""
    parts = []
    for message in messages:
        lines = [block["text"] if block["type"] == "text" else IMAGE_LINE for block in message["content"]]
        body = "\n".join(lines)
        parts.append(f"<tool_response>\n{body}\n</tool_response>" if message["role"] == "tool" else body)
    return "\n".join(parts)


def read_observation(text: str) -> list[list[str]]:
    """Reads `observation_text` back.

    Returns:
        For each tool reply its blocks in order, a picture as `IMAGE_LINE` and text between two pictures as one block; for a text
        without tool replies one block.
    """
    replies = _REPLY.findall(text)
    if not replies:
        return [[text]]
    blocks: list[list[str]] = []
    for reply in replies:
        blocks.append([])
        # Line by line, so that a text that begins or ends with an empty line keeps it.
        for picture, found in groupby(reply.split("\n") if reply else [], lambda line: line == IMAGE_LINE):
            lines = list(found)
            blocks[-1] += lines if picture else ["\n".join(lines)]
    return blocks


def to_hermes(message: Message) -> str:
    """Writes an assistant message as text with ``<tool_call>`` tags; `parse_action` reads it back."""
    parts = [text_of(message)] if message["content"] else []
    for call in message.get("tool_calls", []):
        function = {"name": call["function"]["name"], "arguments": call["function"]["arguments"]}
        # Escaped, a tag inside an argument cannot end the call.
        written = json.dumps(function, ensure_ascii=False).replace("<", "\\u003c")
        parts.append(f"<tool_call>\n{written}\n</tool_call>")
    return "\n".join(parts)


def to_openai(messages: Sequence[Message], store: ImageStore, picture: Callable[[str], str] | None = None) -> list[Message]:
    """Writes a chat for an OpenAI-compatible endpoint: arguments as strings, pictures as data URLs.

    Args:
        messages: The chat.
        store: Where its pictures are.
        picture: Writes a digest as the URL that is sent; the stored PNG bytes if None.
    """
    return [_wire_message(message, picture or (lambda digest: data_url(store.png(digest), "image/png"))) for message in messages]


def data_url(data: bytes, media_type: str) -> str:
    """Returns bytes as a data URL."""
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


def to_hf(messages: Sequence[Message], store: ImageStore) -> list[Message]:
    """Writes a chat for `processor.apply_chat_template`: arguments as mappings, pictures as PIL images."""
    out = []
    for message in messages:
        blocks = [
            {"type": "image", "image": store.get(block["digest"])} if block["type"] == "image" else dict(block)
            for block in message["content"]
        ]
        out.append({**message, "content": blocks})
    return out


def _wire_message(message: Message, picture: Callable[[str], str]) -> Message:
    blocks: list[Block] = []
    for block in message["content"]:
        if block["type"] == "image":
            blocks.append({"type": "image_url", "image_url": {"url": picture(block["digest"])}})
        else:
            blocks.append(dict(block))
    wire: Message = {**message, "content": blocks}
    if message["role"] == "assistant":
        wire["content"] = text_of(message)
        if message.get("tool_calls"):
            wire["content"] = wire["content"] or None
            wire["tool_calls"] = [
                {**call, "function": {**call["function"], "arguments": json.dumps(call["function"]["arguments"])}}
                for call in message["tool_calls"]
            ]
    return wire


def _split_text(action: str) -> tuple[str, list[Any]]:
    stripped = action.strip()
    fenced = _FENCE.match(stripped)
    bare = fenced.group(1).strip() if fenced else stripped
    if bare[:1] in ("{", "["):
        try:
            value = _load(bare)
        except MessageError:
            # Prose may begin with a bracket, too.
            if not _OPEN.search(stripped):
                raise
        else:
            return _split_value(value)
    return _split_tags(stripped)


def _split_tags(written: str) -> tuple[str, list[Any]]:
    """Reads the calls after the prose; what follows a tool response that the model made up is not read."""
    calls: list[Any] = []
    position = written.rfind("</think>") + 1
    first = len(written)
    while found := _OPEN.search(written, position):
        if not calls:
            first = found.start()
        if found.group(1) is None:
            break
        value, end = _load_from(written, found.end())
        closed = _CLOSE.match(written, end)
        if closed is None:
            raise MessageError("the call is not valid JSON: there is more after its end")
        calls.append({"name": ANSWER, "arguments": value} if found.group(1) == ANSWER else value)
        position = closed.end()
    return written[:first].strip(), calls


def _split_value(action: Any) -> tuple[str, list[Any]]:
    if isinstance(action, list):
        return "", action
    if "role" in action or "tool_calls" in action or ("content" in action and "name" not in action):
        if action.get("role", "assistant") != "assistant":
            raise MessageError("an action is a message of the role 'assistant'")
        content = action.get("content") or ""
        if isinstance(content, list):
            content = "\n".join(b["text"] for b in content if isinstance(b, Mapping) and isinstance(b.get("text"), str))
        if not isinstance(content, str):
            raise MessageError("'content' must be a string or a list of blocks")
        calls = action.get("tool_calls") or []
        if not isinstance(calls, list):
            raise MessageError("'tool_calls' must be a list")
        if not calls and content:
            return _split_text(content)
        return content.strip(), calls
    return "", [action]


def _check_size(chars: int) -> None:
    if chars > MAX_ACTION_CHARS:
        raise MessageError(f"the message has {chars} characters; at most {MAX_ACTION_CHARS} are read")


def _json(value: Any) -> str:
    try:
        return storable(json.dumps(value, ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise MessageError(f"the message does not consist of JSON values: {error}") from None


def _load(body: str) -> Any:
    fenced = _FENCE.match(body.strip())
    bare = (fenced.group(1) if fenced else body).strip()
    value, end = _load_from(bare, 0)
    if end != len(bare):
        raise MessageError("the call is not valid JSON: there is more after its end")
    return value


def _load_from(text: str, start: int) -> tuple[Any, int]:
    """Reads the JSON value that begins at `start`; returns it and where it ends."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        raise MessageError(f"the call is not valid JSON: {error}") from None
    # An escape can spell half of a surrogate pair, which no file can hold.
    return (json.loads(_json(value)) if "\\u" in text else value), end


_DECODER = json.JSONDecoder(parse_float=finite, parse_constant=finite)


def _read_call(raw: Any, default_id: str) -> ToolCall:
    if not isinstance(raw, Mapping):
        raise MessageError('a tool call is {"name": ..., "arguments": {...}}')
    function = raw.get("function", raw)
    given_name = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(given_name, str):
        raise MessageError("the tool call has no 'name'")
    arguments = function.get("arguments", {})
    if isinstance(arguments, str):
        arguments = _load(arguments) if arguments.strip() else {}
    if not isinstance(arguments, Mapping):
        raise MessageError("'arguments' must be an object")
    name = _TOOL_ALIASES.get(given_name, given_name)
    aliases = _ARGUMENT_ALIASES.get(name, {})
    named: dict[str, Any] = {}
    for key, value in arguments.items():
        canonical = str(aliases.get(key, key))
        if canonical in named:
            raise MessageError("an argument is given twice, under two names")
        named[canonical] = value
    call_id = raw.get("id")
    return ToolCall(call_id if isinstance(call_id, str) and call_id else default_id, name, named)
