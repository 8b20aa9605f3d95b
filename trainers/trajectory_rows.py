"""Rows of the table of trajectories: which rollouts of a step are kept, and what of them is shown.

The columns have fixed types, so that the part files of a run are one table. Everything shown is in the episode already, but for
the facts its caller adds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from PIL import Image

from trainers.contact_sheet import contact_sheet, encode_sheet
from trainers.trajectory_text import cut, turns_text, verdicts_text
from wildenv.episode import Episode
from wildenv.images import ImageStore

FACTS: Mapping[str, pa.DataType] = {
    "group": pa.string(),
    "reward": pa.float64(),
    "advantage": pa.float64(),
    "image_reward": pa.float64(),
    "text_reward": pa.float64(),
    "valid": pa.bool_(),
    "truncated": pa.bool_(),
    "repeated": pa.bool_(),
    "failure": pa.string(),
}
"""What a caller may say of a rollout."""

SHEETS = ("pictures", "references", "drawn")
"""Columns that hold a contact sheet: what was shown, the chosen framed; what was chosen, in its order; what was drawn of it."""

SCHEMA = pa.schema(
    [
        ("step", pa.int64()),
        ("task", pa.string()),
        ("kept", pa.string()),
        ("seed", pa.int64()),
        *FACTS.items(),
        ("prompt", pa.string()),
        ("turns", pa.string()),
        ("answer", pa.string()),
        ("chosen", pa.list_(pa.string())),
        ("rewards", pa.map_(pa.string(), pa.float64())),
        ("verdicts", pa.string()),
        ("end_reason", pa.string()),
        ("error", pa.string()),
        ("calls", pa.int64()),
        ("shown", pa.int64()),
        ("episode", pa.string()),
        *((name, pa.binary()) for name in SHEETS),
    ]
)

_LEAST_PX = 24
_TEXT = 2_000
"""Characters of a prompt, an answer or an error."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One rollout.

    Attributes:
        episode: Its record.
        images: Where its pictures are.
        facts: What else is known of it, of `FACTS`. Without ``group``, rollouts of a task are a group; without ``reward`` it is
            the episode's, if that is valid; without ``valid`` it is the episode's; without ``failure`` the end reason of one that
            failed.
    """

    episode: Episode
    images: ImageStore
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unknown = sorted(self.facts.keys() - FACTS.keys())
        if unknown:
            raise ValueError(f"facts {unknown} are none of {list(FACTS)}")

    def known(self) -> dict[str, Any]:
        """Returns a value for each of `FACTS`."""
        episode = self.episode
        valid = bool(self.facts.get("valid", episode.reward_valid))
        defaults = {
            "group": episode.task_id,
            "reward": episode.reward if valid else None,
            "valid": valid,
            "failure": None if episode.failure is None else episode.end_reason,
        }
        return {name: self.facts.get(name, defaults.get(name)) for name in FACTS}


def choose(trajectories: Sequence[Trajectory], keep: int | None, step: int) -> list[tuple[int, str]]:
    """Chooses the rollouts of a step that are kept.

    Each group offers its best rollout, its worst, one that failed, and then those whose rank by reward lies farthest from the
    ranks offered before. Groups take turns, so that every group shows its best before one shows its worst; the step decides which
    group begins, so that with fewer places than groups all of them are seen in time. Ties go to the rollout that comes first.

    Args:
        trajectories: The rollouts of the step.
        keep: How many are kept; None is all.
        step: The step.

    Returns:
        Places in `trajectories`, ascending, and what each is kept as: ``best``, ``worst``, ``failed`` or ``between``.
    """
    groups: dict[str, list[int]] = {}
    known = [one.known() for one in trajectories]
    for place, facts in enumerate(known):
        groups.setdefault(str(facts["group"]), []).append(place)
    offers = [_offers([(place, known[place]["reward"]) for place in places]) for places in groups.values()]
    begin = step % len(offers) if offers else 0
    offers = offers[begin:] + offers[:begin]
    rounds = max((len(offer) for offer in offers), default=0)
    in_turn = [offer[number] for number in range(rounds) for offer in offers if number < len(offer)]
    return sorted(in_turn if keep is None else in_turn[:keep])


def _offers(rewards: Sequence[tuple[int, float | None]]) -> list[tuple[int, str]]:
    scored = [place for place, reward in sorted(rewards, key=lambda one: (-(one[1] or 0.0), one[0])) if reward is not None]
    failed = [place for place, reward in rewards if reward is None]
    ranks = [0, len(scored) - 1] if len(scored) > 1 else list(range(len(scored)))
    while len(ranks) < len(scored):
        free = (rank for rank in range(len(scored)) if rank not in ranks)
        ranks.append(max(free, key=lambda rank: (min(abs(rank - taken) for taken in ranks), -rank)))
    names = ["best", "worst", *["between"] * len(ranks)]
    ordered = [(scored[rank], name) for rank, name in zip(ranks, names, strict=False)]
    # One failure early, the others last.
    return ordered[:2] + [(place, "failed") for place in failed[:1]] + ordered[2:] + [(place, "failed") for place in failed[1:]]


def row_of(step: int, trajectory: Trajectory, kept: str) -> dict[str, Any]:
    """Returns the row of a rollout, its sheets excepted."""
    episode, answer = trajectory.episode, trajectory.episode.answer
    return {
        "step": step,
        "task": episode.task_id,
        "kept": kept,
        "seed": episode.seed,
        **trajectory.known(),
        "prompt": cut(str(episode.task["prompt"]), _TEXT),
        "turns": turns_text(episode),
        "answer": None if answer is None else cut(answer["prompt"], _TEXT),
        "chosen": [] if answer is None else list(answer["references"]),
        "rewards": dict(episode.rewards),
        "verdicts": verdicts_text(episode),
        "end_reason": episode.end_reason,
        "error": None if episode.failure is None else cut(episode.failure, _TEXT),
        "calls": int(episode.usage.get("tool_calls", len(episode.steps))),
        "shown": len(episode.images),
        "episode": episode.digest(),
    }


def sheets_of(trajectory: Trajectory, side: int, most_bytes: int) -> dict[str, Image.Image | None]:
    """Draws the sheets of a rollout, smaller if they would take too much.

    Args:
        trajectory: The rollout.
        side: Longest side of a thumbnail, in pixels; halved until the sheets fit, down to `_LEAST_PX`.
        most_bytes: Of all its sheets as JPEG. What does not fit even so is left out, the pictures shown first.

    Raises:
        DataError: If a picture is not in the store.
    """
    episode = trajectory.episode
    digests = {row["id"]: row["digest"] for row in episode.images}
    chosen = [] if episode.answer is None else list(episode.answer["references"])
    drawn = [] if episode.drawn is None else [("drawn", str(episode.drawn["digest"]))]
    while True:
        sheets = {
            "pictures": contact_sheet(trajectory.images, list(digests.items()), chosen, side),
            "references": contact_sheet(trajectory.images, [(name, digests[name]) for name in chosen], (), side),
            "drawn": contact_sheet(trajectory.images, drawn, (), 2 * side),
        }
        if _bytes(sheets) <= most_bytes or side // 2 < _LEAST_PX:
            break
        side //= 2
    for name in SHEETS:
        if _bytes(sheets) <= most_bytes:
            break
        sheets[name] = None
    return sheets


def _bytes(sheets: Mapping[str, Image.Image | None]) -> int:
    return sum(len(encode_sheet(sheet)) for sheet in sheets.values() if sheet is not None)
