"""Reports on real episodes: the scripted policy on the miniweb, recorded and replayed."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agents.roll import roll
from agents.runs import ROOT

LCI = {"_target_": "agents.lci.policy.LciPolicy", "name": "lci", "locate": True, "corroborate": True, "isolate": True}
WORLD = {"events": 120}
TASKS = {"tasks": "miniweb:test", "limit": 8, "concurrency": 4, "deadline_s": 120, "max_failed": None}
MINIWEB = {"search": "miniweb", "pages": "miniweb", "pictures": "miniweb"}


def _env(store: Path, mode: str) -> dict[str, Any]:
    parts = MINIWEB if mode == "record" else {}
    return {"web": {"mode": mode, "store": str(store), **parts}, "world": WORLD, "tool_deadline_s": 60}


def _report(folder: Path, *settings: str) -> str:
    command = [sys.executable, "-m", "benchmarks.report", f"run={folder}", f"hydra.run.dir={folder.parent / 'hydra'}", *settings]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.*"))}


@pytest.mark.slow
def test_two_replays_of_one_config_give_the_same_report_byte_for_byte(tmp_path: Path) -> None:
    store = tmp_path / "web.sqlite"
    play = partial(roll, LCI, settings=TASKS, seed=0)
    play(env=_env(store, "record"), folder=tmp_path / "recorded")
    for name, concurrency in (("one", 4), ("other", 1)):
        roll(LCI, _env(store, "replay"), {**TASKS, "concurrency": concurrency}, tmp_path / name, 0)
        _report(tmp_path / name)
    one, other = _files(tmp_path / "one" / "report"), _files(tmp_path / "other" / "report")
    assert one.keys() == other.keys()
    assert [name for name in one if one[name] != other[name]] == []


@pytest.mark.slow
def test_the_command_reports_on_a_run_and_compares_it_with_another(tmp_path: Path) -> None:
    env: dict[str, Any] = {"web": "miniweb", "world": WORLD, "tool_deadline_s": 60}
    roll(LCI, env, TASKS, tmp_path / "lci", 0)
    roll({**LCI, "isolate": False}, env, TASKS, tmp_path / "whole", 0)
    said = _report(tmp_path / "lci", f"run2={tmp_path / 'whole'}", f"out={tmp_path / 'out'}", "timings=true")
    assert "not comparable with scores on Savanna" in said.replace("\n", " ")
    text = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert text.startswith("# lci (isolate=true) and lci (isolate=false) on miniweb:test\n\n**Scores on the generated miniweb")
    for title in ("Scores by retrieval confusion", "task by task", "With and without crop", "Wall time of tool calls"):
        assert title in text
    recall = (tmp_path / "out" / "tables" / "recall.csv").read_text(encoding="utf-8")
    row, _ = csv.DictReader(io.StringIO(recall))
    assert (row["tasks known"], row["tasks not known"]) == ("8", "0")
    assert float(row["Recall@4, %"]) > 50


@pytest.mark.slow
def test_a_wrong_folder_ends_in_one_sentence(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.report", f"run={tmp_path}", f"hydra.run.dir={tmp_path / 'hydra'}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1
    assert done.stderr.strip().startswith("error: ")
    assert "no episodes there" in done.stderr
