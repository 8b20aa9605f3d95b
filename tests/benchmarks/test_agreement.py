"""Judge against people: files, figures, and what is counted apart."""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf
from rich.console import Console

from benchmarks.agreement import PAPER, compare, main, notes, tables, template_rows, write
from benchmarks.alignment.agreement import agreement
from benchmarks.alignment.judged import judged
from benchmarks.alignment.labels import read_labels, write_template
from wildenv.episode import Episode, EpisodeWriter
from wildenv.errors import ConfigError, DataError
from wildenv.images import ImageStore

HEAD = "task_id,judgment,item,label\n"
DIGEST = "ab" + "0" * 62


def verdict(judge: str, value: float | None, **evidence: Any) -> dict[str, Any]:
    return {"judge": judge, "value": value, "reason": f"{judge} said so", "evidence": evidence, "usage": {}, "parts": {}}


def generation(tier: float, kept: list[bool], name: str = "Velmora Lantern") -> dict[str, Any]:
    return verdict(
        "generation-1:wise",
        tier,
        entities=[{"name": name, "tier": tier, "reason": "looked"}],
        context_results=kept,
        context_reasons=["seen"] * len(kept),
        conditions=[f"Condition {n}." for n in range(len(kept))],
        ground_truth=[DIGEST],
    )


def episode(task: str, *verdicts: dict[str, Any], **more: Any) -> Episode:
    values: dict[str, Any] = {
        "task": {"id": task, "prompt": f"Draw {task}.", "domain": "Sports"},
        "web": "w",
        "seed": 0,
        "policy": "p",
        "tools": [],
        "messages": [],
        "images": [],
        "answer": {"prompt": "p", "references": []},
        "verdicts": list(verdicts),
        **more,
    }
    return Episode(**values)


def run() -> list[Episode]:
    return [
        episode("a", verdict("search-1:wise", 1.0), generation(1.0, [True, True])),
        episode("b", verdict("oracle-1", 0.0), generation(0.2, [True, False])),
        episode("c", verdict("search-1:wise", 1.0), verdict("generation-1:wise", None)),
        episode("d", verdict("search-1:wise", None), verdict("kscore-1:wise", 0.5)),
        episode("e"),
    ]


def labels_of(tmp_path: Path, text: str) -> Any:
    path = tmp_path / "labels.csv"
    path.write_text(text, encoding="utf-8")
    return read_labels(path)


def test_judge_and_people_are_compared_item_by_item(tmp_path: Path) -> None:
    labels = labels_of(
        tmp_path,
        HEAD
        + "a,search,,pass\nb,search,,PASS\nc,search,,\nd,search,,fail\ne,search,,fail\nz,search,,fail\n"
        + "a,identity,,1.0\nb,identity,velmora  lantern,0\nc,identity,,0.2\n"
        + "a,context,1,true\na,context,2,yes\nb,context,1,1\nb,context,2,no\nb,context,3,no\n",
    )
    compared = compare(labels, judged(run()))
    search, identity, context = (compared[name] for name in ("search", "identity", "context"))
    assert search.agreement is not None
    assert search.agreement.confusion == ((1, 1), (0, 0))
    assert (search.unscored, search.unlabelled, search.absent) == (1, 1, 2)
    assert search.disagreements == ((("b", "search", ""), "pass", "fail"),)
    assert identity.agreement is not None
    assert identity.agreement.confusion == ((1, 0, 0), (0, 0, 0), (0, 1, 0))
    assert (identity.unscored, identity.unlabelled, identity.absent) == (1, 0, 0)
    assert context.agreement is not None
    assert context.agreement.percent.mean == 1
    assert (context.agreement.percent.n, context.agreement.tasks, context.absent) == (4, 2, 1)


def test_kappa_is_what_chance_leaves() -> None:
    # Cohen's own kind of example: 20 yes-yes, 5 and 10 apart, 15 no-no; agreement 0.7, chance 0.5.
    cells = {("true", "true"): 20, ("true", "false"): 5, ("false", "true"): 10, ("false", "false"): 15}
    pairs = [(f"t{n}", people, judge) for (people, judge), count in cells.items() for n in range(count)]
    pairs = [(f"{task}{index}", people, judge) for index, (task, people, judge) in enumerate(pairs)]
    found = agreement(pairs, ("true", "false"))
    assert found is not None
    assert found.percent.mean == pytest.approx(0.7)
    assert found.kappa is not None
    assert found.kappa.mean == pytest.approx(0.4)
    assert found.kappa.low < 0.4 < found.kappa.high
    assert found.by_class["true"] is not None
    assert found.by_class["true"].mean == pytest.approx(40 / 55)
    assert found.by_class["false"] is not None
    assert found.by_class["false"].mean == pytest.approx(30 / 45)
    assert agreement(pairs, ("true", "false")) == found
    assert agreement([], ("true", "false")) is None


def test_kappa_is_not_defined_when_nothing_varies() -> None:
    found = agreement([("a", "pass", "pass"), ("b", "pass", "pass")], ("pass", "fail"))
    assert found is not None
    assert found.percent.mean == 1
    assert found.kappa is None
    assert found.by_class["fail"] is None


def test_items_of_one_task_are_resampled_together() -> None:
    rng = random.Random(0)
    right = [(f"t{n}", rng.random() < 0.8) for n in range(20)]
    once = [(task, "true", "true" if same else "false") for task, same in right]
    alone = agreement(once, ("true", "false"))
    together = agreement([pair for pair in once for _ in range(10)], ("true", "false"))
    assert alone is not None
    assert together is not None
    assert together.percent.n == 10 * alone.percent.n
    assert together.percent.high - together.percent.low == pytest.approx(alone.percent.high - alone.percent.low)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("task_id,judgment,label\na,search,pass\n", "no column 'item'"),
        (HEAD + "a,style,,pass\n", "line 2: judgment 'style'"),
        (HEAD + "a,search,,perhaps\n", "line 2: label 'perhaps' of search is not one of pass, fail"),
        (HEAD + "a,identity,,0.5\n", "label '0.5' of identity is not one of 1, 0.2, 0"),
        (HEAD + "a,search,,pass\na,search,,fail\n", "line 3: .* is there twice"),
        (HEAD, "no rows"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(DataError, match=says):
        labels_of(tmp_path, text)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_a_file_in_another_encoding_says_how_to_save_it(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(HEAD + "caf\xe9,search,,pass\n", encoding=encoding)
    with pytest.raises(ConfigError, match=r"human=.* is not UTF-8 text; save it as UTF-8; in Excel: Save As"):
        read_labels(path)


def test_what_excel_saves_as_utf_8_is_read(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(HEAD.replace("\n", "\r\n") + "caf\xe9\u2028x,search,,pass\r\n", encoding="utf-8-sig")
    assert read_labels(path) == {("caf\xe9 x", "search", ""): "pass"}


def test_a_cell_that_is_too_long_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"human=.* is no CSV file that can be read: field larger than field limit"):
        labels_of(tmp_path, HEAD + "a,search,," + "x" * (csv.field_size_limit() + 1) + "\n")


@pytest.mark.parametrize("seed", [-1, "abc", True, 1.5])
def test_a_seed_that_is_none_is_told_before_anything_is_read(seed: Any) -> None:
    with pytest.raises(SystemExit, match=r"error: seed=.* must be a whole number of at least 0"):
        main(OmegaConf.create({"seed": seed, "run": "none"}))


def test_a_spreadsheet_may_separate_by_semicolons(tmp_path: Path) -> None:
    assert labels_of(tmp_path, "\ufefftask_id;judgment;item;label\na;identity;;0,2\n") == {("a", "identity", ""): "0.2"}


def test_a_missing_file_or_foreign_labels_are_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"template=FILE\.csv"):
        read_labels(tmp_path / "none.csv")
    with pytest.raises(ConfigError, match="do the task ids belong together"):
        compare({("z", "search", ""): "pass"}, judged(run()))
    with pytest.raises(ConfigError, match="a run of one seed"):
        judged([episode("a"), episode("a", seed=1)])


def test_a_template_is_filled_in_and_read_back(tmp_path: Path) -> None:
    image = {"id": "IMG_001", "digest": DIGEST, "source": DIGEST, "size": [8, 8]}
    shown = episode(
        "=a", verdict("search-1:wise", 1.0, ground_truth=[DIGEST]), generation(1.0, [True]), images=[image],
        answer={"prompt": "p", "references": ["IMG_001"]}, drawn={"digest": DIGEST, "generator": "g", "seed": 0},
    )  # fmt: skip
    path = tmp_path / "labels.csv"
    found = judged([*run(), shown])
    assert write_template(path, template_rows(found, tmp_path)) == 15
    with pytest.raises(ConfigError, match="name a new file"):
        write_template(path, [])
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    mine = [row for row in rows if row["task_id"] == "'=a"]
    assert {row["judgment"] for row in mine} == {"search", "identity", "context"}
    assert mine[2]["pictures"] == f"truth: images/ab/{DIGEST}.png; reference: images/ab/{DIGEST}.png"
    assert mine[0]["about"] == "Condition 0."
    assert "said so" not in path.read_text(encoding="utf-8"), "people are not told what the judge said"
    assert set(read_labels(path).values()) == {None}
    assert ("=a", "search", "") in read_labels(path)
    with pytest.raises(ConfigError, match="no label"):
        compare(read_labels(path), found)


def test_what_the_judge_left_unscored_is_labelled_too_and_told_as_unscored(tmp_path: Path) -> None:
    found = judged(run())
    path = tmp_path / "labels.csv"
    write_template(path, template_rows(found, tmp_path))
    labels = read_labels(path)
    open_items = {("c", "identity", ""), ("c", "context", ""), ("d", "search", "")}
    assert open_items <= labels.keys()
    assert "generation-1:wise said so" not in path.read_text(encoding="utf-8")
    classes = {"search": "pass", "identity": "0.2", "context": "true"}
    labelled = compare({key: classes[key[1]] for key in labels}, found)
    assert [(one.unscored, one.unlabelled, one.absent) for one in labelled.values()] == [(1, 0, 0)] * 3
    some = compare({("a", "search", ""): "pass", ("c", "identity", "velmora lantern"): "1"}, found)
    assert (some["search"].unlabelled, some["identity"].unscored, some["identity"].unlabelled) == (3, 1, 2)
    console = Console(record=True, width=160)
    console.print(tables(labelled)[0])
    line = next(line for line in console.export_text().splitlines() if " search " in line)
    assert [cell.strip() for cell in line.split("│")][5] == "1"


def test_disagreements_hold_no_formula(tmp_path: Path) -> None:
    evil = episode("@t", {**verdict("search-1:wise", 1.0), "reason": "=HYPERLINK(1)"})
    found = judged([evil])
    write(compare({("@t", "search", ""): "fail"}, found), found, tmp_path)
    (row,) = csv.DictReader((tmp_path / "disagreements.csv").read_text(encoding="utf-8").splitlines())
    assert (row["task_id"], row["judge_reason"], row["human"]) == ("'@t", "'=HYPERLINK(1)", "fail")


def test_the_papers_figures_stand_apart(tmp_path: Path) -> None:
    compared = compare(
        {("a", "search", ""): "pass", ("a", "context", "1"): "true", ("b", "context", "2"): "false"}, judged(run())
    )
    console = Console(record=True, width=160)
    for table in tables(compared):
        console.print(table)
    text = console.export_text()
    assert [f"paper: {PAPER[name]}" in text for name in ("search", "identity", "context")] == [True] * 3
    assert "100.0 [100.0, 100.0]" in text
    assert any("not defined" in note for note in notes(compared, judged(run())))
    assert any("kscore-1:wise" in note for note in notes(compared, judged(run())))
    write(compared, judged(run()), tmp_path)
    written = json.loads((tmp_path / "agreement.json").read_text(encoding="utf-8"))
    assert written["judges"] == ["generation-1:wise", "oracle-1", "search-1:wise"]
    assert written["judgments"]["context"]["agreement"]["confusion"] == [[1, 0], [0, 1]]
    assert (tmp_path / "disagreements.csv").read_text(encoding="utf-8").startswith("task_id,")


@pytest.mark.slow
def test_the_command_writes_a_template_and_compares(tmp_path: Path) -> None:
    writer = EpisodeWriter(tmp_path / "run")
    for one in run()[1:2]:
        one.verdicts[1]["evidence"]["ground_truth"] = []
        writer.append(one, ImageStore())
    labels = tmp_path / "labels.csv"

    def command(*arguments: str) -> str:
        line = [sys.executable, "-m", "benchmarks.agreement", f"run={tmp_path / 'run'}", f"hydra.run.dir={tmp_path / 'out'}"]
        root = Path(__file__).resolve().parents[2]
        done = subprocess.run([*line, *arguments], capture_output=True, text=True, check=False, cwd=root)
        return done.stdout + done.stderr

    assert "4 items to label" in command(f"template={labels}")
    labels.write_text(labels.read_text(encoding="utf-8").replace("b,search,,,", "b,search,,fail,"), encoding="utf-8")
    assert "100.0 [100.0" in command(f"human={labels}")
    assert (tmp_path / "out/agreement.json").exists()
    assert "error: human is not set" in command()
