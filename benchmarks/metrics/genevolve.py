"""GenEvolve-Bench: both official summaries, which disagree as soon as a picture needs no text.

From ``scripts/evaluate_images.py`` at 23c847c. A row is that of `benchmarks.metrics.kscore_rows` with ``eval_type``,
``category``, ``difficulty``, ``tier``, ``meta`` and ``image_status``, each of which may be absent, and ``path``: "absolute" if
the path of its picture is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.metrics.kscore_rows import (
    AXES,
    Row,
    Scored,
    component_means,
    official_records,
    read_json,
    strict_mean,
    strict_row,
)
from benchmarks.metrics.outcome import Figure, Outcome, check_unique

UNKNOWN = "unknown"
_VALUE = re.compile(r"\b(faithfulness|visual_correctness|text_accuracy|aesthetics|score)[\"']?\s*:\s*[\"']?([^\s,}\"']+)")
_NO_TEXT = re.compile(r"\btext_accuracy_na[\"']?\s*:\s*[\"']?(true|yes|1)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Official:
    """What the official program writes.

    Attributes:
        rows: The rows, in order.
        component_means: The summary rows of ``results_eval.json``: by ``eval_type:NAME`` and ``overall_avg``.
        sample_means: ``summary.json``.
    """

    rows: list[Scored]
    component_means: dict[str, dict[str, float]]
    sample_means: dict[str, Any]


def read_reply(text: str) -> dict[str, Any] | None:
    """Reads a reply as the official program does: as JSON or, if that fails, every score that can be found in the text."""
    found = read_json(text)
    if found is not None:
        return found
    values: dict[str, Any] = {}
    for name, value in _VALUE.findall(text):
        values.setdefault(name, value)
    if _NO_TEXT.search(text):
        values["text_accuracy_na"] = True
    return values or None


def usable(row: Row) -> bool:
    """Whether a row says that its picture was made."""
    if "ok" in row:
        return bool(row["ok"])
    return row.get("image_status") == "ok" or (row.get("path") == "absolute" and bool(row["generated"]))


def official(rows: Sequence[Row], total_cases: int | None = None) -> Official:
    """Aggregates as the official program does.

    Args:
        rows: In order.
        total_cases: The denominator of ``overall_missing_zero``; the number of rows if None.

    Raises:
        StoppedError: If a row is no object.
    """
    records = official_records(rows, usable, read_reply)
    kinds = _split(records, eval_type)
    components = {f"eval_type:{kind}": component_means(_scored(found)) for kind, found in kinds.items()}
    components["overall_avg"] = component_means(_scored(records))
    denominator = len(rows) if total_cases is None else total_cases
    samples: dict[str, Any] = {"total_cases": denominator, "all": _sample_means(records, denominator)}
    for name, split in (
        ("by_eval_type", eval_type),
        ("by_category", _field("category")),
        ("by_difficulty", _field("difficulty")),
    ):
        samples[name] = {key: _sample_means(found, len(found)) for key, found in _split(records, split).items()}
    unmade = [record for record in records if not usable(record.row)]
    failed = [record for record in records if usable(record.row) and record.state != "scored"]
    samples["missing_case_ids"] = [_case_id(record.row) for record in unmade]
    samples["failed_case_ids"] = [_case_id(record.row) for record in failed]
    return Official(records, components, samples)


def score(rows: Sequence[Row]) -> Outcome:
    """Returns official and strict figures; both official overall values are given.

    Args:
        rows: One a task of the benchmark, whatever became of it.

    Raises:
        DataError: If ids are missing or there twice.
    """
    found = official(rows)
    check_unique([row.get("id") for row in rows], "row")
    everything = found.sample_means["all"]
    whole = _figure("overall (component means)", found.component_means["overall_avg"]["overall"], rows)
    samples = Figure("overall (sample means)", everything["overall"], whole.strict, len(rows), whole.missing, whole.unscored)
    zero = Figure(
        "overall_missing_zero", everything["overall_missing_zero"], whole.strict, len(rows), whole.missing, whole.unscored
    )
    kinds: dict[str, list[Row]] = {}
    for row in rows:
        kinds.setdefault(eval_type(row), []).append(row)
    by_kind = (_figure(kind, found.component_means[f"eval_type:{kind}"]["overall"], kinds[kind]) for kind in sorted(kinds))
    notes = (
        "the two official overall values differ by design: one leaves pictures without text out of the text mean, one counts 0.5",
        "overall_missing_zero counts failed judge calls as zero, too; the strict value does not",
    )
    return Outcome("GenEvolve-Bench (K-Score)", (whole, samples, zero, *by_kind), notes)


def eval_type(row: Row) -> str:
    """Returns the evaluation type of a row."""
    return _first(_meta(row).get("eval_type"), row.get("eval_type"), row.get("tier"))


def _field(name: str) -> Callable[[Row], str]:
    return lambda row: _first(row.get(name), _meta(row).get(name))


def _case_id(row: Row) -> str:
    meta = _meta(row)
    return str(meta.get("case_id") or meta.get("source_id") or row.get("id"))


def _meta(row: Row) -> Mapping[str, Any]:
    meta = row.get("meta")
    return meta if isinstance(meta, Mapping) else {}


def _first(*names: Any) -> str:
    return str(next((name for name in names if name), UNKNOWN))


def _split(records: Sequence[Scored], name: Callable[[Row], str]) -> dict[str, list[Scored]]:
    found: dict[str, list[Scored]] = {}
    for record in records:
        found.setdefault(name(record.row), []).append(record)
    return dict(sorted(found.items()))


def _scored(records: Sequence[Scored]) -> list[Scored]:
    return [record for record in records if record.state == "scored"]


def _sample_means(records: Sequence[Scored], denominator: int) -> dict[str, float]:
    scored = _scored(records)
    count = len(scored)
    means = {axis: round(sum(one.scores[axis] for one in scored) / count, 4) if count else 0.0 for axis in AXES}
    overall = round(sum(one.overall for one in scored) / count, 4) if count else 0.0
    return {
        **means,
        "overall": overall,
        "count_eval_success": count,
        "denominator": denominator,
        "missing_or_failed": max(0, denominator - count),
        "overall_missing_zero": round(overall * count / denominator, 4) if denominator else 0.0,
    }


def _figure(name: str, number: float, rows: Sequence[Row]) -> Figure:
    read = [strict_row({**row, "ok": usable(row)} if "ok" not in row else row) for row in rows]
    missing, unscored = sum(one.missing for one in read), sum(one.axes is None for one in read)
    return Figure(name, number, strict_mean(read), len(rows), missing, unscored)
