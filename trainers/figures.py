"""The curves of a training run, drawn from the trainer's own history.

A measure that no record holds is left out, and with it its panel. The band around a reward is one standard deviation of the
rollouts of a record: it says how far they are apart, not how sure their mean is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.figure
from matplotlib.axes import Axes

History = Sequence[Mapping[str, Any]]

REWARD_FUNCTIONS = "rewards/"
"""What TRL's names of the mean and the standard deviation of a reward function begin with."""

_FEW = 20
"""Points up to which each is marked."""


@dataclass(frozen=True, slots=True)
class Line:
    """A curve.

    Attributes:
        measure: Its name in the history; with a star at the end, every measure that begins so.
        label: In the legend; that of a star is what stands in its place.
        spread: Measure of the band around it; empty for none.
    """

    measure: str
    label: str
    spread: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """A plot of some curves over the steps.

    Attributes:
        title: Above it.
        unit: Of its vertical axis.
        lines: The curves.
        share: Whether the values lie in 0..1, so that the axis shows all of it.
    """

    title: str
    unit: str
    lines: tuple[Line, ...]
    share: bool = False


LOSS = (Panel("", "loss per trained token (nats)", (Line("loss", "training"), Line("eval_loss", "validation"))),)
REWARD = (
    Panel("reward, ± its spread over rollouts", "reward", (Line("reward", "reward", "reward_std"),)),
    Panel("components, ± their spread", "reward", (Line(f"{REWARD_FUNCTIONS}*/mean", "", f"{REWARD_FUNCTIONS}*/std"),)),
    Panel("rollouts without a score", "share", (Line("rollouts/unscored", "unscored"),), share=True),
)
HEALTH = (
    Panel(
        "groups that teach nothing",
        "share",
        (Line("frac_reward_zero_std", "all rewards alike"), Line("groups/skipped", "skipped: too few scored")),
        share=True,
    ),
    Panel("entropy", "nats per token", (Line("entropy", "entropy"),)),
    Panel(
        "repetition",
        "share",
        (Line("searches/repeated", "searches asked before"), Line("rollouts/repeated", "rollouts with a turn said twice")),
        share=True,
    ),
    Panel("answer", "characters of the refined prompt", (Line("answer/chars", "mean"),)),
    Panel(
        "rollouts",
        "generated tokens",
        (Line("completions/mean_length", "mean"), Line("completions/max_length", "longest")),
    ),
    Panel(
        "rollouts cut off or failed",
        "share",
        (
            Line("rollouts/truncated", "truncated"),
            Line("completions/clipped_ratio", "clipped"),
            Line("rollouts/failed_*", "failed: "),
        ),
        share=True,
    ),
    Panel(
        "time",
        "seconds",
        (Line("step_time", "update"), Line("rollout/seconds", "rollouts"), Line("rollout/tool_seconds", "of them in tools")),
    ),
    Panel(
        "distance of sampling and training",
        "",
        (
            Line("sampling/logp_gap", "gap of log-probabilities"),
            Line("clip_ratio/region_mean", "share clipped"),
            Line("kl", "divergence (nats)"),
        ),
    ),
)

SFT_FIGURES: Mapping[str, tuple[Panel, ...]] = {"loss.png": LOSS}
GRPO_FIGURES: Mapping[str, tuple[Panel, ...]] = {"reward.png": REWARD, "health.png": HEALTH}


def draw(path: Path, history: History, panels: Sequence[Panel]) -> bool:
    """Draws the panels that have anything to show.

    Returns:
        Whether there was any; the file is left as it is if not.
    """
    filled = [(panel, found) for panel in panels if (found := _present(panel, history))]
    if not filled:
        return False
    across = min(4, len(filled))
    down = -(-len(filled) // across)
    width = 7 if len(filled) == 1 else 4.2 * across
    figure = matplotlib.figure.Figure(figsize=(width, 4 if down == 1 else 3.2 * down), layout="constrained")
    grid = figure.subplots(down, across, squeeze=False)
    for axes in grid.flat[len(filled) :]:
        axes.set_axis_off()
    for axes, (panel, lines) in zip(grid.flat, filled, strict=False):
        _draw_panel(axes, panel, lines, history)
    part = path.with_name(f".{path.name}.part")
    figure.savefig(part, dpi=120, format="png")
    part.replace(path)
    return True


def _present(panel: Panel, history: History) -> list[Line]:
    names = dict.fromkeys(name for record in history for name, value in record.items() if value is not None)
    found = []
    for line in panel.lines:
        before, star, after = line.measure.partition("*")
        if not star:
            found += [line] * (line.measure in names)
            continue
        for name in names:
            if name.startswith(before) and name.endswith(after) and len(name) > len(before) + len(after):
                what = name[len(before) : len(name) - len(after)]
                found.append(Line(name, f"{line.label}{what}", line.spread.replace("*", what)))
    return found


def _draw_panel(axes: Axes, panel: Panel, lines: Sequence[Line], history: History) -> None:
    for line in lines:
        records = [record for record in history if record.get(line.measure) is not None]
        steps = [record["step"] for record in records]
        values = [float(record[line.measure]) for record in records]
        axes.plot(steps, values, label=line.label, marker="o" if len(steps) < _FEW else None, markersize=3)
        if line.spread and all(record.get(line.spread) is not None for record in records):
            spreads = [float(record[line.spread]) for record in records]
            low = [value - spread for value, spread in zip(values, spreads, strict=True)]
            high = [value + spread for value, spread in zip(values, spreads, strict=True)]
            axes.fill_between(steps, low, high, alpha=0.2, linewidth=0)
    axes.set(title=panel.title, xlabel="step", ylabel=panel.unit)
    if panel.share:
        axes.set_ylim(-0.03, 1.03)
    else:
        low, high = min(0.0, axes.dataLim.y0), max(0.0, axes.dataLim.y1)
        if high > low:
            axes.set_ylim(low - 0.05 * (high - low) * (low < 0), high + 0.05 * (high - low))
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
