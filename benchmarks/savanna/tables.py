"""Prints scores as tables, and says what they are not."""

from __future__ import annotations

from collections.abc import Mapping

from rich.box import SIMPLE_HEAD
from rich.table import Table

from benchmarks.intervals import paired
from benchmarks.savanna.scores import Scores

_FIRST = ("search", "identity", "context", "generation")

MINIWEB_NOTE = "Scores on the generated miniweb; not comparable with scores on Savanna or the live web."


def score_table(scores: Scores, title: str) -> Table:
    """Returns the search score: all, by domain, by κ bucket; percent with bootstrap 95 % interval."""
    table = Table(title=title)
    table.add_column("")
    table.add_column("n", justify="right")
    table.add_column("search score, % [95 % interval]", justify="right")
    if scores.search is None:
        table.add_row("all", "0", "nothing was scored")
        return table
    table.add_row("all", str(scores.search.n), scores.search.percent(), end_section=True)
    for groups in (scores.by_domain, scores.by_kappa):
        for number, (name, interval) in enumerate(groups.items(), 1):
            table.add_row(name, str(interval.n), interval.percent(), end_section=number == len(groups))
    return table


def component_table(scores: Scores, total: int) -> Table:
    """Returns every component of the reward, and the parts of the generation score; percent with bootstrap 95 % interval."""
    table = Table(title="components of the reward")
    table.add_column("")
    table.add_column("n", justify="right")
    table.add_column("unscored", justify="right")
    table.add_column("% [95 % interval]", justify="right")
    first = [name for name in _FIRST if name in scores.components]
    for name in [*first, *(name for name in scores.components if name not in first)]:
        found = scores.components[name]
        count = 0 if found is None else found.n
        table.add_row(name, str(count), str(total - count), "nothing was scored" if found is None else found.percent())
    return table


def failure_table(scores: Scores, total: int) -> Table:
    """Returns why episodes failed, and what was left unscored."""
    table = Table(title="why episodes failed")
    table.add_column("")
    table.add_column("episodes", justify="right")
    table.add_column("share", justify="right")
    for kind, count in scores.failures.items():
        table.add_row(kind, str(count), f"{count / total:.1%}")
    for reason, count in scores.unscored.items():
        table.add_row(f"unscored: {reason}", str(count), f"{count / total:.1%}")
    if not scores.failures and not scores.unscored:
        table.add_row("none", "0", "0.0%")
    return table


def extras_line(scores: Scores) -> str:
    """Says how often an answer came, how many calls it took, and how clean the references are."""
    clean = "" if scores.clean is None else f"; {scores.clean:.1%} of the references show the target and nothing else"
    return f"answered {scores.answered:.1%}; {scores.calls:.2f} tool calls an episode{clean}"


def comparison_table(scores: Mapping[str, Scores], baseline: str, title: str) -> Table:
    """Returns agents side by side, with the paired difference to one of them.

    Columns: episodes with a search score, of all; search score; mean paired difference over the tasks that both have
    scored, and how many these are; share of episodes answered; share of turns that could be read as a call; tool
    calls an episode; share of references that show the target and nothing else.
    """
    # Fits a terminal of 80 columns.
    table = Table(title=title, box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("agent", no_wrap=True)
    table.add_column("scored", justify="right", no_wrap=True)
    table.add_column("search score, %\n[95 % interval]", justify="right", no_wrap=True)
    table.add_column(f"minus\n{baseline}\n(pairs)", justify="right", overflow="fold")
    for name in ("ans-\nwer", "read-\nable", "calls", "clean"):
        table.add_column(name, justify="right", no_wrap=True)
    for agent, found in scores.items():
        difference = paired(found.passed, scores[baseline].passed) if agent != baseline else None
        n = found.search.n if found.search else 0
        table.add_row(
            agent,
            f"{n}/{found.episodes}",
            found.search.percent() if found.search else "nothing was scored",
            f"{100 * difference.mean:+.1f} ({difference.n})" if difference else "",
            f"{found.answered:.0%}",
            f"{found.readable:.0%}",
            f"{found.calls:.1f}",
            "" if found.clean is None else f"{found.clean:.0%}",
        )
    return table
