"""Writes episodes as Gen-Searcher's stage A results and as input of its KnowGen judge.

Their format has no place for seeds, cutoff decisions, verdicts, rewards and the ids of calls, which stay behind; a picture is
shown in the size the agent saw it, a reference handed on in full. A message has one key of ours, ``image_ids``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from wildenv.adapters.gen_searcher.wording import termination, written
from wildenv.episode import Episode
from wildenv.errors import ConfigError, DataError
from wildenv.files import check_free, new_file
from wildenv.folders import make_folder
from wildenv.images import ImageRecord, ImageStore
from wildenv.messages import Message, storable

RESULTS = "results.json"
JUDGE_INPUT = "judge_input.json"
REFERENCES = "ref_images"
SHOWN = "images"
GENERATED = "gen_images"
TRUTH = "gt_images"

MAX_CHARS = 50_000
MAX_IMAGES = 10
MAX_PATH = 200
"""Their limits a message; they cut what is longer, which here is an error."""


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written.

    Attributes:
        results: The results file.
        rows: Its rows.
        references: Reference pictures copied.
        judge_input: The judge's input, None if no episode was drawn.
        unjudgeable: Ids in it without a ground-truth picture, which their judge passes over.
    """

    results: Path
    rows: int
    references: int
    judge_input: Path | None
    unjudgeable: tuple[str, ...]


def export_results(episodes: Iterable[Episode], store: ImageStore, folder: str | Path, force: bool = False) -> Exported:
    """Writes ``results.json`` with its pictures and, where pictures were drawn, ``judge_input.json``.

    Args:
        episodes: One a task.
        store: Where their pictures are.
        folder: Made if missing; pictures of the same names are replaced, other files left alone.
        force: Whether results and input that are there are replaced; they are there until all episodes are read.

    Raises:
        ConfigError: If a task is there twice, the folder holds results or cannot be written, or there is no episode.
        DataError: If a message is longer than their format takes, or a picture is missing.
    """
    folder = Path(folder)
    for name in (RESULTS, JUDGE_INPUT):
        check_free(folder / name, "--out", force)
    make_folder(folder, "--out")
    export = _Export(store, folder)
    rows: list[dict[str, Any]] = []
    inputs: list[dict[str, Any]] = []
    for episode in tqdm(episodes, desc="export gen-searcher", unit="episode", disable=None, leave=False):
        row = export.row(episode)
        rows.append(row)
        inputs.append(export.judge_row(episode, row))
    if not rows:
        raise ConfigError("there is no episode to export; name another folder of episodes or another --seed")
    _write(folder / RESULTS, rows, force)
    drawn = any(row["success"] for row in inputs)
    if drawn:
        _write(folder / JUDGE_INPUT, inputs, force)
    else:
        # One that is there is of the results that were replaced.
        (folder / JUDGE_INPUT).unlink(missing_ok=True)
    unjudgeable = tuple(str(row["id"]) for row in inputs if row["success"] and not row["gt_image"])
    references = sum(len(row["reference_images"]) for row in rows)
    return Exported(folder / RESULTS, len(rows), references, folder / JUDGE_INPUT if drawn else None, unjudgeable)


def note_of(record: ImageRecord) -> str:
    """Says what a reference is, which their answers do and ours do not: its title, and what it was cropped from."""
    cropped = "" if record.parent is None or record.box is None else f"part {list(record.box)} of {record.parent}"
    return "; ".join(filter(None, (record.title, cropped)))


class _Export:
    """One export: copies pictures and knows which names are taken."""

    def __init__(self, store: ImageStore, folder: Path) -> None:
        self._store = store
        self._folder = folder
        self._names: dict[str, str] = {}

    def row(self, episode: Episode) -> dict[str, Any]:
        """Returns the row of an episode, its pictures copied."""
        name = self._name(episode)
        records = {row["id"]: ImageRecord.from_dict(row) for row in episode.images}
        answer = episode.answer or {"prompt": "", "references": []}
        return {
            "id": source_id(episode),
            "prompt": episode.task["prompt"],
            "meta": meta_of(episode),
            "termination": termination(episode.end_reason, episode.answer is not None),
            "trajectory_messages": [self._message(episode, number, message) for number, message in enumerate(episode.messages)],
            "gen_prompt": answer["prompt"],
            "reference_images": [self._reference(name, records[one]) for one in answer["references"]],
            "gt_image": self._truth(episode, name),
        }

    def judge_row(self, episode: Episode, row: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the judge's row of an episode: its drawn picture, or ``success: false``."""
        base = {name: row[name] for name in ("id", "prompt", "gen_prompt", "meta", "gt_image")}
        if episode.drawn is None:
            return {**base, "output_path": "", "success": False, "error": episode.failure or f"ended: {episode.end_reason}"}
        path = self._copy(episode.drawn["digest"], f"{GENERATED}/{self._name(episode)}.png")
        return {**base, "output_path": path, "success": True}

    def _message(self, episode: Episode, number: int, message: Message) -> dict[str, Any]:
        role, content = written(message)
        blocks = [block for block in message["content"] if block["type"] == "image"]
        where = f"episode of {episode.task_id!r}: trajectory_messages[{number}]"
        if len(content) > MAX_CHARS:
            raise DataError(f"{where}.content has {len(content)} characters, their format takes {MAX_CHARS}")
        if len(blocks) > MAX_IMAGES:
            raise DataError(f"{where}.images has {len(blocks)} pictures, their format takes {MAX_IMAGES}")
        paths = [self._copy(one["digest"], f"{SHOWN}/{one['digest'][:2]}/{one['digest']}.png") for one in blocks]
        ids = {"image_ids": [block["id"] for block in blocks]} if blocks else {}
        return {"role": role, "content": content, "images": paths, **ids}

    def _reference(self, name: str, record: ImageRecord) -> dict[str, str]:
        path = self._copy(record.source, f"{REFERENCES}/{name}_{record.id}.png")
        return {"img_id": record.id, "note": note_of(record), "local_path": path, "url": record.url, "title": record.title}

    def _truth(self, episode: Episode, name: str) -> str:
        truth = [digest for verdict in episode.verdicts for digest in verdict["evidence"].get("ground_truth", [])]
        # Theirs has one picture; ours may have several, of which judges saw this one first.
        return self._copy(truth[0], f"{TRUTH}/{name}.png") if truth else ""

    def _name(self, episode: Episode) -> str:
        """Returns the id as their file names have it; two ids must not share one."""
        source = str(source_id(episode))
        name = re.sub(r"[^\w.-]", "_", source)
        owner = f"{episode.task_id}:{episode.seed}"
        if self._names.setdefault(name, owner) != owner:
            raise ConfigError(
                f"task {source!r} is there twice (as {self._names[name]} and {owner}), and their rows are kept by id; export the "
                "episodes of one seed with --seed"
            )
        return name

    def _copy(self, digest: str, path: str) -> str:
        if len(path) > MAX_PATH:
            raise DataError(
                f"the path {path[:60]}... has {len(path)} characters, their format takes {MAX_PATH}; shorten the task's id"
            )
        target, png = self._folder / path, self._store.png(digest)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(png)
        except OSError as error:
            raise ConfigError(
                f"--out {target} cannot be written ({error.strerror or error}); make room or name another folder"
            ) from error
        return path


def source_id(episode: Episode) -> Any:
    """Returns the id a task had where it came from; its own if it is ours."""
    return episode.task["meta"].get("source_id", episode.task_id)


def meta_of(episode: Episode) -> dict[str, Any]:
    """Returns ``meta``: category and difficulty, and what else their judge does not read."""
    meta = episode.task["meta"]
    category = meta.get("category") or episode.task["subcategory"] or episode.task["domain"]
    difficulty = {"difficulty": meta["difficulty"]} if "difficulty" in meta else {}
    return {"category": category, **difficulty, "task_id": episode.task_id, "issued": episode.task["issued"]}


def _write(path: Path, rows: list[dict[str, Any]], force: bool) -> None:
    with new_file(path, "--out", force) as part:
        written = json.dumps(rows, indent=1, ensure_ascii=False, allow_nan=False)
        part.write_text(storable(written) + "\n", encoding="utf-8")
