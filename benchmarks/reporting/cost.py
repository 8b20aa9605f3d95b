"""What a run took: tokens and money of judges and of the agent's model, the agent's budget, and what web services charged.

Tokens of models are as their endpoints reported them; those of the budget are estimated by the environment. Money is at the
prices that were set. A reply from a store repeats what obtaining it took, so that a run that was replayed shows what its verdicts
and turns cost whenever they were had, and not what was spent on this run. What generators take is not recorded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from benchmarks.reporting.run import Run
from benchmarks.reporting.table import Cell, Column, Kind, Table
from wildenv.episode import MODEL_USAGE

_FIELDS: tuple[tuple[str, str, Kind], ...] = (
    ("calls", "calls", "count"),
    ("prompt_tokens", "prompt tokens", "count"),
    ("completion_tokens", "completion tokens", "count"),
    ("cost", "cost", "cost"),
    ("unmetered", "calls that told no tokens", "count"),
)
_BUDGET = ("turns", "tool_calls", "images", "pixels", "chars", "tokens")


def model_cost_table(runs: Sequence[Run]) -> Table | None:
    """Returns tokens and cost of the agent's model and of each judge; None if no episode tells any."""
    rows: list[list[Cell]] = []
    for run in runs:
        own: dict[str, float] = {}
        for name, said in MODEL_USAGE.items():
            values = [one.usage[name] for one in run.facts if name in one.usage]
            own |= {said: sum(values)} if values else {}
        if own:
            rows.append([run.label, "the agent's model", *(own.get(name) for name, _, _ in _FIELDS)])
        spent: dict[str, Counter[str]] = {}
        for one in run.facts:
            for judge, usage in one.spent:
                if usage:
                    # A counter adds floats as well; episodes come in a fixed order, so that the sum is always the same.
                    spent.setdefault(judge, Counter()).update(usage)
        for judge, total in sorted(spent.items()):
            rows.append([run.label, judge, *(total[name] for name, _, _ in _FIELDS)])
    columns = [Column("run"), Column("who"), *(Column(title, kind) for _, title, kind in _FIELDS)]
    notes = [
        "What obtaining the replies took, whenever that was: one that was read from a store counts like one that was asked for. "
        "Cost: in the currency of the prices that were set; 0 where none are. What generators take is not recorded, nor is the "
        "agent's model in runs of earlier versions.",
    ]
    return Table("model_cost", "Tokens and cost of the agent's model and the judges", columns, rows, notes) if rows else None


def budget_table(runs: Sequence[Run]) -> Table:
    """Returns what the agent's episodes spent on average, as the environment counts."""
    columns = [Column("a mean episode"), *(Column(run.label, "number") for run in runs)]
    rows: list[list[Cell]] = [
        [name.replace("_", " "), *(sum(one.usage.get(name, 0) for one in run.facts) / len(run.facts) for run in runs)]
        for name in _BUDGET
    ]
    return Table(
        "budget", "What an episode takes", columns, rows, ["Tokens are estimated by the environment, for all models alike."]
    )


def web_table(runs: Sequence[Run]) -> Table | None:
    """Returns what the web was asked for and charged, summed over all rolls; None if nothing was kept."""
    rows: list[list[Cell]] = []
    for run in runs:
        asked: dict[str, Counter[str]] = {}
        services: dict[str, Counter[str]] = {}
        for report in run.web:
            for tool, usage in report["usage"].items():
                asked.setdefault(tool, Counter()).update(usage)
            for tool, kinds in report["failures"].items():
                asked.setdefault(tool, Counter())["failures"] += sum(kinds.values())
            for name, spent in report["services"].items():
                services.setdefault(name, Counter()).update(spent)
        for tool, total in sorted(asked.items()):
            rows.append([run.label, tool, total["calls"], total["hits"], total["failures"], None, None])
        for name, total in sorted(services.items()):
            rows.append([run.label, name, total["requests"], None, None, total["credits"], total["cost"]])
    columns = [
        Column("run"),
        Column("web tool or service"),
        Column("requests", "count"),
        Column("answered without asking", "count"),
        Column("not had", "count"),
        Column("credits", "count"),
        Column("cost", "cost"),
    ]
    notes = ["Summed over the rolls that wrote the folder. One that was killed leaves no line: what it asked for is not in here."]
    return Table("web_cost", "What the web was asked for", columns, rows, notes) if rows else None
