"""Scores rows of another benchmark: ``python -m benchmarks.score_rows metric=knowgen rows=results.json``.

Prints every figure by the official rule and by the strict one side by side, and writes the same as CSV. It judges nothing: rows
hold what judges said, in the form that ``benchmarks/metrics/METRIC.py`` describes.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import hydra
from omegaconf import DictConfig
from rich.console import Console
from rich.table import Table

from agents.runs import Config, freeze, plain, plain_errors, run_dir
from benchmarks.metrics import bizgeneval, genevolve, igenbench, knowgen, mind_bench, wise_legacy, wise_verified
from benchmarks.metrics.outcome import HEADINGS, Outcome
from benchmarks.spreadsheet import guarded
from wildenv.errors import ConfigError, DataError

Rows = list[dict[str, Any]]

METRICS: Mapping[str, Callable[[Rows, Config], Outcome]] = {
    "bizgeneval": lambda rows, _: bizgeneval.score(rows),
    "genevolve": lambda rows, _: genevolve.score(rows),
    "igenbench": lambda rows, config: igenbench.score(rows, (_needed(config, "generator"), _needed(config, "judge"))),
    "knowgen": lambda rows, _: knowgen.score(rows),
    "mind_bench": lambda rows, config: mind_bench.score(rows, read_rows(_needed(config, "images"), "images")),
    "wise_legacy": lambda rows, _: wise_legacy.score(rows),
    "wise_verified": lambda rows, _: wise_verified.score(rows),
}


@hydra.main(version_base="1.3", config_path="../conf", config_name="score_rows")
def main(composed: DictConfig) -> None:
    """Composes the settings, scores and prints."""
    with plain_errors():
        config = plain(composed)
        outcome = score_rows(config)
        freeze(config, run_dir())
        out = Path(config["out"] or run_dir() / "scores.csv")
        write(outcome, out)
        console = Console()
        console.print(table_of(outcome))
        for note in outcome.notes:
            console.print(note, markup=False)
        console.print(f"figures: {out}", markup=False, soft_wrap=True)


def score_rows(config: Config) -> Outcome:
    """Scores the rows of a file.

    Args:
        config: ``conf/score_rows.yaml`` as plain values.

    Raises:
        ConfigError: Naming the setting that is wrong.
        DataError: If the rows are not in the metric's form, or the official program stops on them.
    """
    metric = config["metric"]
    if metric not in METRICS:
        raise ConfigError(f"metric={metric!r} is not one of {', '.join(METRICS)}")
    rows = read_rows(config["rows"], "rows")
    try:
        return METRICS[metric](rows, config)
    except KeyError as error:
        raise DataError(f"rows={config['rows']}: a row has no {error}; benchmarks/metrics/{metric}.py says the form") from error
    except (TypeError, AttributeError, ValueError) as error:
        raise DataError(f"rows={config['rows']} are not of the form in benchmarks/metrics/{metric}.py: {error}") from error


def read_rows(path: str | Path, setting: str) -> Rows:
    """Reads a JSON array of objects, or one object a line.

    Raises:
        ConfigError: If the file cannot be read.
        DataError: If it holds something else, or nothing.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{setting}={path} cannot be read ({error}); name a JSON or JSON lines file") from error
    try:
        lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        rows = json.loads(text) if text.lstrip().startswith("[") else [_read(number, line) for number, line in lines]
    except ValueError as error:
        raise DataError(f"{setting}={path} is neither a JSON array nor JSON lines: {error}") from error
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise DataError(f"{setting}={path} must hold at least one row, and objects only")
    return list(rows)


def table_of(outcome: Outcome) -> Table:
    """Returns the figures, percent."""
    table = Table(title=f"{outcome.benchmark}, %")
    for name in HEADINGS:
        table.add_column(name, justify="left" if name == HEADINGS[0] else "right")
    for row in outcome.rows():
        table.add_row(*map(str, row))
    return table


def write(outcome: Outcome, path: Path) -> None:
    """Writes the figures as CSV, shares in 0..1 and in full.

    Raises:
        ConfigError: If the file cannot be written.
    """
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("benchmark", *HEADINGS))
            for one in outcome.figures:
                shares = ["" if value is None else repr(value) for value in (one.official, one.strict)]
                writer.writerow((outcome.benchmark, guarded(one.name), *shares, one.tasks, one.missing, one.unscored))
    except OSError as error:
        raise ConfigError(f"out={path} cannot be written ({error.strerror}); name another file") from error


def _read(number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise ValueError(f"line {number}: {error}") from error


def _needed(config: Config, name: str) -> str:
    if config[name] is None:
        raise ConfigError(f"{name} is not set; metric={config['metric']} needs it, see conf/score_rows.yaml")
    return str(config[name])


if __name__ == "__main__":
    main()
