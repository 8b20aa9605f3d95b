"""Training rows on disk, read one at a time.

A row folder holds one canonical chat a line and the pictures of all of them by digest::

    folder/
      rows.jsonl        {"schema_version", "id", "task_id", "web", "reward", "messages", "tools"}
      images/ab/…png

Only byte offsets, ids and task ids are held in memory: about 150 bytes a row. Rows come from episodes (`trainers.collect`), from
conversations of other projects (`trainers.conversations`) or from a Hugging Face dataset (`trainers.hub`). A row holds nothing of
the hidden half of a task; whether a chat is any good is not checked here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from wildenv.episode import IMAGES, Episode
from wildenv.errors import ConfigError, DataError
from wildenv.images import ImageStore
from wildenv.messages import Message, digests_of

SCHEMA_VERSION = 1
ROWS = "rows.jsonl"
ROLES = ("system", "user", "assistant", "tool")


@dataclass(frozen=True, slots=True)
class Row:
    """One chat to train on.

    Attributes:
        id: Unique within its source.
        task_id: Rows of one task never fall on both sides of a split.
        messages: The chat in canonical form (`wildenv.messages`).
        tools: JSON schemas of the tools, in OpenAI's form.
        web: Digest of the web it was played in; empty if unknown.
        reward: What the episode earned; None if unknown.
    """

    id: str
    task_id: str
    messages: list[Message]
    tools: list[dict[str, Any]] = field(default_factory=list)
    web: str = ""
    reward: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON values."""
        return {
            "schema_version": SCHEMA_VERSION,
            "id": self.id,
            "task_id": self.task_id,
            "web": self.web,
            "reward": self.reward,
            "messages": self.messages,
            "tools": self.tools,
        }

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Row:
        """Reads a row and checks its form.

        Raises:
            DataError: Saying what is wrong with it.
        """
        version = row.get("schema_version")
        if version != SCHEMA_VERSION:
            raise DataError(f"row of schema version {version!r}; this release reads {SCHEMA_VERSION}")
        for name, kind in (("id", str), ("task_id", str), ("messages", list), ("tools", list)):
            if not isinstance(row.get(name), kind):
                raise DataError(f"{name!r} is missing or not a {kind.__name__}")
        check_messages(row["messages"])
        return cls(row["id"], row["task_id"], row["messages"], row["tools"], row.get("web", ""), row.get("reward"))

    @classmethod
    def from_episode(cls, episode: Episode) -> Row:
        """Returns the row of an episode: its chat as the policy saw it, and nothing of its verdicts."""
        reward = episode.reward if episode.reward_valid else None
        return cls(f"{episode.task_id}#{episode.seed}", episode.task_id, episode.messages, episode.tools, episode.web, reward)


class Rows(Protocol):
    """Where training rows come from: random access, and nothing else in memory."""

    images: ImageStore

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Row: ...

    def task_ids(self) -> Sequence[str]:
        """Returns the task id of every row, in order."""
        ...


class RowFolder:
    """A row folder, read by byte offset.

    Args:
        folder: Holds ``rows.jsonl`` and ``images/``.

    Raises:
        ConfigError: If there are no rows in it.
        DataError: If a line is not a row; the message names the line.
    """

    def __init__(self, folder: str | Path) -> None:
        self.path = Path(folder) / ROWS
        self.images = ImageStore(Path(folder) / IMAGES)
        if not self.path.is_file():
            raise ConfigError(
                f"data.path={folder}: there is no {ROWS} in it; collect episodes first (python -m trainers.collect)"
            )
        self._offsets: list[int] = []
        self._task_ids: list[str] = []
        with self.path.open("rb") as lines:
            offset = 0
            for number, line in enumerate(lines, 1):
                if line.strip():
                    self._task_ids.append(self._read(line, number).task_id)
                    self._offsets.append(offset)
                offset += len(line)
        if not self._offsets:
            raise ConfigError(f"data.path={folder}: {ROWS} holds no row")

    def __len__(self) -> int:
        return len(self._offsets)

    def __getitem__(self, index: int) -> Row:
        with self.path.open("rb") as lines:
            lines.seek(self._offsets[index])
            return self._read(lines.readline(), index + 1)

    def task_ids(self) -> Sequence[str]:
        """Returns the task id of every row, in order."""
        return self._task_ids

    def _read(self, line: bytes, number: int) -> Row:
        try:
            return Row.from_dict(json.loads(line))
        except (ValueError, DataError) as error:
            raise DataError(f"{self.path}, row {number}: {error}") from error


class RowWriter:
    """Writes a row folder anew, one row at a time; the file appears under its name only once it is whole.

    Args:
        folder: Created if missing; pictures already in it stay.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.images = ImageStore(self.folder / IMAGES)
        self.count = 0

    def __enter__(self) -> RowWriter:
        self._part = self.folder / f".{ROWS}.part"
        self._lines = self._part.open("w", encoding="utf-8")
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._lines.close()
        if kind is None:
            self._part.replace(self.folder / ROWS)
        else:
            self._part.unlink()

    def write(self, row: Row) -> None:
        """Writes a row, whose pictures must be in `images` already.

        Raises:
            DataError: If the row's form is wrong or a picture is missing.
        """
        check_messages(row.messages)
        for digest in digests_of(row.messages):
            if digest not in self.images:
                raise DataError(f"row {row.id}: picture {digest[:12]} is not under {self.folder / IMAGES}")
        self._lines.write(json.dumps(row.to_dict(), ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n")
        self.count += 1


def check_messages(messages: Sequence[Any]) -> None:
    """Checks that a chat has the canonical form and something to learn from.

    Raises:
        DataError: Naming the message and what is wrong with it.
    """
    for number, message in enumerate(messages):
        where = f"message {number}"
        if not isinstance(message, Mapping) or message.get("role") not in ROLES:
            raise DataError(f"{where} has no role among {', '.join(ROLES)}")
        blocks = message.get("content")
        if not isinstance(blocks, list):
            raise DataError(f"{where}: 'content' is not a list of blocks")
        for block in blocks:
            known = isinstance(block, Mapping) and (
                (block.get("type") == "text" and isinstance(block.get("text"), str))
                or (block.get("type") == "image" and isinstance(block.get("digest"), str))
            )
            if not known:
                raise DataError(f"{where} has a block that is neither a text nor a picture with a digest")
        calls = message.get("tool_calls", [])
        if not isinstance(calls, list) or (calls and message["role"] != "assistant"):
            raise DataError(f"{where}: 'tool_calls' is not a list, or not the assistant's")
        for call in calls:
            function = call.get("function") if isinstance(call, Mapping) else None
            if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
                raise DataError(f"{where} has a tool call without a name")
            if not isinstance(function.get("arguments"), Mapping):
                raise DataError(f"{where}: the arguments of {function['name']} are not an object")
        if message["role"] == "assistant" and not blocks and not calls:
            raise DataError(f"{where} is an empty assistant turn")
    if not any(message["role"] == "assistant" for message in messages):
        raise DataError("there is no assistant turn to learn from")


def split(rows: Rows, share: float) -> tuple[list[int], list[int]]:
    """Sets rows aside for validation, whole tasks at a time, the same ones whatever their order.

    Args:
        rows: All rows.
        share: Part of the tasks to set aside; above 0 at least one task is.

    Returns:
        Indices of the training rows and of the validation rows.

    Raises:
        ConfigError: If `share` is not in 0..1 (1 excluded), or nothing is left to train on.
    """
    if not 0 <= share < 1:
        raise ConfigError(f"data.validation_share={share} is not in [0, 1)")
    ids = rows.task_ids()
    ranked = sorted(set(ids), key=lambda task_id: hashlib.sha256(task_id.encode()).hexdigest())
    count = max(1, round(share * len(ranked))) if share else 0
    if count >= len(ranked):
        raise ConfigError(
            f"data.validation_share={share} sets all {len(ranked)} tasks aside; lower it or add data (collect.limit, data.path)"
        )
    held = set(ranked[:count])
    train = [i for i, task_id in enumerate(ids) if task_id not in held]
    return train, [i for i, task_id in enumerate(ids) if task_id in held]
