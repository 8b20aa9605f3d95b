from __future__ import annotations

import json
from pathlib import Path

import pytest

from agents.track import finish_wandb, start_wandb
from benchmarks.savanna.scores import score
from benchmarks.savanna.track import COLUMNS, track_scores
from tests.benchmarks.made_episodes import Maker
from tests.wandb_file import of_kind, values


def test_scores_are_told_as_a_summary_and_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WANDB_DATA_DIR", "WANDB_DISABLE_WEAVE"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv("WANDB_SILENT", "true")
    maker = Maker(tmp_path / "made")
    episodes = [maker.add("a"), maker.add("b", {"search": 0.0}, domain="Film"), maker.add("c", end="web")]
    scores = score(episodes, lambda task_id: 0.6)
    track_scores(scores, miniweb=True)
    settings = {"enabled": True, "mode": "offline", "project": "p", "group": None, "job_type": "eval", "name": None, "tags": []}
    start_wandb({**settings, "id": None, "resume": True}, {}, tmp_path / "run")
    track_scores(scores, miniweb=True)
    finish_wandb()
    told = {name: value for one in of_kind(tmp_path / "run", "summary") for name, value in values(one.update).items()}
    assert (told["miniweb"], told["episodes"]) == ("true", "3")
    assert (float(told["search"]), float(told["component/search"]), told["unscored/web"]) == (0.5, 0.5, "1")
    assert "clean" not in told
    (path,) = (tmp_path / "run").rglob("files/media/table/scores*.json")
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in json.loads(path.read_text(encoding="utf-8"))["data"]]
    assert {(row["of"], row["what"]): (row["mean"], row["n"]) for row in rows} == {
        ("search", "all"): (0.5, 2),
        ("component", "search"): (0.5, 2),
        ("domain", "Film"): (0.0, 1),
        ("domain", "Sports"): (1.0, 1),
        ("κ", "0.5 ≤ κ < 0.75"): (0.5, 2),
    }
