"""Conversations of other projects as training rows.

Read are JSON Lines and JSON arrays of

* our own rows (`trainers.data.Row`), pictures under ``images/`` beside the file;
* ReAct text as WebDancer records it: ``<think>``, ``<tool_call>``, ``<tool_response>`` and ``<answer>`` in plain contents, the
  tools' replies as user turns;
* Gen-Searcher's sharegpt records: the same tags, and ``<image>`` marks that consume the paths of ``images`` in order. Paths are
  relative to the file.

A row that cannot be read is refused by number with its reason; nothing is repaired by guessing. Tools keep the names and
arguments they were called with, because the prompts of these rows describe them so (the environment accepts Gen-Searcher's as
aliases); schemas that a prompt spells out stay in the prompt. An answer that is JSON becomes a call of ``answer``; a free-text
answer stays text, in its tags.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from trainers.data import Row, RowWriter
from wildenv.episode import IMAGES
from wildenv.errors import ConfigError, DataError
from wildenv.images import ImageStore, decode
from wildenv.messages import (
    ANSWER,
    Action,
    Block,
    Message,
    ToolCall,
    assistant_message,
    digests_of,
    image_block,
    text_block,
    tool_message,
)

FORMATS = ("auto", "rows", "react", "sharegpt")
IMAGE_MARK = "<image>"

_CHUNK = 1 << 20
_TAGS = ("think", "tool_call", "tool_response", "answer")
_TAG = re.compile(rf"<(/?)({'|'.join(_TAGS)})>")
_THOUGHT = re.compile(r"<think>(.*?)</think>", re.DOTALL)
_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)
_CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
_RESPONSE = re.compile(r"<tool_response>(.*?)</tool_response>", re.DOTALL)


@dataclass(slots=True)
class Refusals:
    """Rows that could not be read: number in the file, counted from 1, and reason."""

    rows: list[tuple[int, str]] = field(default_factory=list)
    total: int = 0

    @property
    def share(self) -> float:
        """Part of the rows that was refused."""
        return len(self.rows) / self.total if self.total else 0.0


def convert(path: str | Path, folder: str | Path, kind: str = "auto", max_refused: float = 0.05) -> Refusals:
    """Writes a file of conversations as a row folder, one row in memory at a time.

    Args:
        path: The file.
        folder: Where the rows, their pictures and ``refused.json`` go.
        kind: One of `FORMATS`; ``auto`` looks at each row.
        max_refused: Share of the rows that may be refused.

    Returns:
        The refused rows, each named.

    Raises:
        ConfigError: If there is no such file, it holds nothing, or too much of it is refused; the message names the first rows.
        DataError: If the file is no JSON from some point on.
    """
    source = Path(path)
    if not source.is_file():
        raise ConfigError(f"data.path={path}: no such file")
    if kind not in FORMATS:
        raise ConfigError(f"data.format={kind!r} is none of {', '.join(FORMATS)}")
    refusals = Refusals()
    with RowWriter(folder) as writer:
        bar = tqdm(total=source.stat().st_size, desc=f"reading {source.name}", unit="B", unit_scale=True)
        for number, (raw, size) in enumerate(_records(source), 1):
            bar.update(size)
            refusals.total += 1
            try:
                if isinstance(raw, DataError):
                    raise raw
                writer.write(read_row(raw, number, source, writer.images, kind))
            except (DataError, ValueError, RecursionError) as error:
                # Rows come from anywhere: half a surrogate pair, a path with a NUL in it, a thousand brackets.
                refusals.rows.append((number, str(error) if isinstance(error, DataError) else f"{type(error).__name__}: {error}"))
        bar.close()
        if refusals.total == 0:
            raise ConfigError(f"data.path={path}: there is no row in it")
        if refusals.share > max_refused or writer.count == 0:
            first = "; ".join(f"row {number}: {reason}" for number, reason in refusals.rows[:3])
            raise ConfigError(
                f"{len(refusals.rows)} of {refusals.total} rows of {source.name} are refused, more than "
                f"data.max_refused={max_refused:g} allows ({first}). Repair the rows, or raise data.max_refused"
            )
    named = [{"row": number, "reason": reason} for number, reason in refusals.rows]
    report = {"total": refusals.total, "refused": named}
    (Path(folder) / "refused.json").write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return refusals


def read_row(raw: Any, number: int, source: Path, images: ImageStore, kind: str = "auto") -> Row:
    """Reads one record in any of the formats.

    Args:
        raw: The record.
        number: Its number in the file.
        source: The file, to which picture paths are relative.
        images: Where its pictures are put.
        kind: One of `FORMATS`.

    Raises:
        DataError: Saying what is wrong with it.
    """
    if not isinstance(raw, Mapping):
        raise DataError("not a JSON object")
    if kind == "auto":
        kind = "rows" if "schema_version" in raw else "sharegpt" if "images" in raw else "react"
    if kind == "rows":
        return _own_row(raw, source, images)
    if not isinstance(raw.get("messages"), list) or not raw["messages"]:
        raise DataError("'messages' is missing or empty")
    pictures: list[str] = []
    if kind == "sharegpt":
        paths = raw.get("images")
        if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
            raise DataError("'images' is not a list of paths")
        marks = sum(
            str(message.get("content", "")).count(IMAGE_MARK) for message in raw["messages"] if isinstance(message, Mapping)
        )
        if marks != len(paths):
            raise DataError(f"{marks} {IMAGE_MARK} marks but {len(paths)} images")
        pictures = [_store_picture(source.parent / path, images) for path in paths]
    name = str(raw.get("id") or f"{source.stem}-{number}")
    return Row(name, name, _Reader(pictures if kind == "sharegpt" else None).read(raw["messages"]))


class _Reader:
    """Reads the turns of one conversation; with pictures, ``<image>`` marks consume them in order."""

    def __init__(self, pictures: list[str] | None) -> None:
        self._pictures = pictures
        self._used = 0
        self._open: list[ToolCall] = []
        self._turn = 0

    def read(self, turns: list[Any]) -> list[Message]:
        messages: list[Message] = []
        for number, turn in enumerate(turns):
            role = turn.get("role") if isinstance(turn, Mapping) else None
            content = turn.get("content") if isinstance(turn, Mapping) else None
            if role not in ("system", "user", "assistant") or not isinstance(content, str) or not content.strip():
                raise DataError(f"message {number} is not a system, user or assistant turn with text")
            try:
                if role == "assistant":
                    messages.append(self._assistant(content))
                elif role == "user" and (responses := self._responses(content)) is not None:
                    messages += responses
                else:
                    messages.append({"role": role, "content": self._blocks(content)})
            except DataError as error:
                raise DataError(f"message {number} ({role}): {error}") from None
        if not any(message["role"] == "assistant" for message in messages):
            raise DataError("there is no assistant turn to learn from")
        return messages

    def _assistant(self, content: str) -> Message:
        self._turn += 1
        _check_tags(content)
        thoughts = [thought.strip() for thought in _THOUGHT.findall(content)]
        rest = _THOUGHT.sub("", content).strip()
        if "<tool_response>" in rest:
            raise DataError("the assistant writes a <tool_response>")
        calls = [_call(body, f"call_{self._turn}_{number}") for number, body in enumerate(_CALL.findall(rest), 1)]
        rest = _CALL.sub("", rest)
        answer = _ANSWER.search(rest)
        if answer and answer.group(1).strip().startswith("{"):
            if calls:
                raise DataError("the turn calls a tool and answers")
            calls = [ToolCall(f"call_{self._turn}_1", ANSWER, _object(answer.group(1), "the answer"))]
            rest = _ANSWER.sub("", rest)
        self._open = calls
        text = "\n".join(filter(None, [*thoughts, rest.strip()]))
        if not text and not calls:
            raise DataError("the turn is empty")
        said = assistant_message(Action(text, tuple(calls)))
        return said if calls else {"role": "assistant", "content": said["content"]}

    def _responses(self, content: str) -> list[Message] | None:
        """Returns the tools' replies of a user turn; None if it is a person's turn. Marks in front of a reply belong to it."""
        if not content.replace(IMAGE_MARK, "").strip().startswith("<tool_response>"):
            return None
        _check_tags(content, nested=False)
        bodies = _RESPONSE.findall(content)
        if len(bodies) > len(self._open):
            raise DataError(f"{len(bodies)} tool responses to {len(self._open)} tool calls")
        calls, self._open = self._open[: len(bodies)], self._open[len(bodies) :]
        messages: list[Message] = []
        done = 0
        for call, match in zip(calls, _RESPONSE.finditer(content), strict=True):
            blocks = self._blocks(content[done : match.start()]) + self._blocks(match.group(1))
            messages.append(tool_message(call, blocks))
            done = match.end()
        messages[-1]["content"] += self._blocks(content[done:])
        return messages

    def _blocks(self, text: str) -> list[Block]:
        if self._pictures is None:
            return [text_block(text.strip())] if text.strip() else []
        blocks: list[Block] = []
        for number, part in enumerate(text.split(IMAGE_MARK)):
            if number:
                blocks.append(image_block(f"IMG_{self._used + 1:03d}", self._pictures[self._used]))
                self._used += 1
            if part.strip():
                blocks.append(text_block(part.strip()))
        return blocks


def _call(body: str, call_id: str) -> ToolCall:
    call = _object(body, "the tool call")
    arguments = call.get("arguments", {})
    if isinstance(arguments, str):
        arguments = _object(arguments, "the arguments of the tool call")
    if not isinstance(call.get("name"), str) or not isinstance(arguments, Mapping):
        raise DataError("the tool call has no name, or arguments that are not an object")
    return ToolCall(call_id, call["name"], arguments)


def _object(text: str, what: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(f"{what} is not valid JSON: {error}") from None
    if not isinstance(value, Mapping):
        raise DataError(f"{what} is not a JSON object")
    return value


def _check_tags(content: str, nested: bool = True) -> None:
    """Checks that every tag is closed by its own; `nested` is for turns a model wrote, in which a tag inside a tag is an
    error."""
    inside: str | None = None
    for closing, name in _TAG.findall(content):
        if not nested and name != "tool_response":
            continue
        if closing and inside != name:
            raise DataError(f"</{name}> closes nothing")
        if not closing and inside == "think":
            # A thought may mention the tags it is going to use.
            continue
        if not closing and inside is not None:
            raise DataError(f"<{name}> inside <{inside}>")
        inside = None if closing else name
    if inside is not None:
        raise DataError(f"<{inside}> is not closed")


def _own_row(raw: Mapping[str, Any], source: Path, images: ImageStore) -> Row:
    row = Row.from_dict(raw)
    beside = ImageStore(source.parent / IMAGES)
    for digest in digests_of(row.messages):
        if digest not in images:
            images.put_png(beside.png(digest))
    return row


def _store_picture(path: Path, images: ImageStore) -> str:
    try:
        return images.put(decode(path.read_bytes()))
    except OSError as error:
        raise DataError(f"image {path.name}: {error.strerror}") from error
    except DataError as error:
        raise DataError(f"image {path.name}: {error}") from error


def _records(path: Path) -> Iterator[tuple[Any, int]]:
    """Yields each record of a JSON Lines file or a JSON array with its size; a bad line comes as its `DataError`."""
    with path.open(encoding="utf-8", errors="surrogateescape") as file:
        start = file.read(_CHUNK).lstrip("\ufeff \t\r\n")
        if start.startswith("["):
            yield from _array(path, file, start[1:])
            return
    with path.open("rb") as lines:
        for line in lines:
            if not line.strip():
                continue
            try:
                yield json.loads(line), len(line)
            except (ValueError, RecursionError) as error:
                yield DataError(f"not JSON: {error}"), len(line)


def _array(path: Path, file: Any, buffer: str) -> Iterator[tuple[Any, int]]:
    decoder = json.JSONDecoder()
    number = 0
    while True:
        buffer = buffer.lstrip(" \t\r\n,")
        if buffer.startswith("]"):
            return
        try:
            value, end = decoder.raw_decode(buffer)
        except json.JSONDecodeError as error:
            # Perhaps only the part read so far ends here.
            more = file.read(_CHUNK)
            if not more:
                raise DataError(f"{path.name}: not JSON after row {number}: {error}") from None
            buffer += more
            continue
        number += 1
        yield value, end
        buffer = buffer[end:]
