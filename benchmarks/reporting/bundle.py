"""The files of a report: Markdown, CSV, figures, and the page.

Of earlier reports in the same folder, tables, figures and pictures are removed; other files are left alone.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks.reporting.contents import tables_of
from benchmarks.reporting.figures import Picture, draw_figures
from benchmarks.reporting.page import page_html
from benchmarks.reporting.record import Record, row_of
from benchmarks.reporting.run import AUTO, Run
from benchmarks.reporting.scores import bucket_names
from benchmarks.reporting.table import Table
from benchmarks.reporting.thumbnails import Sizes, Thumbnails, total
from benchmarks.savanna.tables import MINIWEB_NOTE
from wildenv.errors import ConfigError
from wildenv.folders import make_folder

PAGE = "index.html"
MARKDOWN = "report.md"
_PLACES = (AUTO, "inside", "beside", "none")
_OURS = ("tables/*.csv", "figures/*.png", "pictures/*.webp")


@dataclass(frozen=True, slots=True)
class Bundle:
    """What was written.

    Attributes:
        page: The HTML page.
        markdown: The tables.
        page_bytes: Size of the page.
        pictures: How many pictures it shows.
        missing: How many of them are not in their folders, or damaged.
        beside: Whether they lie beside the page.
    """

    page: Path
    markdown: Path
    page_bytes: int
    pictures: int
    missing: int
    beside: bool


def write_report(runs: Sequence[Run], folder: Path, settings: Mapping[str, Any], progress: bool = True) -> Bundle:
    """Writes the report of one or two runs.

    Args:
        runs: The runs.
        folder: Where to; created if missing.
        settings: ``conf/report.yaml`` as plain values.
        progress: Whether to show progress bars.

    Raises:
        ConfigError: Naming the setting that is wrong.
    """
    _check(settings)
    sizes = Sizes(settings["thumb_px"], settings["large_px"], settings["thumbs_per_episode"])
    make_folder(folder, "out")
    for pattern in _OURS:
        for old in folder.glob(pattern):
            old.unlink()
    title = title_of(runs)
    note = MINIWEB_NOTE if any(run.miniweb for run in runs) else None
    tables = tables_of(runs, settings["seed"], settings["timings"])
    figures = draw_figures(runs, folder / "figures", settings["seed"], note)
    told = " ".join([*([note] if note else []), *(run.extent for run in runs if run.unfinished)]) or None
    _write_tables(folder, title, told, tables, figures)
    thumbnails = Thumbnails(sizes)
    rows, details = _episodes(runs, thumbnails, settings, progress)
    encoded = [] if settings["pictures"] == "none" else thumbnails.encode(progress)
    fits = total(encoded) <= settings["inside_mb"] * 1_000_000
    beside = settings["pictures"] == "beside" or (settings["pictures"] == AUTO and not fits)
    if beside:
        (folder / "pictures").mkdir(exist_ok=True)
        for number, data in enumerate(encoded):
            if data:
                (folder / "pictures" / f"{number:06d}.webp").write_bytes(data)
    index = {
        "title": title,
        "note": told,
        "runs": [{"label": run.label} for run in runs],
        "buckets": bucket_names(),
        "episodes": rows,
        "tables": [table.page() for table in tables],
        "figures": [{"title": one.title, "text": one.text, "data": _data_url(one.path)} for one in figures],
        "pictures": {"beside": beside, "none": settings["pictures"] == "none"},
    }
    page = folder / PAGE
    page.write_text(page_html(title, index, details, None if beside else encoded), encoding="utf-8", newline="\n")
    return Bundle(page, folder / MARKDOWN, page.stat().st_size, len(encoded), thumbnails.missing, beside)


def title_of(runs: Sequence[Run]) -> str:
    """Returns what a report is called: who played what."""
    names = " and ".join(run.label for run in runs)
    tasks = " and ".join(dict.fromkeys(run.tasks for run in runs if run.tasks))
    return f"{names} on {tasks}" if tasks else names


def _episodes(
    runs: Sequence[Run], thumbnails: Thumbnails, settings: Mapping[str, Any], progress: bool
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    rows: list[dict[str, Any]] = []
    details: list[dict[str, Any]] = []
    keys = Counter[str]()
    for number, run in enumerate(runs):
        record = Record(run, thumbnails, settings["text_chars"], settings["timings"])
        pairs = zip(run.facts, run.episodes, strict=True)
        for facts, episode in tqdm(pairs, f"page of {run.label}", len(run.facts), unit="ep", disable=not progress):
            keys[facts.task_id] += 1
            # The first episode of a task has the plain address.
            again = keys[facts.task_id]
            key = facts.task_id if again == 1 else f"{facts.task_id}~{again}"
            target = run.known.target(facts.task_id)
            rows.append(row_of(facts, episode, number, key, target, record.thumb(episode)))
            details.append(record.details(episode, facts))
    return rows, details


def _write_tables(folder: Path, title: str, note: str | None, tables: Sequence[Table], figures: Sequence[Picture]) -> None:
    (folder / "tables").mkdir(exist_ok=True)
    parts = [f"# {title}\n", *([f"**{note}**\n"] if note else [])]
    for table in tables:
        parts.append(table.markdown())
        (folder / "tables" / f"{table.name}.csv").write_text(table.csv(), "utf-8", "replace", "\n")
    parts.extend(f"## {one.title}\n\n![{one.text}](figures/{one.path.name})\n" for one in figures)
    (folder / MARKDOWN).write_text("\n".join(parts), "utf-8", "replace", "\n")


def _data_url(path: Path) -> str:
    return f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}"


def _check(settings: Mapping[str, Any]) -> None:
    if settings["pictures"] not in _PLACES:
        raise ConfigError(f"pictures={settings['pictures']!r} is not one of {', '.join(_PLACES)}")
    for name, least in (("text_chars", 200), ("inside_mb", 0), ("seed", 0)):
        value = settings[name]
        if not isinstance(value, int | float) or isinstance(value, bool) or value < least:
            raise ConfigError(f"{name}={value!r} must be a number of at least {least}")
