"""The tables of the report."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from agents.asked import Asked
from benchmarks.intervals import Interval
from benchmarks.reporting.contents import tables_of
from benchmarks.reporting.crops import crop_tables
from benchmarks.reporting.means import official
from benchmarks.reporting.pairs import paired_table, sign_test
from benchmarks.reporting.run import Run, read_runs
from benchmarks.reporting.table import Column, Table
from benchmarks.savanna.scores import score
from tests.benchmarks.made_episodes import Maker, settings


def _rows(table: Table) -> list[dict[str, str]]:
    """Returns the rows as they are printed, by heading."""
    heads = [column.heading for column in table.columns]
    return [dict(zip(heads, row, strict=True)) for row in table.cells()]


def _tables(*runs: Run, timings: bool = False) -> dict[str, Table]:
    return {table.name: table for table in tables_of(runs, 0, timings)}


def _maker(path: Path, values: dict[str, Any], **more: Any) -> Maker:
    maker = Maker(path)
    for task, value in values.items():
        end = "judge" if value is None else "answered"
        maker.add(task, {"search": value}, end=end, **more)
    return maker


def _maker_of(path: Path, component: str, values: dict[str, float]) -> Maker:
    maker = Maker(path)
    for task, value in values.items():
        maker.add(task, {component: value})
    return maker


def _notes(run: Run, table: str = "components") -> str:
    return " ".join(_tables(run)[table].notes)


def test_both_denominators_stand_side_by_side(tmp_path: Path) -> None:
    maker = _maker(tmp_path, {"a": 1.0, "b": 0.0, "c": None})
    maker.add("d", end="web")
    row = _rows(_tables(maker.run())["components"])[0]
    assert row["official, %"].startswith("50.0 [")
    assert row["missing as 0, %"].startswith("25.0 [")
    assert (row["scored tasks"], row["unscored episodes"]) == ("2", "2")


def test_a_judge_that_fails_for_a_tenth_changes_no_mean_and_is_reported(tmp_path: Path) -> None:
    def play(path: Path, failing: bool) -> Run:
        maker = Maker(path)
        for number in range(40):
            value = float(number % 4 > 0)
            fails = failing and number % 10 == 0
            rewards = {"search": value, "generation": None if fails else 0.5}
            maker.add(f"t{number:02d}", rewards, end="judge" if fails else "answered")
        return maker.run()

    steady, failing = play(tmp_path / "a", False), play(tmp_path / "b", True)
    for component in ("search", "generation"):
        before, after = official(steady.facts, component, 0), official(failing.facts, component, 0)
        assert before is not None
        assert after is not None
        assert before.mean == after.mean
    (row,) = _rows(_tables(failing)["judges"])
    assert (row["verdicts"], row["unscored"], row["unscored, %"]) == ("80", "4", "5.0")


def test_seeds_of_one_task_are_one_sample(tmp_path: Path) -> None:
    maker = Maker(tmp_path)
    for seed, value in enumerate((1.0, 1.0, 1.0, 0.0)):
        maker.add("a", {"search": value}, seed=seed)
    maker.add("b", {"search": 0.0})
    found = official(maker.run().facts, "search", 0)
    assert found is not None
    assert (found.mean, found.n) == (0.375, 2)


def test_domains_and_kappa_have_rows_of_their_own(tmp_path: Path) -> None:
    maker = Maker(tmp_path / "run")
    maker.add("a", {"search": 1.0}, domain="Sports")
    maker.add("b", {"search": 0.0}, domain="Fashion")
    (tmp_path / "kappa.json").write_text(json.dumps({"a": 0.5, "b": 1.0}))
    tables = _tables(maker.run(benchmark={"kappa": str(tmp_path / "kappa.json")}))
    domains = {row["domain"]: row for row in _rows(tables["domains"])}
    assert list(domains) == ["All", "Fashion", "Sports"]
    assert domains["Sports"]["search official, %"] == "100.0 [100.0, 100.0]"
    kappa = {row["retrieval confusion κ"]: row["search official, %"] for row in _rows(tables["kappa"])}
    assert kappa == {"0.5 ≤ κ < 0.75": "100.0 [100.0, 100.0]", "κ = 1": "0.0 [0.0, 0.0]"}
    assert "kappa" not in _tables(maker.run())


def test_a_run_without_a_judge_has_no_reward_and_says_so(tmp_path: Path) -> None:
    maker = Maker(tmp_path)
    maker.add("a", {})
    maker.add("b", {}, end="turns")
    run = maker.run()
    tables = _tables(run)
    assert _rows(tables["components"]) == []
    assert any("No episode was judged" in note for note in tables["components"].notes)
    assert all("reward" not in column.name for column in tables["domains"].columns)
    assert {one.outcome for one in run.facts} == {"unscored"}
    judged = _maker(tmp_path / "judged", {"a": 1.0}).run()
    assert [row["component"] for row in _rows(_tables(judged)["components"])] == ["search", "reward"]
    judged.label = "judged"
    both = {row["component"]: row for row in _rows(_tables(run, judged)["components"])}
    assert both["reward"]["maker: missing as 0, %"] == "", "no reward is no reward of 0"


def test_missing_as_zero_says_of_how_many_tasks_it_is(tmp_path: Path) -> None:
    maker = _maker(tmp_path, {"a": 1.0, "b": None})
    assert "2 tasks have an episode in the folder; how many were asked for is not recorded" in _notes(maker.run())
    Asked(3).keep(tmp_path)
    half = maker.run()
    assert half.unfinished
    for name in ("components", "domains"):
        assert "maker is not finished: 2 of the 3 tasks asked for" in _notes(half, name)
    maker.add("c")
    assert not maker.run().unfinished
    assert "all 3 tasks asked for" in _notes(maker.run())


def _grades(*grades: float | None) -> dict[str, Any]:
    parts = dict(zip(("faithfulness", "visual_correctness", "text_accuracy", "aesthetics"), grades, strict=True))
    value = sum(w * (0.5 if one is None else one) for w, one in zip((0.1, 0.4, 0.4, 0.1), grades, strict=True))
    verdict = {"judge": "kscore-1:wise", "value": value, "reason": "", "evidence": {}, "usage": {}, "parts": parts}
    return {"rewards": {"kscore": value}, "verdicts": [verdict]}


def test_the_kscore_leaves_text_that_is_not_applicable_out_of_its_mean(tmp_path: Path) -> None:
    maker = Maker(tmp_path)
    maker.add("a", **_grades(1, 1, 1, 1))
    maker.add("b", **_grades(1, 1, None, 1))
    maker.add("c", {"kscore": None}, end="judge")
    run = maker.run()
    rows = {row["axis"]: row for row in _rows(_tables(run)["kscore"])}
    assert list(rows) == ["faithfulness", "visual correctness", "text accuracy", "aesthetics", "K-Score"]
    assert (rows["text accuracy"]["official, %"], rows["text accuracy"]["scored tasks"]) == ("100.0 [100.0, 100.0]", "1")
    assert rows["K-Score"]["official, %"].startswith("100.0 ["), "the mean over pictures would be 90.0"
    # Missing: two thirds of 0.1 + 0.4 + 0.1, and the text of one picture of two.
    assert rows["K-Score"]["missing as 0, %"].startswith("60.0 [")
    component = next(row for row in _rows(_tables(run)["components"]) if row["component"] == "kscore")
    assert component["official, %"] == rows["K-Score"]["official, %"]
    assert component["missing as 0, %"] == rows["K-Score"]["missing as 0, %"]
    found = score(list(run.episodes)).components["kscore"]
    assert found is not None
    assert (found.mean, found.n) == (pytest.approx(1.0), 2)


def test_a_kscore_without_its_grades_is_the_mean_over_pictures_and_says_so(tmp_path: Path) -> None:
    tables = _tables(_maker_of(tmp_path, "kscore", {"a": 0.5, "b": 0.7}).run())
    assert "kscore" not in tables
    row = next(row for row in _rows(tables["components"]) if row["component"] == "kscore")
    assert row["official, %"].startswith("60.0 [")
    assert any("grades by axis are not in the record" in note for note in tables["components"].notes)


def test_the_papers_knowgen_scores_stand_beside_knowgen_only(tmp_path: Path) -> None:
    maker = _maker_of(tmp_path, "kscore", {"a": 0.5})
    assert "27.75" not in _tables(maker.run())["components"].markdown()
    Asked(1, "savanna").keep(tmp_path)
    assert "27.75" not in _tables(maker.run())["components"].markdown()
    Asked(1, "knowgen").keep(tmp_path)
    shown = _tables(maker.run())["components"]
    assert "27.75" in shown.markdown()
    assert any("are not ours" in note for note in shown.notes)


def test_the_papers_scores_are_marked_and_only_beside_savannas_domains(tmp_path: Path) -> None:
    ours = _maker(tmp_path / "a", {"a": 1.0}, domain="Sports").run()
    other = _maker(tmp_path / "b", {"a": 1.0}, domain="Science").run()
    table = _tables(ours)["domains"]
    marked = [column for column in table.columns if column.paper]
    assert all(column.heading.startswith("paper: ") for column in marked)
    row = next(row for row in _rows(table) if row["domain"] == "Sports")
    assert row["paper: Ranger-8B search, %"] == "66.7"
    assert any("not ours" in note.replace("\n", " ") for note in table.notes)
    assert "67.2" not in " ".join(row[head] for head in row if not head.startswith("paper"))
    for table in _tables(other).values():
        assert not any(column.paper for column in table.columns), table.name
        assert "67.2" not in table.markdown()


def test_runs_without_a_generation_score_have_no_column_for_it(tmp_path: Path) -> None:
    old = _maker(tmp_path / "a", {"a": 1.0}, domain="Science").run()
    assert all("generation" not in column.name for table in _tables(old).values() for column in table.columns)
    new = Maker(tmp_path / "b")
    new.add("a", {"search": 1.0, "generation": 0.84, "identity": 0.8, "context": 1.0}, domain="Science")
    table = _tables(new.run())["domains"]
    assert any("generation" in column.name for column in table.columns)


def test_recall_is_told_with_what_is_not_known(tmp_path: Path) -> None:
    run = _maker(tmp_path, {"a": 1.0}, domain="Science").run()
    (row,) = _rows(_tables(run)["recall"])
    assert (row["Recall@4, %"], row["tasks known"], row["tasks not known"]) == ("not known", "0", "1")


@pytest.mark.parametrize(("better", "worse", "p"), [(0, 0, 1.0), (1, 0, 1.0), (10, 0, 2 / 1024), (8, 2, 112 / 1024), (3, 3, 1.0)])
def test_the_sign_test_is_exact(better: int, worse: int, p: float) -> None:
    assert sign_test(better, worse) == sign_test(worse, better) == pytest.approx(p)


def test_two_runs_are_compared_by_task_and_seed(tmp_path: Path) -> None:
    first = _maker(tmp_path / "a", {"a": 1.0, "b": 1.0, "c": 0.0, "d": None}).run()
    second = _maker(tmp_path / "b", {"a": 0.0, "b": 1.0, "c": 0.0, "d": 1.0, "e": 1.0}).run()
    first.label, second.label = "x", "y"
    row = _rows(paired_table(first, second, 0))[0]
    assert (row["pairs"], row["x ahead"], row["equal"], row["y ahead"]) == ("3", "1", "2", "0")
    assert row["x minus y, points"].startswith("+33.3 [")
    other = _maker(tmp_path / "c", {"a": 1.0}, seed=7).run()
    assert "share no task and seed" in paired_table(first, other, 0).markdown()


def test_cropping_is_compared_on_the_same_references(tmp_path: Path) -> None:
    cropping, whole = Maker(tmp_path / "a"), Maker(tmp_path / "b")
    parts = {"search": 1.0, "identity": 1.0, "context": 0.75}
    cropping.add("a", parts, crop=True)
    cropping.add("b", parts, crop=True, shown=(1, 2))
    whole.add("a", {**parts, "identity": 0.2, "context": 0.5})
    whole.add("b", parts, shown=(2, 1))
    runs = read_runs([cropping.folder, whole.folder], settings(), progress=False)
    paired, grouped = crop_tables(runs, 0)
    rows = {row["component"]: row for row in _rows(paired)}
    assert rows["identity"]["pairs"] == "1", "another picture was handed on in task b"
    assert rows["identity"]["difference, points"] == "+80.0 [+80.0, +80.0]"
    assert rows["context"]["difference, points"] == "+25.0 [+25.0, +25.0]"
    assert [row["episodes"] for row in _rows(grouped)] == ["2", "0", "0", "2"]
    assert "not what cropping does" in grouped.markdown()
    assert crop_tables([whole.run()], 0) == []


def test_tokens_of_the_agents_model_stand_beside_the_judges_and_are_unknown_in_old_runs(tmp_path: Path) -> None:
    spent = {"model_calls": 2, "model_prompt_tokens": 50, "model_completion_tokens": 7, "model_cost": 0.125}
    usage = {"calls": 1, "cached": 0, "prompt_tokens": 9, "completion_tokens": 1, "unmetered": 0, "cost": 0.25}
    old, own = Maker(tmp_path / "old"), Maker(tmp_path / "own")
    for task in ("a", "b"):
        old.add(task, usage=usage)
        own.add(task, spent=spent)
    assert [row["who"] for row in _rows(_tables(old.run())["model_cost"])] == ["judge-1"]
    table = _tables(own.run())["model_cost"]
    (row,) = _rows(table)
    assert (row["who"], row["calls"], row["prompt tokens"], row["completion tokens"]) == ("the agent's model", "4", "100", "14")
    assert (row["cost"], row["calls that told no tokens"]) == ("0.2500", "")
    assert not any("store" in column.name or "generator" in column.name for column in table.columns)
    assert "whenever that was" in table.notes[0]


def test_tokens_and_costs_are_summed_by_judge(tmp_path: Path) -> None:
    maker = Maker(tmp_path)
    for number in range(3):
        maker.add(f"t{number}", usage={"calls": 1, "prompt_tokens": 100, "completion_tokens": 10, "cost": 0.25})
    (tmp_path / "web.jsonl").write_text(
        json.dumps(
            {
                "mode": "record",
                "usage": {"image_search": {"calls": 5, "hits": 2, "misses": 5}},
                "failures": {"image_search": {"quota": 3}},
                "services": {"serper": {"requests": 5, "retries": 0, "credits": 9, "cost": 0.5, "bytes": 1}},
            }
        )
        + "\n"
    )
    tables = _tables(maker.run())
    (row,) = _rows(tables["model_cost"])
    assert (row["prompt tokens"], row["cost"]) == ("300", "0.7500")
    search, serper = _rows(tables["web_cost"])
    assert (search["requests"], search["answered without asking"], search["not had"]) == ("5", "2", "3")
    assert (serper["credits"], serper["cost"]) == ("9", "0.5000")
    assert "killed leaves no line" in tables["web_cost"].markdown()


def test_wall_time_is_told_only_if_asked_for(tmp_path: Path) -> None:
    run = _maker(tmp_path, {"a": 1.0}).run()
    assert "timings" not in _tables(run)
    row = next(row for row in _rows(_tables(run, timings=True)["timings"]) if row["tool"] == "text_search")
    assert row["median, ms"] == "250.00"
    assert "not recorded" in _tables(run, timings=True)["timings"].markdown()


def test_outcomes_name_failures_and_unscored_episodes(tmp_path: Path) -> None:
    maker = _maker(tmp_path, {"a": 1.0, "b": 0.0})
    maker.add("c", end="deadline")
    maker.add("d", end="turns")
    rows = {row["outcome"]: row["episodes"] for row in _rows(_tables(maker.run())["outcomes"])}
    assert rows == {"passed": "1", "judged wrong": "1", "unscored: deadline": "1", "no answer: turns used up": "1"}


def test_markdown_and_csv_hold_the_same_numbers_and_quote_nothing_live() -> None:
    evil = "=cmd() | <img src=x> ![a](http://evil.example)\n`x`"
    table = Table(
        "t",
        "T",
        [Column("name"), Column("score, %", "percent", interval=True), Column("left out", "count")],
        [[evil, Interval(0.5, 0.25, 0.75, 8), None]],
        ["a note"],
    )
    line = table.markdown().splitlines()[4]
    assert "50.0 [25.0, 75.0]" in line
    assert "<img" not in line
    assert "](" not in line
    assert line.count("|") - line.count("\\|") == 4
    (head, row) = list(csv.reader(io.StringIO(table.csv())))
    assert head == ["name", "score, %", "score, % low", "score, % high", "score, % n", "left out"]
    assert row[1:] == ["50.0", "25.0", "75.0", "8", ""]
    assert row[0].startswith("'=")


def test_a_row_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="1 cells under 2 columns"):
        Table("t", "T", [Column("a"), Column("b")], [["x"]])
