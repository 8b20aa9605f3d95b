"""Figures: scores by domain and by retrieval confusion, outcomes, tool calls.

Colours are of Okabe and Ito's palette, told apart by colour-blind readers, and every series has a marker or hatch of its own too.
The bytes of a figure depend on the data and on the version of Matplotlib.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from benchmarks.intervals import Interval
from benchmarks.reporting.facts import Facts
from benchmarks.reporting.failures import outcomes
from benchmarks.reporting.means import grouped, official
from benchmarks.reporting.paper import ALL
from benchmarks.reporting.run import Run
from benchmarks.reporting.scores import MAIN, bucket, bucket_names

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
_MARKERS = ("o", "s", "^", "D")
_HATCHES = ("", "///")
_GREY = "#595959"
_DPI = 130
_STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    # Names of domains and agents come from anywhere, and a dollar sign in one is no formula.
    "text.parse_math": False,
}


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure in its file.

    Attributes:
        path: Of the PNG file.
        title: What it shows.
        text: The same in words, for whoever cannot see it.
    """

    path: Path
    title: str
    text: str


def draw_figures(runs: Sequence[Run], folder: Path, seed: int, note: str | None) -> list[Picture]:
    """Draws the figures into a folder.

    Args:
        runs: One or two.
        folder: Created if missing.
        seed: Of the bootstrap.
        note: Written into figures of scores: what they must not be taken for.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(_STYLE):
        drawn = [_score_figure(runs, folder / "domains.png", lambda one: one.domain, None, seed, note)]
        if any(run.kappa is not None for run in runs):
            drawn.append(_score_figure(runs, folder / "kappa.png", bucket, bucket_names(), seed, note))
        drawn += [_outcome_figure(runs, folder / "outcomes.png"), _call_figure(runs, folder / "calls.png")]
    return [one for one in drawn if one is not None]


def _score_figure(
    runs: Sequence[Run],
    path: Path,
    group: Callable[[Facts], str | None],
    order: Sequence[str] | None,
    seed: int,
    note: str | None,
) -> Picture | None:
    by_kappa = order is not None
    groups = [grouped(run.facts, group) for run in runs]
    names = [name for name in order or sorted({name for some in groups for name in some}) if any(name in some for some in groups)]
    series: dict[str, dict[str, Interval]] = {}
    for run, some in zip(runs, groups, strict=True):
        for component in MAIN:
            means = {name: found for name in names if (found := official(some.get(name, []), component, seed)) is not None}
            whole = official(run.facts, component, seed)
            if whole is None:
                continue
            label = f"{component} score" if len(runs) == 1 else f"{run.label}, {component} score"
            series[label] = means if by_kappa else {ALL: whole, **means}
    if not series:
        return None
    shown = names if by_kappa else [ALL, *names]
    figure, axes = _canvas(max(7.2, min(12.0, 1.2 * len(shown) + 0.4)), 3.9)
    width = 0.62 / len(series)
    for number, (label, means) in enumerate(series.items()):
        places = [place for place, name in enumerate(shown) if name in means]
        marks = [means[shown[place]] for place in places]
        axes.errorbar(
            [place + (number - (len(series) - 1) / 2) * width for place in places],
            [100 * one.mean for one in marks],
            yerr=[[100 * (one.mean - one.low) for one in marks], [100 * (one.high - one.mean) for one in marks]],
            fmt=_MARKERS[number],
            color=_COLOURS[number],
            capsize=3,
            markersize=7,
            label=label,
        )
    counts = {name: len({one.task_id for some in groups for one in some.get(name, [])}) for name in names}
    counts[ALL] = len({one.task_id for run in runs for one in run.facts})
    axes.set_xticks(range(len(shown)), [f"{name}\n{counts[name]} task{'s' * (counts[name] != 1)}" for name in shown])
    axes.set_xlim(-0.6, len(shown) - 0.4)
    axes.set_ylim(-3, 103)
    axes.set_ylabel("score, % of the scored tasks")
    axes.set_xlabel("retrieval confusion κ" if by_kappa else "domain")
    axes.grid(axis="y", color="#dddddd")
    title = f"Scores by {'retrieval confusion' if by_kappa else 'domain'}, with bootstrap 95 % intervals"
    _finish(figure, axes, title, note, len(series))
    _save(figure, path)
    told = "; ".join(
        f"{label}: " + ", ".join(f"{name} {100 * one.mean:.1f}" for name, one in means.items()) for label, means in series.items()
    )
    return Picture(path, title, told)


def _outcome_figure(runs: Sequence[Run], path: Path) -> Picture:
    shares = [{name: len(tasks) / len(run.facts) for name, tasks in outcomes(run).items()} for run in runs]
    names = sorted({name for some in shares for name in some}, key=lambda name: -max(some.get(name, 0.0) for some in shares))
    figure, axes = _canvas(7.2, 1.5 + 0.42 * len(names) * len(runs) ** 0.5)
    height = 0.76 / len(runs)
    for number, (run, some) in enumerate(zip(runs, shares, strict=True)):
        places = [place + (number - (len(runs) - 1) / 2) * height for place in range(len(names))]
        values = [100 * some.get(name, 0.0) for name in names]
        axes.barh(places, values, height, color=_COLOURS[number], hatch=_HATCHES[number], edgecolor="white", label=run.label)
        for place, value in zip(places, values, strict=True):
            axes.text(value + 0.8, place, f"{value:.1f}", va="center", fontsize=9, color=_GREY)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlim(0, 108)
    axes.set_xlabel("episodes, %")
    axes.grid(axis="x", color="#dddddd")
    title = "How episodes came out"
    _finish(figure, axes, title, None, len(runs) if len(runs) > 1 else 0)
    _save(figure, path)
    return Picture(path, title, _told(runs, [{name: f"{100 * some.get(name, 0):.1f} %" for name in names} for some in shares]))


def _call_figure(runs: Sequence[Run], path: Path) -> Picture:
    counts = [Counter(int(one.usage.get("tool_calls", 0)) for one in run.facts) for run in runs]
    most = max(max(count) for count in counts)
    figure, axes = _canvas(7.2, 3.4)
    width = 0.8 / len(runs)
    for number, (run, count) in enumerate(zip(runs, counts, strict=True)):
        places = [calls + (number - (len(runs) - 1) / 2) * width for calls in range(most + 1)]
        axes.bar(
            places,
            [count[calls] for calls in range(most + 1)],
            width,
            color=_COLOURS[number],
            hatch=_HATCHES[number],
            edgecolor="white",
            label=run.label,
        )
    axes.set_xticks(range(most + 1))
    axes.set_xlabel("tool calls in an episode")
    axes.set_ylabel("episodes")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="y", color="#dddddd")
    title = "Tool calls an episode"
    _finish(figure, axes, title, None, len(runs) if len(runs) > 1 else 0)
    _save(figure, path)
    return Picture(
        path, title, _told(runs, [{f"{calls} calls": str(count[calls]) for calls in sorted(count)} for count in counts])
    )


def _canvas(width: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def _finish(figure: Figure, axes: Axes, title: str, note: str | None, legend: int) -> None:
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold")
    if legend:
        figure.legend(frameon=False, ncols=min(legend, 2), loc="outside lower center")
    if note is not None:
        axes.set_xlabel(f"{axes.get_xlabel()}\n{note}", fontsize=9)


def _save(figure: Figure, path: Path) -> None:
    # Without the version of Matplotlib, so that a file changes only if the drawing does.
    figure.savefig(path, dpi=_DPI, metadata={"Software": None})


def _told(runs: Sequence[Run], rows: Sequence[Mapping[str, str]]) -> str:
    return "; ".join(
        f"{run.label}: " + ", ".join(f"{name} {value}" for name, value in row.items())
        for run, row in zip(runs, rows, strict=True)
    )
