"""Which episodes are worth learning from: Ranger's three filters (Savanna, section 3.2).

Each filter reads one episode, in the order of `FILTERS`; an episode is counted under the first one it fails. They look at what
was recorded and at the public prompt only.

Not guaranteed: that a kept trajectory reasons well. The prompt filter compares words, so a paraphrase counts as a lost
condition and a negated condition as a kept one; it errs towards removing. It reads English.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wildenv.episode import INFRASTRUCTURE, Episode
from wildenv.errors import ConfigError
from wildenv.messages import Message, text_of

FILTERS = ("not finished", "unreadable turn", "reference does not match", "condition dropped", "repeated search")

_SEARCHES = ("text_search", "image_search")
_HIT = re.compile(r"^\[\d+\] .*?(\S+)$", re.MULTILINE)
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_ENDINGS = ("ing", "ed", "es", "s")
# Words that name no condition: grammar, and the verbs and nouns of asking for a picture.
_EMPTY = frozenset(
    _WORD.findall(
        """
        a about above across after against all along among an and any are around as at be been before behind being below
        beside besides between both but by can close could did do does down draw during each for from front generate get
        give had has have here high how i if image in inside into is it its just like made make me my near need new next of
        off on one onto or our out outside over paint photo picture please put quality render rendering scene set shall
        should show showing shown shows side so some stand standing stands than that the their them then there these they
        this those through to today together under until up upon us want was we were what when where which while who whose
        will with within without would you your
        """
    )
)


@dataclass(frozen=True, slots=True)
class FilterSettings:
    """Which filters are on and how strict they are.

    Attributes:
        reference_matches: Require the search verdict to be a pass.
        conditions_kept: Share of the words of each condition that the refined prompt must keep, 0..1; None switches the filter
            off.
        idle_searches: Searches that may bring nothing new; None switches the filter off.

    Raises:
        ConfigError: If a value is out of range.
    """

    reference_matches: bool = True
    conditions_kept: float | None = 0.6
    idle_searches: int | None = 0

    def __post_init__(self) -> None:
        if self.conditions_kept is not None and not 0 < self.conditions_kept <= 1:
            raise ConfigError(f"filters.conditions_kept={self.conditions_kept} is not in (0, 1]; null switches the filter off")
        if self.idle_searches is not None and self.idle_searches < 0:
            raise ConfigError(f"filters.idle_searches={self.idle_searches} must be at least 0; null switches the filter off")


@dataclass(slots=True)
class FilterReport:
    """What the filters did.

    Attributes:
        kept: Episodes kept.
        removed: Ids and reasons of the episodes each filter removed.
    """

    kept: int = 0
    removed: dict[str, list[dict[str, str]]] = field(default_factory=lambda: {name: [] for name in FILTERS})

    @property
    def total(self) -> int:
        """Episodes looked at."""
        return self.kept + sum(len(episodes) for episodes in self.removed.values())

    def write(self, path: Path) -> None:
        """Writes counts and ids as JSON."""
        counts = {name: len(episodes) for name, episodes in self.removed.items()}
        report = {"total": self.total, "kept": self.kept, "counts": counts, "removed": self.removed}
        path.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def keep(episode: Episode, settings: FilterSettings, report: FilterReport) -> bool:
    """Decides about an episode and counts the decision."""
    verdict = judge(episode, settings)
    if verdict is None:
        report.kept += 1
        return True
    name, reason = verdict
    report.removed[name].append({"episode": f"{episode.task_id}#{episode.seed}", "reason": reason})
    return False


def judge(episode: Episode, settings: FilterSettings) -> tuple[str, str] | None:
    """Returns the first filter an episode fails and why, or None."""
    if episode.end_reason in INFRASTRUCTURE or episode.answer is None:
        return FILTERS[0], f"ended by {episode.end_reason}"
    for number, message in enumerate(episode.messages):
        if message["role"] == "assistant" and not message.get("tool_calls"):
            return FILTERS[1], f"message {number} calls no tool"
    if settings.reference_matches:
        score = episode.rewards.get("search")
        if score != 1:
            return FILTERS[2], "unscored" if score is None else f"search score {score:g}"
    if settings.conditions_kept is not None:
        lost = lost_conditions(str(episode.task["prompt"]), episode.answer["prompt"], settings.conditions_kept)
        if lost:
            return FILTERS[3], f"lost: {'; '.join(lost)}"
    if settings.idle_searches is not None:
        idle = idle_searches(episode.messages)
        if len(idle) > settings.idle_searches:
            return FILTERS[4], f"nothing new: {'; '.join(idle)}"
    return None


def lost_conditions(prompt: str, refined: str, share: float) -> list[str]:
    """Finds the conditions of a request that a refined prompt drops.

    A condition is a run of content words between function words or punctuation: "on a snowy hill, next to a piano" has two. It
    is kept if the refined prompt has at least `share` of its words, endings aside.

    Args:
        prompt: The request.
        refined: The prompt handed to the generator.
        share: 0..1.

    Returns:
        The conditions that were dropped, as they stand in the request.
    """
    present = {_stem(word) for word in _WORD.findall(refined.lower())}
    lost = []
    for condition in conditions(prompt):
        stems = [_stem(word.lower()) for word in condition]
        if sum(stem in present for stem in stems) < share * len(stems):
            lost.append(" ".join(condition))
    return lost


def conditions(prompt: str) -> list[list[str]]:
    """Returns the runs of content words of a request."""
    runs: list[list[str]] = []
    end = None
    for match in _WORD.finditer(prompt):
        word = match.group()
        if word.lower() in _EMPTY:
            end = None
            continue
        if end is None or prompt[end : match.start()].strip():
            runs.append([])
        runs[-1].append(word)
        end = match.end()
    return runs


def idle_searches(messages: list[Message]) -> list[str]:
    """Finds the searches of a chat that brought nothing new.

    A search brought nothing new if every page or picture it returned had been returned before; if it returned nothing at all,
    only when the same query had been asked before. Queries are compared as sets of words.

    Returns:
        Tool and query of each such search.
    """
    replies = {message["tool_call_id"]: message for message in messages if message["role"] == "tool"}
    seen: set[tuple[str, str]] = set()
    asked: set[tuple[str, frozenset[str]]] = set()
    idle = []
    for message in messages:
        for call in message.get("tool_calls", []):
            name, arguments = call["function"]["name"], call["function"]["arguments"]
            if name not in _SEARCHES or call["id"] not in replies:
                continue
            found = _found(name, replies[call["id"]])
            queries = {(name, frozenset(_WORD.findall(query.lower()))) for query in _queries(arguments)}
            if found <= seen and (found or queries <= asked):
                idle.append(f"{name} {', '.join(_queries(arguments))}")
            seen |= found
            asked |= queries
    return idle


def _queries(arguments: Mapping[str, Any]) -> list[str]:
    given = arguments.get("queries", arguments.get("query", []))
    return [str(query) for query in ([given] if isinstance(given, str) else given)]


def _found(name: str, reply: Message) -> set[tuple[str, str]]:
    if name == "text_search":
        return {(name, url) for url in _HIT.findall(text_of(reply))}
    return {(name, block["digest"]) for block in reply["content"] if block["type"] == "image"}


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word
