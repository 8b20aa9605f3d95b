"""Tables of scores: all components, by domain (the paper's table 1) and by retrieval confusion (figure 6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.intervals import Interval
from benchmarks.kscore import COMPONENT as KSCORE
from benchmarks.kscore import NOTHING
from benchmarks.reporting import paper
from benchmarks.reporting.facts import Facts
from benchmarks.reporting.kscore import NOTE as KSCORE_NOTE
from benchmarks.reporting.kscore import knows_axes, kscore_of
from benchmarks.reporting.means import REWARD, grouped, missing_as_zero, official, ordered
from benchmarks.reporting.run import Run
from benchmarks.reporting.table import Cell, Column, Table
from benchmarks.savanna.scores import KAPPA_EDGES, bucket_name, bucket_of

DENOMINATORS = (
    "Official denominator: tasks with a scored episode; missing and failed references count as failures, what a judge or the "
    "infrastructure left unscored is left out. Missing as 0: all tasks with an episode in the folder, unscored ones as 0. "
    "Intervals: bootstrap 95 % over tasks."
)
MAIN = ("search", "generation")


def component_table(runs: Sequence[Run], seed: int) -> Table:
    """Returns every component of the reward with both denominators side by side."""
    names = ordered({name for run in runs for name in run.components})
    names += [REWARD] * bool(names)
    beside = paper.components(runs)
    columns = [Column("component")]
    for run in runs:
        columns += [
            *_columns(runs, run, "{}, %"),
            Column(prefixed(runs, run, "scored tasks"), "count"),
            Column(prefixed(runs, run, "unscored episodes"), "count"),
        ]
    columns += [Column("score, %", paper=True)] if beside else []
    rows: list[list[Cell]] = []
    for name in names:
        row: list[Cell] = [name]
        for run in runs:
            scored, whole = _means(run.facts, name, seed)
            known = bool(run.components) if name == REWARD else name in run.components
            unscored = sum((one.reward if name == REWARD else one.rewards.get(name)) is None for one in run.facts)
            row += [scored, whole if known else None, scored.n if scored else 0, unscored] if known else [None] * 4
        rows.append([*row, beside.get(name)] if beside else row)
    reward = "reward: the number an agent is trained on, where it is valid."
    notes = [*denominators(runs), reward if names else "No episode was judged: there is no reward, and so no score."]
    if any(knows_axes(run.facts) for run in runs):
        notes.append(KSCORE_NOTE)
    elif KSCORE in names:
        notes.append("kscore: mean over pictures, text that is not applicable as 0.5; the grades by axis are not in the record.")
    return Table("components", "Scores by component", columns, rows, [*notes, *paper.notes(runs, bool(beside))])


def denominators(runs: Sequence[Run]) -> list[str]:
    """Returns what the two denominators are, and how much of what was asked for they are of."""
    return [DENOMINATORS, *(run.extent for run in runs)]


def domain_table(runs: Sequence[Run], seed: int) -> Table:
    """Returns the search and generation scores by domain, as the paper's table 1."""
    beside = paper.comparable(runs)
    columns = [Column("domain"), *_counted(runs)]
    columns += [
        Column("Ranger-8B search, %", "text", paper=True),
        Column("Ranger-8B generation, % (Qwen-Image-Edit-2511)", "text", paper=True),
        Column("Ranger-8B generation, % (Nano Banana Pro)", "text", paper=True),
        Column("best baseline search, %", "text", paper=True),
    ] * beside
    groups = [grouped(run.facts, lambda one: one.domain or "(none)") for run in runs]
    names = [paper.ALL, *sorted({name for group in groups for name in group})]
    rows: list[list[Cell]] = []
    for name in names:
        row: list[Cell] = [name]
        for run, group in zip(runs, groups, strict=True):
            row += _scores(runs, run.facts if name == paper.ALL else group.get(name, []), seed)
        if beside:
            sources = (paper.RANGER_SEARCH, paper.RANGER_QWEN, paper.RANGER_NANO, paper.BEST_BASELINE_SEARCH)
            row += [f"{source[name]:.1f}" for source in sources]
        rows.append(row)
    notes = [*denominators(runs), *paper.notes(runs)]
    return Table("domains", "Scores by domain", columns, rows, notes)


def kappa_table(runs: Sequence[Run], seed: int) -> Table | None:
    """Returns the scores by bucket of retrieval confusion; None if no run knows κ."""
    if all(run.kappa is None for run in runs):
        return None
    beside = paper.comparable(runs)
    columns = [Column("retrieval confusion κ"), *_counted(runs)]
    columns += [Column("search, %, most confusing group", paper=True)] * beside
    groups = [grouped(run.facts, bucket) for run in runs]
    rows: list[list[Cell]] = []
    for name in bucket_names():
        if not any(name in group for group in groups):
            continue
        row: list[Cell] = [name]
        for group in groups:
            row += _scores(runs, group.get(name, []), seed)
        top = paper.TOP_KAPPA if name == bucket_name(len(KAPPA_EDGES) - 1) else None
        rows.append([*row, top] if beside else row)
    notes = [
        "κ: share of a direct query's first pictures that do not show the target. The paper does not print the edges of its "
        "groups, so that its most confusing group need not be our last bucket.",
        *denominators(runs),
        *paper.notes(runs),
    ]
    return Table("kappa", "Scores by retrieval confusion", columns, rows, notes)


def bucket(one: Facts) -> str | None:
    """Returns the κ bucket of an episode."""
    return None if one.kappa is None else bucket_of(one.kappa)


def bucket_names() -> list[str]:
    """Returns the κ buckets, least confusing first."""
    return [bucket_name(index) for index in range(len(KAPPA_EDGES))]


def prefixed(runs: Sequence[Run], run: Run, name: str) -> str:
    """Returns a heading, with the run's label if there are several."""
    return f"{run.label}: {name}" if len(runs) > 1 else name


def _present(runs: Sequence[Run]) -> list[str]:
    found = {name for run in runs for name in run.components}
    return [name for name in MAIN if name in found] or [REWARD] * bool(found)


def _means(facts: Sequence[Facts], name: str, seed: int) -> tuple[Interval | None, Interval | None]:
    if name == KSCORE and knows_axes(facts):
        scored, whole = kscore_of(facts, seed), kscore_of(facts, seed, NOTHING)
        return scored.value if scored else None, whole.value if whole else None
    return official(facts, name, seed), missing_as_zero(facts, name, seed)


def _columns(runs: Sequence[Run], run: Run, form: str) -> list[Column]:
    names = (form.format("official"), form.format("missing as 0"))
    return [Column(prefixed(runs, run, name), "percent", interval=True) for name in names]


def _counted(runs: Sequence[Run]) -> list[Column]:
    columns: list[Column] = []
    for run in runs:
        columns.append(Column(prefixed(runs, run, "tasks"), "count"))
        for name in _present(runs):
            columns += _columns(runs, run, f"{name} {{}}, %")
    return columns


def _scores(runs: Sequence[Run], facts: Sequence[Facts], seed: int) -> list[Cell]:
    cells: list[Cell] = [len({one.task_id for one in facts})]
    for name in _present(runs):
        known = any(name in one.rewards or (name == REWARD and one.rewards) for one in facts)
        means: tuple[Callable[..., Cell], ...] = (official, missing_as_zero)
        cells += [mean(facts, name, seed) if known else None for mean in means]
    return cells
