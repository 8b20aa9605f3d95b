"""The versioned record of one episode, and the folder episodes are kept in.

An episode is one JSON line; its pictures lie beside it, by digest::

    folder/
      episodes.jsonl
      images/ab/abcdef….png

Everything downstream (training rows, reports, exports) reads episodes and nothing else. `Episode.digest` covers all that a
replay must reproduce and leaves out `timings`, which no replay can. Hidden task fields are not recorded, but verdicts may name
them: show verdicts to people, not to agents.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from wildenv.episode_form import check_form
from wildenv.errors import ConfigError, DataError
from wildenv.folders import make_folder
from wildenv.images import ImageRecord, ImageStore
from wildenv.messages import Message, digests_of
from wildenv.strict_json import loads

SCHEMA_VERSION = 2
_READ = (1, 2)
"""Version 1 had no `drawn`."""

ROWS = "episodes.jsonl"
IMAGES = "images"

EndReason = Literal["answered", "budget", "turns", "context", "deadline", "web", "tool", "judge", "policy", "worker"]
"""How an episode ended: an answer; the tool budget, the turn limit or the context limit ran out; the wall clock ran out;
the web, a tool, a judge or the policy itself failed; the process that played it died again and again."""

MODEL_USAGE: Mapping[str, str] = {
    f"model_{name}": name for name in ("calls", "prompt_tokens", "completion_tokens", "unmetered", "cost")
}
"""What a policy tells of its model, by its name in the usage of an episode; see `wildenv.policy.Policy`."""

INFRASTRUCTURE: frozenset[str] = frozenset({"deadline", "web", "tool", "judge", "policy", "worker"})
"""End reasons that are not the agent's doing: such an episode is not scored and is rolled again on resume."""


@dataclass(slots=True)
class Episode:
    """One episode.

    Attributes:
        task: The public half of the task.
        web: Digest of the recorded web it was played in.
        seed: Seed of the reset.
        policy: Name of the policy.
        tools: JSON schemas of the tools, as the policy saw them.
        messages: The chat in canonical form (`wildenv.messages`).
        images: Every picture shown, `ImageRecord.to_dict`, in order of appearance.
        steps: One row a tool call or unreadable turn: call id, name, whether it worked, the error, notes on what was left out.
        decisions: Every cutoff decision, with the call it belongs to.
        answer: Refined prompt and references, or None.
        verdicts: `Verdict.to_dict`, in the order they were given.
        rewards: Components by name; None is unscored.
        drawn: The picture a generator made of the answer (`Drawn.to_dict`), or None.
        reward: The number `step` returned.
        reward_valid: Whether that number may be trained on.
        end_reason: How it ended.
        failure: What failed, when `end_reason` is an infrastructure failure.
        usage: Counts: tool calls, turns, pictures, pixels, characters, estimated tokens; and those of `MODEL_USAGE` that the
            policy tells, which cannot be had by playing its messages again.
        timings: Seconds of each step; outside the digest.
    """

    task: dict[str, Any]
    web: str
    seed: int
    policy: str
    tools: list[dict[str, Any]]
    messages: list[Message]
    images: list[dict[str, Any]] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)
    decisions: list[dict[str, Any]] = field(default_factory=list)
    answer: dict[str, Any] | None = None
    verdicts: list[dict[str, Any]] = field(default_factory=list)
    rewards: dict[str, float | None] = field(default_factory=dict)
    drawn: dict[str, Any] | None = None
    reward: float = 0.0
    reward_valid: bool = True
    end_reason: EndReason = "answered"
    failure: str | None = None
    usage: Mapping[str, float] = field(default_factory=dict)
    timings: list[float] = field(default_factory=list)
    schema_version: int = SCHEMA_VERSION

    @property
    def task_id(self) -> str:
        """Id of the task."""
        return str(self.task["id"])

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON values; the lists are the episode's own."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def digest(self) -> str:
        """Returns the sha256 of all that a replay must reproduce, as 64 hex digits."""
        row = self.to_dict()
        del row["timings"]
        return hashlib.sha256(_canonical(row)).hexdigest()

    def judged_pictures(self) -> list[str]:
        """Returns the digests of what judges looked at besides the pictures shown: what was drawn, and the ground truth."""
        truth = [digest for verdict in self.verdicts for digest in verdict["evidence"].get("ground_truth", [])]
        return list(dict.fromkeys([*([] if self.drawn is None else [self.drawn["digest"]]), *truth]))

    def pictures(self) -> list[str]:
        """Returns the digests of all pictures a record needs beside it: shown, before the pixel policy, and judged."""
        shown = [ImageRecord.from_dict(row) for row in self.images]
        digests = [digest for image in shown for digest in (image.digest, image.source)]
        return list(dict.fromkeys([*digests, *self.judged_pictures()]))

    def without_model_usage(self) -> Episode:
        """Returns a copy without `MODEL_USAGE`: what playing its messages again gives."""
        return replace(self, usage={name: count for name, count in self.usage.items() if name not in MODEL_USAGE})

    def failed(self, reason: EndReason, failure: str) -> Episode:
        """Returns a copy that ended as a failure; another thread may still be adding to the episode itself."""
        # Messages before images, so that every picture of a copied message is among the copied images.
        messages, images, count = list(self.messages), list(self.images), min(len(self.steps), len(self.timings))
        return replace(
            self,
            messages=messages,
            images=images,
            steps=self.steps[:count],
            timings=self.timings[:count],
            decisions=list(self.decisions),
            verdicts=[],
            rewards={},
            drawn=None,
            reward=0.0,
            reward_valid=False,
            end_reason=reason,
            failure=failure,
        )

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Episode:
        """Reads an episode and validates it.

        Raises:
            DataError: If the version is not ours, a field is missing or unknown, or the chat does not hold together.
        """
        if not isinstance(row, Mapping):
            raise DataError(f"an episode is an object, not {type(row).__name__}")
        version = row.get("schema_version")
        if version not in _READ:
            raise DataError(f"episode of schema version {version!r}; this release reads {' and '.join(map(str, _READ))}")
        known = {f.name for f in fields(cls)}
        required = {"task", "web", "seed", "policy", "tools", "messages", "end_reason"}
        unknown, missing = sorted(set(row) - known), sorted(required - set(row))
        if unknown or missing:
            raise DataError(f"episode with unknown fields {unknown} and missing fields {missing}")
        episode = cls(**{**row, "schema_version": SCHEMA_VERSION})
        episode.validate()
        return episode

    def validate(self) -> None:
        """Checks that readers can read every row, and that the parts agree.

        Raises:
            DataError: Naming the first part that is damaged or does not agree.
        """
        check_form(self.to_dict())
        name = f"episode of {self.task_id!r}"
        if self.end_reason not in get_args(EndReason):
            raise DataError(f"{name}: end reason {self.end_reason!r} is none of {get_args(EndReason)}")
        if (self.end_reason in INFRASTRUCTURE) != (self.failure is not None):
            raise DataError(f"{name}: 'failure' goes with the end reasons {sorted(INFRASTRUCTURE)}, and only with them")
        if len(self.steps) != len(self.timings):
            raise DataError(f"{name}: {len(self.steps)} steps and {len(self.timings)} timings")
        if not math.isfinite(self.reward):
            raise DataError(f"{name}: the reward {self.reward} is not finite")
        shown = {row["digest"] for row in self.images}
        strange = [digest for digest in digests_of(self.messages) if digest not in shown]
        if strange:
            raise DataError(f"{name}: the chat shows picture {strange[0][:12]}, which 'images' does not list")
        open_calls: list[str] = []
        for number, message in enumerate(self.messages):
            role = message.get("role")
            if role == "assistant":
                open_calls = [call["id"] for call in message.get("tool_calls", [])]
            elif role == "tool":
                if message["tool_call_id"] not in open_calls:
                    raise DataError(f"{name}: message {number} replies to {message['tool_call_id']!r}, which was not called")
                open_calls.remove(message["tool_call_id"])
            elif role not in ("system", "user"):
                raise DataError(f"{name}: message {number} has role {role!r}")
        if self.answer is not None:
            ids = {row["id"] for row in self.images}
            lost = [ref for ref in self.answer["references"] if ref not in ids]
            if lost:
                raise DataError(f"{name}: the answer names {lost[0]!r}, which was never shown")


class EpisodeWriter:
    """Appends episodes to a folder; each append is one flushed line, so a killed process loses at most the line being written.

    Args:
        folder: Created if missing.

    Raises:
        ConfigError: If the folder cannot be made or written.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        make_folder(self.folder, "folder")
        self.images = ImageStore(self.folder / IMAGES)
        self._rows = self.folder / ROWS
        _drop_torn_line(self._rows)

    def append(self, episode: Episode, store: ImageStore) -> None:
        """Writes an episode and the pictures it needs from `store`.

        Raises:
            ConfigError: If the folder cannot be written, for example because the disk is full; earlier episodes stay readable.
        """
        episode.validate()
        try:
            for digest in episode.pictures():
                self._copy(digest, store)
            with self._rows.open("ab") as rows:
                rows.write(_canonical(episode.to_dict()) + b"\n")
                rows.flush()
                os.fsync(rows.fileno())
        except OSError as error:
            # A later episode must not be glued to the part of a line that did fit.
            _drop_torn_line(self._rows)
            reason = f"cannot be written ({error.strerror or error})"
            raise ConfigError(
                f"folder={self.folder} {reason}; make room or name another folder, and run again to go on"
            ) from error

    def _copy(self, digest: str, store: ImageStore) -> None:
        if digest not in self.images:
            self.images.put_png(store.png(digest))


def read_episodes(folder: str | Path) -> Iterator[Episode]:
    """Reads the episodes of a folder one by one; a task that was rolled again appears once for each time.

    Raises:
        DataError: If the folder holds no episodes or a line is damaged; the message names the line. A last line without its
            line break, as a killed writer leaves it, is not an episode and is passed over.
    """
    for _, episode in _lines(Path(folder) / ROWS):
        yield episode


class LatestEpisodes:
    """The last record of each task and seed of a folder, in the order of task ids and seeds whatever order they ended in.

    Holds places in the file, not episodes: iterating reads them one by one.

    Args:
        folder: The folder.

    Raises:
        DataError: As `read_episodes`.
    """

    def __init__(self, folder: str | Path) -> None:
        self._path = Path(folder) / ROWS
        self._places = {(episode.task_id, episode.seed): place for place, episode in _lines(self._path)}

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Episode]:
        with self._path.open("rb") as rows:
            for key in sorted(self._places):
                rows.seek(self._places[key])
                yield Episode.from_dict(json.loads(rows.readline()))


def _lines(path: Path) -> Iterator[tuple[int, Episode]]:
    if not path.is_file():
        raise DataError(f"{path}: no episodes there; collect some or name another folder")
    place = 0
    with path.open("rb") as rows:
        for number, line in enumerate(rows, 1):
            if not line.endswith(b"\n"):
                return
            try:
                yield place, Episode.from_dict(loads(line))
            except (ValueError, DataError, TypeError, KeyError, AttributeError) as error:
                raise DataError(f"{path.name}, line {number}: {error}") from error
            place += len(line)


def _canonical(row: dict[str, Any]) -> bytes:
    written = json.dumps(row, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # Titles and addresses come from anywhere, and half a surrogate pair has no place in UTF-8.
    return written.encode("utf-8", "replace")


def _drop_torn_line(path: Path) -> None:
    if not path.exists():
        return
    with path.open("rb+") as rows:
        size = rows.seek(0, os.SEEK_END)
        keep = size
        while keep:
            step = min(keep, 65_536)
            rows.seek(keep - step)
            found = rows.read(step).rfind(b"\n")
            if found >= 0:
                keep = keep - step + found + 1
                break
            keep -= step
        if keep != size:
            rows.truncate(keep)
