"""Why episodes failed, and who left them unscored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from benchmarks.reporting.run import Run
from benchmarks.reporting.scores import prefixed
from benchmarks.reporting.table import Cell, Column, Table
from benchmarks.savanna.scores import FAILURES

PASSED = "passed"
UNSCORED = "unscored: {}"
_EXAMPLES = 3


def outcome_table(runs: Sequence[Run]) -> Table:
    """Returns how many episodes passed, failed by kind of failure, or were left unscored by end reason."""
    counts = [outcomes(run) for run in runs]
    names = list(dict.fromkeys(name for count in counts for name in count))
    names.sort(key=_place)
    columns = [Column("outcome")]
    for run in runs:
        columns += [
            Column(prefixed(runs, run, "episodes"), "count"),
            Column(prefixed(runs, run, "share, %"), "percent"),
            Column(prefixed(runs, run, "for example")),
        ]
    rows: list[list[Cell]] = []
    for name in names:
        row: list[Cell] = [name]
        for run, count in zip(runs, counts, strict=True):
            tasks = count.get(name, [])
            row += [len(tasks), len(tasks) / len(run.facts), " ".join(tasks[:_EXAMPLES])]
        rows.append(row)
    notes = ["Failures are told from the judge's evidence where it names what a reference shows; else they are 'judged wrong'."]
    return Table("outcomes", "Outcomes and failures", columns, rows, notes)


def outcomes(run: Run) -> Mapping[str, list[str]]:
    """Returns the task ids by outcome: `PASSED`, a kind of failure, ``scored`` (without a search score), or unscored."""
    found: dict[str, list[str]] = {}
    for one in run.facts:
        if one.outcome == "unscored":
            name = UNSCORED.format(one.end_reason)
        else:
            name = one.failure or one.outcome
        found.setdefault(name, []).append(one.task_id)
    return found


def unscored_table(runs: Sequence[Run]) -> Table:
    """Returns how often each judge could not decide; a judge that failed changes no mean, but it is told here."""
    rows: list[list[Cell]] = []
    for run in runs:
        given = Counter(judge for one in run.facts for judge, _ in one.spent)
        unable = Counter(judge for one in run.facts for judge in one.unscored_by)
        rows.extend([run.label, judge, given[judge], unable[judge], unable[judge] / given[judge]] for judge in sorted(given))
    columns = [
        Column("run"),
        Column("judge"),
        Column("verdicts", "count"),
        Column("unscored", "count"),
        Column("unscored, %", "percent"),
    ]
    notes = [
        "Unscored verdicts leave the official denominators; a judge is any giver of a verdict, a generator that failed included."
    ]
    return Table("judges", "Verdicts and unscored by judge", columns, rows, notes)


def _place(name: str) -> tuple[int, str]:
    order = (PASSED, "scored", *FAILURES)
    return (order.index(name), "") if name in order else (len(order), name)
