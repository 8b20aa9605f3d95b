"""Reads Gen-Searcher's stage A results as episodes.

What their files do not say is not made up: a picture has the size it was kept in, no verdict and no reward, and `reward_valid` is
false. A row that an episode cannot represent is refused, naming the field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from tqdm import tqdm

from wildenv.adapters.gen_searcher.tasks import public_task, read_picture, read_rows
from wildenv.adapters.gen_searcher.wording import ANSWERED, FAILED, TERMINATIONS
from wildenv.episode import Episode, EpisodeWriter
from wildenv.errors import DataError, MessageError
from wildenv.images import ImageRecord, ImageStore
from wildenv.lock import only_writer
from wildenv.messages import (
    IMAGE_LINE,
    Action,
    Block,
    Message,
    assistant_message,
    image_block,
    parse_action,
    read_observation,
    text_block,
)

WEB = "gen-searcher"
"""Stands for the web such an episode was played in: a live one, of which nothing is known."""

_LISTED = re.compile(
    r"^(?P<id>IMG_\d+): title: (?P<title>.*)\n\s*url: (?P<url>.*)\n\s*local_path: (?P<path>.*)\n\s*page_url: (?P<page>.*)$",
    re.MULTILINE,
)
_RESPONSE, _RESPONSE_END = "<tool_response>", "</tool_response>"
_CALL_END = "</tool_call>"


@dataclass(frozen=True, slots=True)
class Imported:
    """What was read.

    Attributes:
        episodes: How many episodes were written.
        refused: Id and reason of each row that no episode can represent.
    """

    episodes: int
    refused: tuple[tuple[str, str], ...]


def import_results(path: str | Path, folder: str | Path, policy: str, issued: date) -> Imported:
    """Reads a results file into a folder of episodes.

    Args:
        path: ``results.json``, or JSON lines.
        folder: Where episodes are appended.
        policy: Name of the policy that played them.
        issued: Their files have no dates: the day the tasks are taken to be issued on.

    Raises:
        ConfigError: If a path is wrong, or another run is writing the folder.
        DataError: If the file holds no rows.
    """
    path = Path(path)
    rows = read_rows(path)
    with only_writer(folder, "--out"):
        return _import(path, rows, EpisodeWriter(folder), policy, issued)


def _import(path: Path, rows: Sequence[Mapping[str, Any]], writer: EpisodeWriter, policy: str, issued: date) -> Imported:
    refused: list[tuple[str, str]] = []
    count = 0
    for number, row in enumerate(tqdm(rows, desc=f"import {path.name}", unit="row", disable=None, leave=False)):
        store = ImageStore()
        try:
            episode = read_row(row, path.parent, store, policy, issued, number)
        except DataError as error:
            refused.append((str(row.get("id", number)), str(error)))
            continue
        writer.append(episode, store)
        count += 1
    return Imported(count, tuple(refused))


def read_row(row: Mapping[str, Any], root: Path, store: ImageStore, policy: str, issued: date, number: int = 0) -> Episode:
    """Reads one row.

    Args:
        row: The row.
        root: What its paths are relative to.
        store: Where its pictures go.
        policy: Name of the policy.
        issued: See `import_results`.
        number: Of the row from 0; its id if it has none.

    Raises:
        DataError: Naming the field that cannot be represented.
    """
    given = _text(row, "termination")
    if given not in TERMINATIONS:
        raise DataError(f"termination {given!r} is none of {', '.join(TERMINATIONS)}")
    chat = _Chat(root, store)
    episode = Episode(
        task=_task(row, issued, number),
        web=WEB,
        seed=-1,
        policy=policy,
        tools=[],
        messages=list(chat.messages(_list(row, "trajectory_messages"))),
        reward_valid=False,
        end_reason=TERMINATIONS[given],
        failure="Gen-Searcher: error" if given == FAILED else None,
    )
    references = _list(row, "reference_images")
    if given == ANSWERED:
        episode.answer = {"prompt": _text(row, "gen_prompt"), "references": chat.references(references)}
        if not episode.answer["prompt"].strip():
            raise DataError("gen_prompt is empty though termination is 'answer'")
    elif references or row.get("gen_prompt"):
        raise DataError(f"gen_prompt and reference_images are given though termination is {given!r}")
    episode.images = [record.to_dict() for record in chat.records.values()]
    episode.usage = {"tool_calls": chat.calls, "turns": chat.turns, "images": len(chat.records)}
    episode.validate()
    return episode


class _Chat:
    """Reads the messages of one row, and keeps the pictures they show by path."""

    def __init__(self, root: Path, store: ImageStore) -> None:
        self._root = root
        self._store = store
        self._open: list[tuple[str, str]] = []
        self.records: dict[str, ImageRecord] = {}
        self.calls = 0
        self.turns = 0

    def messages(self, rows: Sequence[Any]) -> Iterator[Message]:
        """Yields the messages in canonical form."""
        for number, row in enumerate(rows):
            where = f"trajectory_messages[{number}]"
            if not isinstance(row, Mapping) or not isinstance(row.get("content"), str):
                raise DataError(f"{where} is no object with a text 'content'")
            blocks = self._pictures(row, where)
            if row.get("role") == "assistant":
                if blocks:
                    raise DataError(f"{where}.images: the model's own turns hold no pictures here")
                yield self._assistant(row["content"])
            elif row.get("role") in ("system", "user"):
                yield self._given(row["role"], row["content"], blocks, where)
            else:
                raise DataError(f"{where}.role is {row.get('role')!r}, none of system, user, assistant")

    def references(self, rows: Sequence[Any]) -> list[str]:
        """Returns the ids of the references; each is handed on as its own file, in full, where there is one."""
        ids = []
        for number, row in enumerate(rows):
            where = f"reference_images[{number}]"
            if not isinstance(row, Mapping) or row.get("img_id") not in self.records:
                shown = row.get("img_id") if isinstance(row, Mapping) else row
                raise DataError(f"{where}.img_id is {shown!r}, which no message shows")
            record = self.records[row["img_id"]]
            image = self._image(row.get("local_path"), f"{where}.local_path")
            self.records[record.id] = replace(
                record,
                source=self._store.put(image),
                size=image.size,
                url=record.url or str(row.get("url") or ""),
                title=record.title or str(row.get("title") or ""),
            )
            ids.append(record.id)
        return ids

    def _assistant(self, content: str) -> Message:
        self.turns += 1
        action = _action(content, self.turns)
        self._open = [] if action is None else [(call.id, call.name) for call in action.calls]
        self.calls += sum(name != "answer" for _, name in self._open)
        return {"role": "assistant", "content": [text_block(content)]} if action is None else assistant_message(action)

    def _given(self, role: str, content: str, pictures: list[Block], where: str) -> Message:
        reply = content.strip()
        if role == "user" and self._open and reply.startswith(_RESPONSE) and reply.endswith(_RESPONSE_END):
            call_id, name = self._open.pop(0)
            return {"role": "tool", "tool_call_id": call_id, "name": name, "content": _placed(reply, pictures, where)}
        return {"role": role, "content": [*pictures, text_block(content)]}

    def _pictures(self, row: Mapping[str, Any], where: str) -> list[Block]:
        """Returns the pictures of a message; ids come from our own key, from the listing in the text, or from the order."""
        listed = {found["path"].strip(): found for found in _LISTED.finditer(row["content"])}
        paths = row.get("images") or []
        ids = row.get("image_ids") or [None] * len(paths)
        if not isinstance(paths, list) or not isinstance(ids, list) or len(ids) != len(paths):
            raise DataError(f"{where}: 'images' and 'image_ids' do not go together")
        blocks = []
        for number, (path, given) in enumerate(zip(paths, ids, strict=True)):
            image = self._image(path, f"{where}.images[{number}]")
            found = listed.get(str(path))
            image_id = given or (found["id"] if found else f"IMG_{len(self.records) + 1:03d}")
            digest = self._store.put(image)
            record = ImageRecord(image_id, digest, digest, image.size)
            if found is not None:
                record = replace(record, url=found["url"], page=found["page"], title=found["title"])
            known = self.records.setdefault(image_id, record)
            if known.digest != digest:
                raise DataError(f"{where}.images[{number}]: {image_id} was another picture before")
            blocks.append(image_block(image_id, digest))
        return blocks

    def _image(self, path: Any, where: str) -> Any:
        try:
            picture = read_picture(self._root, path)
        except DataError as error:
            raise DataError(f"{where}: {error}") from error
        if picture is None:
            raise DataError(f"{where} is {path!r}, and there is no such file beside the results")
        return picture


def _action(content: str, turn: int) -> Action | None:
    """Reads a turn of the model; of several calls only the first counts there, before an answer in the same turn."""
    first = content.find(_CALL_END)
    for text in (content, content[: first + len(_CALL_END)] if first >= 0 else ""):
        try:
            return parse_action(text, turn)
        except MessageError:
            continue
    return None


def _placed(content: str, pictures: list[Block], where: str) -> list[Block]:
    """Puts pictures where the text marks them; without any mark they come first, as their model sees them."""
    pieces = [piece for reply in read_observation(content) for piece in reply]
    marks = pieces.count(IMAGE_LINE)
    if marks == 0:
        return [*pictures, *map(text_block, pieces)]
    if marks != len(pictures):
        raise DataError(f"{where}.images has {len(pictures)} pictures and its text marks {marks}")
    left = iter(pictures)
    return [next(left) if piece == IMAGE_LINE else text_block(piece) for piece in pieces]


def _task(row: Mapping[str, Any], issued: date, number: int) -> dict[str, Any]:
    """Returns the public task; rows that were exported here say which one it was, and when it was issued."""
    task = public_task(row, "gen-searcher", issued, number)
    meta = row.get("meta")
    if isinstance(meta, Mapping) and isinstance(meta.get("task_id"), str) and isinstance(meta.get("issued"), str):
        task |= {"id": meta["task_id"], "issued": meta["issued"]}
    return task


def _list(row: Mapping[str, Any], name: str) -> list[Any]:
    value = row.get(name) or []
    if not isinstance(value, list):
        raise DataError(f"{name} is {json.dumps(value)[:40]}, not a list")
    return value


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str):
        raise DataError(f"{name} is {json.dumps(value)[:40]}, not a text")
    return value
