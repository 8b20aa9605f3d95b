from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from benchmarks.cutoff_study import main
from benchmarks.studies.asof import AsOfProvider
from benchmarks.studies.cutoff_table import PAPER, csv_text, headings, markdown, notes, rows
from benchmarks.studies.hit_rate import CONDITIONS, HitRates, Query, hit_rates
from benchmarks.studies.recorded import RecordedWebs, read_labels, read_queries, write_requests
from benchmarks.studies.simulated import SimulatedWeb, draw_queries
from wildenv.cli.warm import read_requests
from wildenv.errors import CacheMiss, ConfigError, DataError, ToolError
from wildenv.images import decode, digest_of, encode
from wildenv.miniweb.world import MiniWorld
from wildenv.web.client import WebClient
from wildenv.web.packs.pack import export_pack
from wildenv.web.store import Store

DAY = timedelta(days=1)


def _queries(world: MiniWorld, limit: int = 4) -> list[Query]:
    return draw_queries(world, world.tasks("test"), limit, "launch", 0)


def _simulate(world: MiniWorld, queries: list[Query], k: int = 8) -> HitRates:
    web = SimulatedWeb(world, "keep")
    return hit_rates(queries, web.web, web.shows, lambda _: 2, k)


def test_the_web_as_of_a_day_holds_nothing_later(small_world: MiniWorld) -> None:
    late = max(small_world.pictures, key=lambda picture: picture.day)
    before = AsOfProvider(small_world, date.fromisoformat(late.day) - DAY)
    after = AsOfProvider(small_world, date.fromisoformat(late.day))
    with pytest.raises(ToolError, match="there is nothing at"):
        before.fetch_image(late.url)
    assert decode(after.fetch_image(late.url)).size == small_world.provenance(late.url).size
    query = small_world.events[60].line
    for provider in (before, AsOfProvider(small_world, date.fromisoformat(small_world.events[60].day))):
        days = [small_world.picture(hit.url).day for hit in provider.image_search(query, 50, None)]
        pages = [small_world.page(hit.url).day for hit in provider.text_search(query, 50, None)]
        assert days
        assert max(days + pages) <= provider.version[-10:]
    unborn = AsOfProvider(small_world, small_world.config.start - 400 * DAY)
    assert unborn.image_search(query, 5, None) == []
    page = next(page for page in small_world.pages if page.day == late.day)
    with pytest.raises(ToolError, match="there is nothing at"):
        before.fetch_page(page.url, None)


def test_as_of_the_last_day_it_is_the_whole_web(small_world: MiniWorld) -> None:
    from wildenv.miniweb.provider import MiniwebProvider

    provider, whole = AsOfProvider(small_world, date(2100, 1, 1)), MiniwebProvider(small_world)
    query = small_world.events[10].line
    assert provider.image_search(query, 9, None) == whole.image_search(query, 9, None)
    assert provider.text_search(query, 9, None) == whole.text_search(query, 9, None)
    assert provider.version != whole.version


def test_conditions_say_what_the_paper_did() -> None:
    issued = date(2026, 7, 1)
    asked = [(one.name, one.days, one.cutoff(issued), one.paper) for one in CONDITIONS]
    later = date(2026, 7, 4)
    assert asked == [("A", 0, None, 68.0), ("B", 3, None, 76.0), ("C", 7, None, 80.0), ("D", 7, later, 78.0)]


def test_hits_are_counted_from_what_was_visible(small_world: MiniWorld) -> None:
    queries = _queries(small_world)
    rates = _simulate(small_world, queries)
    for condition in CONDITIONS:
        for query in queries:
            _, event = small_world.event_of(query.task_id)
            client = WebClient(AsOfProvider(small_world, query.issued + condition.days * DAY))
            found = client.image_search(query.text, 8, condition.cutoff(query.issued)).results
            shown = [hit for hit in found if event.target in small_world.picture(hit.url).entities]
            assert rates.hits[condition.name][query.task_id] in ((True, True), (False, False))
            assert shown or rates.hits[condition.name][query.task_id] == (False, False)
    assert any(value == (True, True) for value in rates.hits["C"].values())


def test_queries_are_drawn_by_the_seed(small_world: MiniWorld) -> None:
    tasks = small_world.tasks("train")
    first, again, other = (draw_queries(small_world, tasks, 5, "name", seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert len({query.task_id for query in first}) == 5
    assert first[0].text == small_world.direct_query(first[0].task_id)
    for limit, words, says in ((0, "name", "limit=0"), (5, "title", "words='title'")):
        with pytest.raises(ConfigError, match=says):
            draw_queries(small_world, tasks, limit, words, 0)


def _rates() -> HitRates:
    return HitRates(
        8,
        {
            "A": {"a": (True, False), "b": (False, False)},
            "B": {"a": (True, True), "b": (True, False)},
            "C": {"a": (True, True), "b": (True, True)},
            "D": {"a": (True, True), "b": (False, True)},
        },
    )


def test_repetitions_are_averaged_and_the_papers_figures_stand_apart() -> None:
    lines = rows(_rates(), 0)
    assert headings(_rates())[-1] == PAPER
    assert [line[5].split(" ")[0] for line in lines[:4]] == ["25.0", "75.0", "100.0", "75.0"]
    assert [line[-1] for line in lines] == ["68.0", "76.0", "80.0", "78.0", "+8.0", "+4.0", "+2.0", "-2.0"]
    difference = next(line for line in lines if line[0] == "D − B")
    assert difference[5].startswith("+0.0 [")
    assert lines == rows(_rates(), 0)
    text = csv_text(headings(_rates()), lines)
    assert list(csv.reader(io.StringIO(text)))[1:] == [list(line) for line in lines]
    page = markdown(_rates(), 0, "Study", notes(True, "keep"))
    assert "not comparable" in page
    assert "not comparable" not in markdown(_rates(), 0, "Study", notes(False, "keep"))
    assert len(_rates().rows()) == 16


def _record(world: MiniWorld, queries: list[Query], days: int, cutoff_days: int | None, path: Path) -> str:
    with Store(path.with_suffix(".sqlite")) as store:
        for query in queries:
            provider = AsOfProvider(world, query.issued + days * DAY)
            provider.version = "1"
            client = WebClient(provider, "record", store)
            cutoff = None if cutoff_days is None else query.issued + cutoff_days * DAY
            for hit in client.image_search(query.text, 8, cutoff).results:
                client.fetch_image(hit.url)
        export_pack(store, path)
    return str(path)


def test_packs_give_what_the_simulation_gives(small_world: MiniWorld, tmp_path: Path) -> None:
    queries = _queries(small_world, 3)
    lines, labels = tmp_path / "queries.jsonl", tmp_path / "labels.jsonl"
    lines.write_text("".join(_line(task_id=q.task_id, query=q.text, issued=q.issued.isoformat()) for q in queries))
    rows_: list[str] = []
    web = SimulatedWeb(small_world, "keep")
    for number, query in enumerate(queries):
        client = WebClient(AsOfProvider(small_world, query.issued + 30 * DAY))
        shown = [hit.url for hit in client.image_search(query.text, 40, None).results if web.shows(query, hit, client)]
        digests = [digest_of(encode(decode(small_world.png(url)))) for url in shown]
        # Labels by address and labels by digest must do the same.
        rows_.append(_line(task_id=query.task_id, urls=shown if number % 2 else [], digests=[] if number % 2 else digests))
    labels.write_text("".join(rows_))
    packs = {
        one.name: [_record(small_world, queries, one.days, one.cutoff_days, tmp_path / f"{one.name}.pack")] * 2
        for one in CONDITIONS
    }
    assert read_queries(lines) == queries
    webs = RecordedWebs(packs, read_labels(labels, queries), "keep")
    found = hit_rates(queries, webs.web, webs.shows, webs.repetitions)
    assert found == _simulate(small_world, queries)
    assert any(any(hits) for hits in found.hits["C"].values())
    stranger = Query(queries[0].task_id, "nobody asked for this", queries[0].issued)
    with pytest.raises(CacheMiss):
        hit_rates([stranger], webs.web, webs.shows, webs.repetitions)


def _line(**row: Any) -> str:
    return json.dumps(row) + "\n"


def test_what_is_to_be_recorded_can_be_read_by_wildenv_record(small_world: MiniWorld, tmp_path: Path) -> None:
    queries = _queries(small_world, 2)
    files = write_requests(queries, tmp_path / "requests", 8)
    assert [path.stem for path in files] == ["A", "B", "C", "D"]
    wanted = [read_requests(path) for path in files]
    assert [one.text for one in wanted[0]] == [query.text for query in queries]
    assert [one.fields["cutoff"] for one in wanted[0]] == [None, None]
    assert [str(one.fields["cutoff"]) for one in wanted[3]] == [str(query.issued + 3 * DAY) for query in queries]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"task_id": "a", "query": "x"}', "line 1: a line has task_id, query, issued"),
        ('{"task_id": "a", "query": "x", "issued": "soon"}', "'issued' an ISO date"),
        ('{"task_id": "a", "query": " ", "issued": "2026-01-01"}', "the query is empty"),
        ("{", "line 1"),
        (2 * _line(task_id="a", query="x", issued="2026-01-01"), "line 2: target 'a' is there twice"),
    ],
)
def test_a_wrong_line_of_queries_is_named(tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text(line)
    with pytest.raises(DataError, match=says):
        read_queries(path)


def test_labels_and_packs_must_be_complete(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text(_line(task_id="b", digests=[], urls=[]))
    queries = [Query("a", "x", date(2026, 1, 1))]
    with pytest.raises(DataError, match="1 targets have no line, the first 'a'"):
        read_labels(path, queries)
    path.write_text(_line(task_id="a", digests="x", urls=[]))
    with pytest.raises(DataError, match="'digests' is a list of texts"):
        read_labels(path, queries)
    with pytest.raises(ConfigError, match=r"packs has \['A'\]"):
        RecordedWebs({"A": "x.pack"}, {}, "keep")
    with pytest.raises(ConfigError, match=r"packs\.A is empty"):
        RecordedWebs({name: [] for name in "ABCD"}, {}, "keep")
    with pytest.raises(ConfigError, match="no such file"):
        read_queries(tmp_path / "none.jsonl")


@pytest.mark.parametrize(
    ("packs", "says"),
    [
        ({"A": 1, "B": "b", "C": "c", "D": "d"}, "packs.A=1 must be a pack, or a list of packs"),
        ({"A": ["a", None], "B": "b", "C": "c", "D": "d"}, r"packs.A=\['a', None\] must be a pack, or a list of packs"),
        ({1: "a", "A": "a"}, r"packs has \['1', 'A'\]"),
        ("x.pack", "packs has 'x.pack'; it needs"),
    ],
)
def test_packs_of_the_wrong_type_are_named(packs: Any, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        RecordedWebs(packs, {}, "keep")


def test_labels_of_the_wrong_form_or_encoding_are_named(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    queries = [Query("1", "x", date(2026, 1, 1))]
    path.write_text(_line(task_id=["a"], digests=[], urls=[]))
    with pytest.raises(DataError, match=r"line 1: 'task_id' is .* neither a text nor a whole number"):
        read_labels(path, queries)
    path.write_text("[" * 100_000)
    with pytest.raises(DataError, match="line 1: it is nested too deeply"):
        read_labels(path, queries)
    path.write_text(_line(task_id="caf\xe9", digests=[], urls=[]), encoding="utf-16")
    with pytest.raises(ConfigError, match=r"labels=.* is not UTF-8 text; save it as UTF-8"):
        read_labels(path, queries)
    path.write_text('{"task_id": 1, "digests": [], "urls": ["a\u2028b"]}\n', encoding="utf-8")
    assert read_labels(path, queries)["1"].urls == {"a\u2028b"}


@pytest.mark.parametrize("name", ["seed", "k", "limit", "repetitions"])
@pytest.mark.parametrize("value", [-1, "abc", True])
def test_a_number_that_is_none_is_told(name: str, value: Any) -> None:
    config = {"seed": 0, "k": 8, "limit": 5, "repetitions": 2, "requests": None, name: value}
    with pytest.raises(SystemExit, match=f"error: {name}=.* must be a whole number of at least"):
        main(OmegaConf.create(config))


@pytest.mark.slow
def test_the_command_runs_by_itself_and_repeats_itself(tmp_path: Path) -> None:
    def run(name: str, *more: str) -> subprocess.CompletedProcess[str]:
        settings = ["+world.events=120", "limit=5", f"hydra.run.dir={tmp_path / name}", *more]
        command = [sys.executable, "-m", "benchmarks.cutoff_study", *settings]
        return subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)

    done = run("one")
    assert done.returncode == 0, done.stderr
    assert "not ours" in done.stdout
    assert "not comparable" in done.stdout
    assert run("two").returncode == 0
    for name in ("table.md", "table.csv", "hits.csv"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    refused = run("three", "packs={A: x}")
    assert refused.returncode != 0
    assert "queries is not set" in refused.stderr
