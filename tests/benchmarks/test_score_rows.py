"""Rows of other benchmarks, scored from a file."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.metrics.outcome import StoppedError
from benchmarks.score_rows import METRICS, read_rows, score_rows, write
from tests.benchmarks.golden import load
from wildenv.errors import ConfigError, DataError

ROOT = Path(__file__).resolve().parents[2]


def _row(number: int, category: str, *grades: float, **more: Any) -> dict[str, Any]:
    axes = ("faithfulness", "visual_correctness", "text_accuracy", "aesthetics")
    reply = dict(zip(axes, grades, strict=True)) if grades else None
    made = {"id": f"r{number}", "category": category, "ok": True, "generated": True, "reference": True, "prompt": True}
    return {**made, "reply": reply, **more}


ROWS = [
    _row(1, "biology", 1, 1, 1, 1),
    _row(2, "biology", ok=False, generated=False),
    _row(3, "news", 1, 0.5, 0.5, 1),
    _row(4, "news"),
]


def _config(path: Path, metric: str = "knowgen", **more: Any) -> dict[str, Any]:
    return {"metric": metric, "rows": str(path), "images": None, "generator": None, "judge": None, **more}


def _file(path: Path, rows: Any, lines: bool = False) -> Path:
    text = "\n".join(json.dumps(row) for row in rows) + "\n" if lines else json.dumps(rows, indent=1)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("lines", [False, True])
def test_official_and_strict_stand_side_by_side(tmp_path: Path, lines: bool) -> None:
    outcome = score_rows(_config(_file(tmp_path / "rows", ROWS, lines)))
    whole, science, pop = outcome.figures
    assert (science.official, science.strict, science.missing, science.unscored) == (1.0, 0.5, 1, 0)
    assert (pop.official, pop.strict, pop.missing, pop.unscored) == (0.6, pytest.approx(0.6), 0, 1)
    assert (whole.official, whole.strict) == (0.8, pytest.approx(0.55))
    write(outcome, tmp_path / "scores.csv")
    rows = list(csv.DictReader((tmp_path / "scores.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["figure"] for row in rows] == [one.name for one in outcome.figures]
    assert [float(row["official"]) for row in rows] == [0.8, 1.0, 0.6]
    assert float(rows[0]["strict"]) == whole.strict
    assert rows[0]["unscored"] == "1"


def test_the_golden_rows_of_knowgen_give_the_golden_averages(tmp_path: Path) -> None:
    given, expected = load("knowgen")
    scored = 0
    for name, case in given["cases"].items():
        wanted = expected["cases"][name]
        try:
            outcome = score_rows(_config(_file(tmp_path / f"{name}.json", case["rows"])))
        except StoppedError:
            assert "raises" in wanted, name
            continue
        except DataError:
            continue  # Strict figures are refused for rows that cannot be told apart; the official ones are tested elsewhere.
        assert {one.name: one.official for one in outcome.figures} == {
            group: found["overall"] for group, found in wanted["summary"].items()
        }, name
        scored += 1
    assert scored >= 8


def test_the_golden_rows_of_genevolve_give_the_golden_averages(tmp_path: Path) -> None:
    given, expected = load("genevolve")
    scored = 0
    for name, case in given["cases"].items():
        if "total_cases" in case or "raises" in expected["cases"][name]:
            continue
        try:
            outcome = score_rows(_config(_file(tmp_path / f"{name}.jsonl", case["rows"], lines=True), "genevolve"))
        except DataError:
            continue
        official = {one.official for one in outcome.figures}
        assert expected["cases"][name]["component_means"]["overall_avg"]["overall"] in official, name
        scored += 1
    assert scored >= 5


@pytest.mark.parametrize(
    ("metric", "text", "error", "says"),
    [
        ("kscore", "[]", ConfigError, "metric='kscore' is not one of bizgeneval"),
        ("knowgen", "[]", DataError, "at least one row"),
        ("knowgen", "[1]", DataError, "objects only"),
        ("knowgen", '{"id": 1}\n{"id"', DataError, "line 2"),
        ("knowgen", '{"id": 1, "ok": true, "category": "news"}', DataError, "a row has no 'generated'"),
        ("bizgeneval", '{"id": 1}', DataError, "a row has no"),
        ("igenbench", '{"id": 1}', ConfigError, "generator is not set"),
        ("mind_bench", '{"id": 1}', ConfigError, "images is not set"),
        ("wise_legacy", '{"prompt_id": "x"}', DataError, "no whole number in 1..1000"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(tmp_path: Path, metric: str, text: str, error: type[Exception], says: str) -> None:
    path = tmp_path / "rows.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(error, match=says):
        score_rows(_config(path, metric))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"rows=.*none\.json cannot be read"):
        read_rows(tmp_path / "none.json", "rows")


def test_every_metric_is_named_in_the_config() -> None:
    told = (ROOT / "conf/score_rows.yaml").read_text(encoding="utf-8")
    assert all(name in told for name in METRICS)


@pytest.mark.slow
def test_the_command_prints_and_writes(tmp_path: Path) -> None:
    path = _file(tmp_path / "rows.json", ROWS)

    def command(*settings: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "benchmarks.score_rows", f"rows={path}", f"hydra.run.dir={tmp_path / 'run'}", *settings]
        return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)

    done = command("metric=knowgen")
    assert done.returncode == 0, done.stderr
    assert "80.00" in done.stdout
    assert "55.00" in done.stdout
    assert (tmp_path / "run" / "scores.csv").exists()
    wrong = command("metric=other")
    assert wrong.returncode == 1
    assert wrong.stderr.strip().splitlines()[-1].startswith("error: metric='other'")
