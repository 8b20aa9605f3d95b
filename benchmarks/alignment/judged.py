"""What judges said, from the verdicts in episodes.

A verdict is known by the id of its judge: ``search-…`` and ``oracle-…`` judge references, ``generation-…`` and
``oracle-generation-…`` judge what was drawn. Episodes that no judge was asked about (no answer, no references) have none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.alignment.labels import CONTEXT, IDENTITY, SEARCH, Key, item_key
from wildenv.episode import Episode
from wildenv.errors import ConfigError

_KIND = re.compile(r"(.*?)-\d+(?:-each)?(?::.*)?", re.DOTALL)
_ASKS = {"search": "search", "oracle": "search", "generation": "generation", "oracle-generation": "generation"}


@dataclass(frozen=True, slots=True)
class Said:
    """What a judge said of one item: its label, why, what was asked, and the digests of the pictures, by what they are.

    The label is empty if it could not decide.
    """

    label: str
    reason: str
    about: str
    pictures: Mapping[str, list[str]]


@dataclass(slots=True)
class Judged:
    """What judges said of a run.

    Attributes:
        said: By key.
        unscored: By key, what a judge was asked and could not decide. A verdict that failed does not name targets and conditions,
            so that identity and context have one item each then, without a name or number.
        judges: Ids of the judges whose verdicts are read.
        others: Ids of the judges whose verdicts are of another kind.
    """

    said: dict[Key, Said] = field(default_factory=dict)
    unscored: dict[Key, Said] = field(default_factory=dict)
    judges: set[str] = field(default_factory=set)
    others: set[str] = field(default_factory=set)

    def left_open(self, key: Key) -> bool:
        """Whether the judge could not decide on the item, or on all of its task and judgment."""
        return key not in self.said and any(other[:2] == key[:2] for other in self.unscored)


def judged(episodes: Iterable[Episode]) -> Judged:
    """Reads the verdicts of episodes.

    Raises:
        ConfigError: If a task was played more than once: a label names a task, not an episode.
    """
    found = Judged()
    seen: set[str] = set()
    for episode in episodes:
        if episode.task_id in seen:
            raise ConfigError(f"run holds task {episode.task_id!r} more than once; compare a run of one seed")
        seen.add(episode.task_id)
        for verdict in episode.verdicts:
            match = _KIND.fullmatch(verdict["judge"])
            asks = _ASKS.get(match[1]) if match else None
            if asks is None:
                found.others.add(verdict["judge"])
                continue
            found.judges.add(verdict["judge"])
            (_search if asks == "search" else _generation)(found, episode, verdict)
    return found


def _search(found: Judged, episode: Episode, verdict: Mapping[str, Any]) -> None:
    assert episode.answer is not None
    sources = {row["id"]: row["source"] for row in episode.images}
    pictures = {
        "truth": list(verdict["evidence"].get("ground_truth", [])),
        "reference": [sources[name] for name in episode.answer["references"]],
    }
    about = f"Do the references let the target be drawn? {episode.task['prompt']}"
    decided = verdict["value"] is not None
    label = ("pass" if verdict["value"] == 1 else "fail") if decided else ""
    (found.said if decided else found.unscored)[(episode.task_id, SEARCH, "")] = Said(label, verdict["reason"], about, pictures)


def _generation(found: Judged, episode: Episode, verdict: Mapping[str, Any]) -> None:
    evidence = verdict["evidence"]
    drawn = [] if episode.drawn is None else [episode.drawn["digest"]]
    both = {"drawn": drawn, "truth": list(evidence.get("ground_truth", []))}
    if verdict["value"] is None:
        prompt, reason = episode.task["prompt"], verdict["reason"]
        asked = {
            IDENTITY: Said("", reason, f"Is the target drawn right? {prompt}", both),
            CONTEXT: Said("", reason, f"Is all else that was asked for kept? {prompt}", {"drawn": drawn}),
        }
        found.unscored |= {(episode.task_id, judgment, ""): said for judgment, said in asked.items()}
        return
    for entity in evidence["entities"]:
        said = Said(f"{entity['tier']:g}", entity["reason"], f"Is it this one? {entity['name']}", both)
        found.said[(episode.task_id, IDENTITY, item_key(entity["name"]))] = said
    answers = zip(evidence["context_results"], evidence["context_reasons"], evidence.get("conditions", ()), strict=False)
    for number, (result, reason, condition) in enumerate(answers, 1):
        found.said[(episode.task_id, CONTEXT, str(number))] = Said(str(result).lower(), reason, condition, {"drawn": drawn})
