"""Small chats and row folders for the tests of the trainers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PIL import Image

from trainers.data import Row, RowFolder, RowWriter
from wildenv.messages import Message, image_block, text_block


def call(number: int, name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}


def chat(digest: str | None, searches: int = 1, colour: str = "teal") -> list[Message]:
    """A request, some searches that show one picture each, and an answer."""
    messages: list[Message] = [
        {"role": "system", "content": [text_block("Find references.")]},
        {"role": "user", "content": [text_block(f"Draw the {colour} kettle on a pier.")]},
    ]
    for number in range(1, searches + 1):
        said = [text_block(f"Search number {number} for the kettle.")]
        messages.append(
            {
                "role": "assistant",
                "content": said,
                "tool_calls": [call(number, "image_search", query=f"{colour} kettle {number}")],
            }
        )
        blocks = [text_block(f"IMG_{number:03d}: press shot")] + ([image_block(f"IMG_{number:03d}", digest)] if digest else [])
        messages.append({"role": "tool", "tool_call_id": f"call_{number}", "name": "image_search", "content": blocks})
    answer = call(searches + 1, "answer", prompt=f"A {colour} kettle on a pier", references=["IMG_001"])
    messages.append({"role": "assistant", "content": [text_block("The first picture shows the star.")], "tool_calls": [answer]})
    return messages


def write_rows(folder: Path, count: int = 6, pictures: bool = True, searches: int = 1) -> RowFolder:
    colours = ("teal", "red", "blue", "green", "black", "white")
    with RowWriter(folder) as writer:
        for number in range(count):
            digest = writer.images.put(Image.new("RGB", (56, 28), (40 * number, 90, 30))) if pictures else None
            writer.write(Row(f"row-{number}", f"task-{number}", chat(digest, searches, colours[number % 6])))
    return RowFolder(folder)
