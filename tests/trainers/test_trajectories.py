from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.dataset
import pytest
from PIL import Image

from agents.track import finish_wandb, start_wandb
from benchmarks.reporting.run import read_runs
from tests.benchmarks.made_episodes import Maker, settings
from tests.wandb_file import of_kind, values
from trainers import trajectories
from trainers.contact_sheet import MOST, contact_sheet
from trainers.trajectories import ROLLOUTS, TRAJECTORIES, Trajectory, TrajectoryLog
from trainers.trajectory_rows import choose, row_of, sheets_of
from wildenv.episode import LatestEpisodes, read_episodes
from wildenv.images import ImageStore

Roll = Callable[..., Trajectory]


@pytest.fixture
def roll(tmp_path: Path) -> Roll:
    """Makes a rollout with a reward; None is one that failed."""
    maker, count = Maker(tmp_path / "made"), [0]

    def make(group: str, reward: float | None, seed: int | None = None, **more: Any) -> Trajectory:
        count[0] += 1
        end = "web" if reward is None else "answered"
        episode = maker.add(
            group, {"search": reward or 0.0}, seed=count[0] if seed is None else seed, **{"end": end, "domain": "Sports", **more}
        )
        return Trajectory(episode, maker.store, {"group": group, "advantage": 0.5})

    return make


def table(folder: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pyarrow.dataset.dataset(folder / TRAJECTORIES).to_table().to_pylist()
    return rows


def kept(rollouts: list[Trajectory], keep: int | None, step: int = 0) -> list[tuple[str, float | None, str]]:
    known = [one.known() for one in rollouts]
    return [(known[place]["group"], known[place]["reward"], why) for place, why in choose(rollouts, keep, step)]


def test_each_group_shows_its_best_before_one_shows_its_worst(roll: Roll) -> None:
    rollouts = [roll(group, reward) for group in "ab" for reward in (0.5, 0.0, 1.0, None)]
    assert kept(rollouts, 2) == [("a", 1.0, "best"), ("b", 1.0, "best")]
    assert kept(rollouts, 4) == [("a", 0.0, "worst"), ("a", 1.0, "best"), ("b", 0.0, "worst"), ("b", 1.0, "best")]
    assert [one for one in kept(rollouts, 6) if one[1] is None] == [("a", None, "failed"), ("b", None, "failed")]
    assert len(kept(rollouts, None)) == len(rollouts)


def test_ranks_far_from_those_shown_come_next(roll: Roll) -> None:
    rollouts = [roll("a", number / 8) for number in range(9)]
    assert [one[1] for one in kept(rollouts, 3)] == [0.0, 0.5, 1.0]
    assert [one[1] for one in kept(rollouts, 5)] == [0.0, 0.25, 0.5, 0.75, 1.0]


def test_with_fewer_places_than_groups_all_are_seen_in_time(roll: Roll) -> None:
    rollouts = [roll(group, 1.0) for group in "abc"]
    assert [kept(rollouts, 1, step)[0][0] for step in range(4)] == ["a", "b", "c", "a"]
    assert kept([], 3) == []


def test_a_row_says_what_happened(roll: Roll) -> None:
    row = row_of(3, roll("a", 0.5, crop=True, prompt="Draw " + "x" * 3_000, text="[1] " + "page " * 500), "best")
    assert (row["step"], row["task"], row["kept"], row["reward"], row["advantage"]) == (3, "a", "best", 0.5, 0.5)
    assert (row["answer"], row["chosen"], row["calls"], row["shown"]) == ("A kit in teal.", ["IMG_006"], 3, 6)
    assert row["verdicts"] == "judge-1: 0.5: search looked at"
    assert (row["valid"], row["failure"], row["end_reason"], row["image_reward"]) == (True, None, "answered", None)
    lines = row["turns"].splitlines()
    assert lines[0] == "1. Locate."
    assert '   -> crop_image(image_id="IMG_001", box=[0, 0, 500, 500])' in lines
    assert lines[-1] == '   -> answer(prompt="A kit in teal.", references=["IMG_006"])'
    # A page is not logged whole, nor is a long prompt; both say so.
    assert max(map(len, lines)) < 300
    assert "more characters)" in row["turns"]
    assert len(row["prompt"]) < 2_100


def test_a_failed_rollout_has_no_reward_but_a_class(roll: Roll) -> None:
    facts = roll("a", None).known()
    assert (facts["reward"], facts["valid"], facts["failure"]) == (None, False, "web")
    with pytest.raises(ValueError, match="rewrad"):
        Trajectory(roll("a", 1.0).episode, ImageStore(), {"rewrad": 1.0})


def test_sheets_shrink_until_they_fit(roll: Roll) -> None:
    trajectory = roll("a", 1.0, drawn=9)

    def size(most: int) -> tuple[dict[str, tuple[int, int] | None], int]:
        sheets = sheets_of(trajectory, 96, most)
        bytes_ = sum(len(trajectories.encode_sheet(one)) for one in sheets.values() if one is not None)
        return {name: None if one is None else one.size for name, one in sheets.items()}, bytes_

    whole, taken = size(1_000_000)
    assert whole["pictures"] is not None
    assert whole["pictures"][0] == 5 * (96 + 6)
    smaller, less = size(taken - 1)
    assert smaller["pictures"] is not None
    assert smaller["pictures"][0] == 5 * (48 + 6)
    assert less < taken
    least, left = size(2_500)
    assert least["pictures"] is None
    assert 0 < left <= 2_500
    assert set(size(10)[0].values()) == {None}


def test_the_chosen_are_framed_and_the_many_are_counted() -> None:
    store = ImageStore()
    digest = store.put(Image.new("RGB", (50, 50), (0, 0, 255)))
    sheet = contact_sheet(store, [("IMG_001", digest), ("IMG_002", digest)], ["IMG_002"], 50)
    assert sheet is not None
    assert (sheet.getpixel((0, 0)), sheet.getpixel((56, 0))) == ((255, 255, 255), (230, 120, 0))
    many = contact_sheet(store, [(f"IMG_{number:03d}", digest) for number in range(MOST + 5)], (), 10)
    assert many is not None
    assert many.height == (MOST // 8 + 1) * (10 + 6 + 12)
    assert contact_sheet(store, []) is None


def test_the_table_grows_by_a_file_a_step_and_leaves_the_others_alone(roll: Roll, tmp_path: Path) -> None:
    log = TrajectoryLog(tmp_path / "run", keep=2)
    log.add(1, [roll("a", reward) for reward in (0.0, 0.5, 1.0)])
    (first,) = (tmp_path / "run" / TRAJECTORIES).iterdir()
    before = (first.read_bytes(), first.stat().st_mtime_ns)
    log.add(2, [roll("a", reward, drawn=9) for reward in (0.0, None)])
    log.close()
    assert (first.read_bytes(), first.stat().st_mtime_ns) == before
    rows = table(tmp_path / "run")
    assert [(row["step"], row["kept"], row["reward"]) for row in rows] == [
        (1, "worst", 0.0),
        (1, "best", 1.0),
        (2, "best", 0.0),
        (2, "failed", None),
    ]
    assert rows[0]["drawn"] is None
    picture = Image.open(io.BytesIO(rows[2]["drawn"]))
    assert max(picture.size) > 150
    episodes = {one.digest() for one in read_episodes(tmp_path / "run" / ROLLOUTS)}
    assert episodes == {row["episode"] for row in rows}


def test_a_step_rolled_again_after_a_resume_takes_the_place_of_the_first(roll: Roll, tmp_path: Path) -> None:
    killed = TrajectoryLog(tmp_path / "run", keep=None)
    same = roll("a", 0.5, seed=21)
    for step in (1, 2):
        killed.add(step, [roll("a", 0.0, seed=10 * step), roll("b", 0.0, seed=10 * step)])
    killed.add(2, [same])
    (tmp_path / "run" / TRAJECTORIES / ".00000003-0.parquet").write_bytes(b"half a fi")
    resumed = TrajectoryLog(tmp_path / "run", keep=None)
    resumed.add(2, [roll("a", 1.0, seed=20), same])
    resumed.add(3, [roll("a", 0.0, seed=30)])
    rows = table(tmp_path / "run")
    assert [(row["step"], row["seed"], row["reward"]) for row in rows] == [
        (1, 10, 0.0),
        (1, 10, 0.0),
        (2, 20, 1.0),
        (2, 21, 0.5),
        (3, 30, 0.0),
    ]
    latest = {(one.task_id, one.seed): one.reward for one in LatestEpisodes(tmp_path / "run" / ROLLOUTS)}
    assert latest[("a", 20)] == 1.0
    assert sum(one.seed == 21 for one in read_episodes(tmp_path / "run" / ROLLOUTS)) == 1


def test_two_rollouts_that_readers_would_take_for_one_are_refused(roll: Roll, tmp_path: Path) -> None:
    log = TrajectoryLog(tmp_path / "run", keep=None)
    with pytest.raises(ValueError, match="task 'a' and seed 4"):
        log.add(1, [roll("a", 0.0, seed=4), roll("a", 1.0, seed=4)])


def test_a_report_reads_the_rollouts(roll: Roll, tmp_path: Path) -> None:
    log = TrajectoryLog(tmp_path / "run", keep=None)
    log.add(1, [roll("a", reward, crop=reward == 1.0) for reward in (0.0, 1.0)])
    (run,) = read_runs([tmp_path / "run" / ROLLOUTS], settings(), progress=False)
    assert [one.rewards["search"] for one in run.facts] == [0.0, 1.0]
    assert run.label == "maker"


@pytest.fixture
def wandb_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in ("WANDB_DATA_DIR", "WANDB_DISABLE_WEAVE"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv("WANDB_SILENT", "true")
    chosen = {"enabled": True, "mode": "offline", "project": "p", "group": "g", "job_type": "grpo", "name": None, "tags": []}
    start_wandb({**chosen, "id": None, "resume": True}, {}, tmp_path / "run")
    yield tmp_path / "run"
    finish_wandb()


def test_wandb_gets_each_row_once_with_its_sheets(roll: Roll, wandb_run: Path) -> None:
    log = TrajectoryLog(wandb_run, keep=None)
    log.add(1, [roll("a", None), roll("a", None, shown=())])
    log.add(2, [roll("a", 0.5, drawn=9)])
    log.close()
    finish_wandb()
    tables = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(wandb_run.rglob("files/media/table/*.json"))]
    rows = [dict(zip(one["columns"], row, strict=True)) for one in tables for row in one["data"]]
    assert [(row["step"], row["reward"], row["rewards"], row["chosen"]) for row in rows] == [
        (1, None, "", ""),
        (1, None, "", ""),
        (2, 0.5, "search 0.5", "IMG_001"),
    ]
    # Before the first value of its kind a column has none; pictures are taken all the same.
    assert [(row["pictures"], row["drawn"]) for row in rows] == [("Image", None), (None, None), ("Image", "Image")]
    increments = [one for one in of_kind(wandb_run, "artifact") if one.type == "wandb-run-incremental-table"]
    assert len(increments) == 2
    assert [sum(".jpg" in file.path for file in one.manifest.contents) for one in increments] == [1, 3]
    steps = [values(one.item)["train/global_step"] for one in of_kind(wandb_run, "history")]
    assert steps == ["1", "2"]


def test_wandb_gets_several_steps_at_a_time(roll: Roll, wandb_run: Path) -> None:
    log = TrajectoryLog(wandb_run, keep=None, steps_per_increment=2)
    for step in (1, 2, 3):
        log.add(step, [roll("a", 0.5)])
    log.close()
    log.close()
    finish_wandb()
    steps = [values(one.item)["train/global_step"] for one in of_kind(wandb_run, "history")]
    assert steps == ["2", "3"]
