"""What the tables need of an episode, so that thousands of episodes need not be in memory at once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.kscore import Axes, axes_of
from benchmarks.reporting.knowledge import Knowledge
from benchmarks.savanna.scores import kind_of_failure
from wildenv.episode import INFRASTRUCTURE, Episode
from wildenv.rewards.search import COMPONENT

Outcome = Literal["passed", "failed", "scored", "unscored"]
"""Passed and failed go by the search score; a reward without one has scored episodes instead, and no reward unscored ones."""

FIRST = 4
"""How many candidates of the first image search count for Recall@4 (Savanna, section 4.4)."""

UNREADABLE = "(unreadable turn)"


@dataclass(frozen=True, slots=True)
class Facts:
    """One episode, in short.

    Attributes:
        task_id: Of the task.
        seed: Of the episode.
        policy: Name of the policy.
        domain: Of the task.
        rewards: Components by name; None is unscored.
        reward: What `step` returned; None if it is not valid, or there is no component that it could be made of.
        outcome: See `Outcome`.
        end_reason: How it ended.
        failure: Kind of failure (`benchmarks.savanna.scores.FAILURES`) of one that failed.
        kappa: Retrieval confusion of the task.
        first_search: Whether the first image search shows the target among its first candidates: False also if there was no
            image search; None if it is not known, or the infrastructure failed first.
        searched: Whether there was an image search.
        calls: Tool calls by tool; unreadable turns are counted as `UNREADABLE`.
        errors: Those that failed, by tool.
        messages: Their error messages, by tool and text.
        repeated: Calls that were made with the same arguments before.
        removed: Results that the cutoff removed.
        undated: Results without a certain date that it kept.
        decided: Results it decided on.
        cropped: Whether a reference is a crop; None without references.
        roots: Digests of the downloaded pictures that the references are, or were cropped from; sorted.
        answered: Whether there is an answer.
        usage: As in the episode.
        axes: Grades of the K-Score, see `benchmarks.kscore`; None if it is unscored or they are not in the record.
        spent: Judge and what its reply took, one for each verdict.
        unscored_by: Judges that could not decide.
        generator: Who drew, if anyone.
        seconds: Wall time of each tool call, with the tool's name.
    """

    task_id: str
    seed: int
    policy: str
    domain: str
    rewards: Mapping[str, float | None]
    reward: float | None
    outcome: Outcome
    end_reason: str
    failure: str | None
    kappa: float | None
    first_search: bool | None
    searched: bool
    calls: Mapping[str, int]
    errors: Mapping[str, int]
    messages: Mapping[tuple[str, str], int]
    repeated: int
    removed: int
    undated: int
    decided: int
    cropped: bool | None
    roots: tuple[str, ...]
    answered: bool
    usage: Mapping[str, float]
    axes: Axes | None
    spent: tuple[tuple[str, Mapping[str, float]], ...]
    unscored_by: tuple[str, ...]
    generator: str | None
    seconds: tuple[tuple[str, float], ...]

    @property
    def key(self) -> tuple[str, int]:
        """Task and seed."""
        return self.task_id, self.seed


def facts_of(episode: Episode, known: Knowledge, kappa: Callable[[str], float] | None) -> Facts:
    """Reads the facts of an episode."""
    outcome = outcome_of(episode)
    names = [step["name"] or UNREADABLE for step in episode.steps]
    errors = [(name, step["error"]) for name, step in zip(names, episode.steps, strict=True) if not step["ok"]]
    images = {row["id"]: row for row in episode.images}
    references = [] if episode.answer is None else [images[reference] for reference in episode.answer["references"]]
    decisions = episode.decisions
    first = first_candidates(episode)
    return Facts(
        task_id=episode.task_id,
        seed=episode.seed,
        policy=episode.policy,
        domain=str(episode.task.get("domain", "")),
        rewards=episode.rewards,
        reward=episode.reward if episode.reward_valid and episode.rewards else None,
        outcome=outcome,
        end_reason=episode.end_reason,
        failure=kind_of_failure(episode) if outcome == "failed" else None,
        kappa=None if kappa is None else kappa(episode.task_id),
        first_search=_recalled(episode, first, known),
        searched=first is not None,
        calls=Counter(names),
        errors=Counter(name for name, _ in errors),
        messages=Counter(errors),
        repeated=_repeated(episode),
        removed=sum(not decision["kept"] for decision in decisions),
        undated=sum(decision["kept"] and decision["published"] is None for decision in decisions),
        decided=len(decisions),
        cropped=any(row["parent"] is not None for row in references) if references else None,
        roots=tuple(sorted(_root(row, images) for row in references)),
        answered=episode.answer is not None,
        usage=episode.usage,
        axes=axes_of(episode),
        spent=tuple((verdict["judge"], verdict["usage"]) for verdict in episode.verdicts),
        unscored_by=tuple(verdict["judge"] for verdict in episode.verdicts if verdict["value"] is None),
        generator=None if episode.drawn is None else episode.drawn["generator"],
        seconds=tuple(zip(names, episode.timings, strict=True)),
    )


def outcome_of(episode: Episode) -> Outcome:
    """Returns how an episode came out."""
    value = episode.rewards.get(COMPONENT)
    if value is not None:
        return "passed" if value >= 1 else "failed"
    other = bool(episode.rewards) and COMPONENT not in episode.rewards
    return "scored" if other and episode.reward_valid else "unscored"


def first_candidates(episode: Episode) -> list[dict[str, Any]] | None:
    """Returns the records of the first candidates that the first image search showed; None if there was no image search."""
    images = {row["id"]: row for row in episode.images}
    for message in episode.messages:
        if message["role"] == "tool" and message["name"] == "image_search":
            shown = [images[block["id"]] for block in message["content"] if block["type"] == "image"]
            return shown[:FIRST]
    return None


def _recalled(episode: Episode, first: list[dict[str, Any]] | None, known: Knowledge) -> bool | None:
    if first is None:
        return None if episode.end_reason in INFRASTRUCTURE else False
    flags = [known.shows(episode.task_id, row["source"], row["url"]) for row in first]
    if any(flags):
        return True
    return None if None in flags else False


def _repeated(episode: Episode) -> int:
    seen = Counter(
        json.dumps([call["function"]["name"], call["function"]["arguments"]], sort_keys=True)
        for message in episode.messages
        for call in message.get("tool_calls", [])
    )
    return sum(count - 1 for count in seen.values())


def _root(row: Mapping[str, Any], images: Mapping[str, Mapping[str, Any]]) -> str:
    while row["parent"] is not None:
        row = images[row["parent"]]
    return str(row["source"])
