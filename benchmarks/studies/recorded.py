"""The cutoff study on recorded webs: one pack a condition and repetition, and labels of what shows a target.

Queries are lines of ``{"task_id", "query", "issued"}``; labels are lines of ``{"task_id", "digests": [...], "urls": [...]}``,
where a digest is that of the picture as `wildenv.images` stores it. Every target needs a label line; two empty lists say that
nothing shows it. Labels are taken as they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.studies.hit_rate import CONDITIONS, Condition, Query
from wildenv.errors import ConfigError, DataError, ToolError
from wildenv.files import read_text
from wildenv.images import digest_of, encode
from wildenv.registration import make_web
from wildenv.strict_json import loads
from wildenv.web.client import WebClient
from wildenv.web.results import ImageHit


@dataclass(frozen=True, slots=True)
class Label:
    """What shows a target: digests of pictures and their addresses."""

    digests: frozenset[str]
    urls: frozenset[str]


def read_queries(path: str | Path) -> list[Query]:
    """Reads the targets.

    Raises:
        ConfigError: If the file is missing or empty.
        DataError: If a line is no query, or a target is there twice; the message names the line.
    """
    queries: list[Query] = []
    for where, row in _lines(path, "queries", ("task_id", "query", "issued")):
        try:
            queries.append(Query(row["task_id"], row["query"].strip(), date.fromisoformat(row["issued"])))
        except (AttributeError, TypeError, ValueError) as error:
            raise DataError(f"{where}: 'query' is a text and 'issued' an ISO date ({error})") from error
        if not queries[-1].text:
            raise DataError(f"{where}: the query is empty")
        if any(query.task_id == queries[-1].task_id for query in queries[:-1]):
            raise DataError(f"{where}: target {queries[-1].task_id!r} is there twice; its query is fixed")
    return queries


def read_labels(path: str | Path, queries: Sequence[Query]) -> dict[str, Label]:
    """Reads what shows each target.

    Raises:
        ConfigError: If the file is missing or empty.
        DataError: If a line is no label, or a target has none or two.
    """
    labels: dict[str, Label] = {}
    for where, row in _lines(path, "labels", ("task_id", "digests", "urls")):
        for name in ("digests", "urls"):
            if not isinstance(row[name], list) or not all(isinstance(one, str) for one in row[name]):
                raise DataError(f"{where}: {name!r} is a list of texts")
        if row["task_id"] in labels:
            raise DataError(f"{where}: target {row['task_id']!r} has a label already")
        labels[row["task_id"]] = Label(frozenset(row["digests"]), frozenset(row["urls"]))
    lost = [query.task_id for query in queries if query.task_id not in labels]
    if lost:
        raise DataError(
            f"labels={path}: {len(lost)} targets have no line, the first {lost[0]!r}; two empty lists mean nothing shows it"
        )
    return labels


def write_requests(queries: Sequence[Query], folder: str | Path, k: int) -> list[Path]:
    """Writes, for each condition, what ``wildenv record --requests`` is to ask on its day; returns the files."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for condition in CONDITIONS:
        rows = []
        for query in queries:
            cutoff = condition.cutoff(query.issued)
            row = {"tool": "image_search", "query": query.text, "cutoff": None if cutoff is None else cutoff.isoformat(), "k": k}
            rows.append(json.dumps(row, ensure_ascii=False) + "\n")
        files.append(folder / f"{condition.name}.jsonl")
        files[-1].write_text("".join(rows), encoding="utf-8")
    return files


class RecordedWebs:
    """Whom a study on packs asks, and what it takes for a hit.

    Args:
        packs: By the letter of the condition: a pack or store, or a list of them, one a repetition.
        labels: By task id.
        undated: What the cutoff does with undated results.

    Raises:
        ConfigError: If a condition has no pack, or a letter is none.
    """

    def __init__(self, packs: Mapping[str, Any], labels: Mapping[str, Label], undated: str) -> None:
        letters = [condition.name for condition in CONDITIONS]
        named = sorted(map(str, packs)) if isinstance(packs, Mapping) else packs
        if named != letters:
            raise ConfigError(f"packs has {named!r}; it needs a pack, or a list of them, for each of {letters}")
        self._labels = labels
        self._clients: dict[str, list[WebClient]] = {}
        for name, given in packs.items():
            paths = [given] if isinstance(given, str) else given or []
            if not isinstance(paths, list) or not all(isinstance(one, str) for one in paths):
                raise ConfigError(f"packs.{name}={given!r} must be a pack, or a list of packs, one for each repetition")
            if not paths:
                raise ConfigError(f"packs.{name} is empty; name a pack, or one for each repetition")
            self._clients[name] = [make_web({"mode": "replay", "store": path}, undated=undated) for path in paths]

    def repetitions(self, condition: Condition) -> int:
        """How many packs a condition has."""
        return len(self._clients[condition.name])

    def web(self, condition: Condition, query: Query, repetition: int) -> WebClient:
        """Returns the pack of a condition and repetition."""
        return self._clients[condition.name][repetition]

    def shows(self, query: Query, hit: ImageHit, client: WebClient) -> bool:
        """Whether a result is labelled as showing the target; a picture that could not be had shows nothing."""
        label = self._labels[query.task_id]
        if hit.url in label.urls:
            return True
        if not label.digests:
            return False
        try:
            return digest_of(encode(client.fetch_image(hit.url))) in label.digests
        except ToolError:
            return False


def _lines(path: str | Path, setting: str, needed: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    path = Path(path)
    if not path.is_file():
        raise ConfigError(f"{setting}={path}: no such file")
    count = 0
    # A text may hold line breaks of Unicode; only this one ends a line of JSON.
    for number, line in enumerate(read_text(path, setting).split("\n"), 1):
        if not line.strip():
            continue
        where = f"{path.name}, line {number}"
        try:
            row = loads(line)
        except ValueError as error:
            raise DataError(f"{where}: {error}") from error
        if not isinstance(row, dict) or any(name not in row for name in needed):
            raise DataError(f"{where}: a line has {', '.join(needed)}")
        if isinstance(row["task_id"], bool) or not isinstance(row["task_id"], str | int):
            raise DataError(f"{where}: 'task_id' is {str(row['task_id'])[:60]}, neither a text nor a whole number")
        row["task_id"] = str(row["task_id"])
        count += 1
        yield where, row
    if not count:
        raise ConfigError(f"{setting}={path}: there is nothing in it")
