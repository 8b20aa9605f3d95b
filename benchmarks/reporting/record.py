"""An episode as the page shows it: a row for the list, and everything for the one who looks closer.

Plain JSON values; pictures are numbers into `Thumbnails`. Long texts are cut and say so: the whole is in the episodes. Nothing is
escaped here: the page puts everything in as text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.reporting.facts import Facts
from benchmarks.reporting.means import ordered
from benchmarks.reporting.run import Run
from benchmarks.reporting.scores import bucket
from benchmarks.reporting.thumbnails import Thumbnails
from wildenv.episode import Episode
from wildenv.images import ImageStore

_ROW_CHARS = 1_200
_DECISIONS = 60

Json = dict[str, Any]


def row_of(facts: Facts, episode: Episode, run: int, key: str, target: str | None, thumb: int | None) -> Json:
    """Returns the list's row of an episode.

    Args:
        facts: Of the episode.
        episode: The episode.
        run: Number of its run.
        key: Its address in the page, unique.
        target: What is searched for besides the prompt and the answer.
        thumb: The picture beside it.
    """
    return {
        "key": key,
        "run": run,
        "task": facts.task_id,
        "seed": facts.seed,
        "policy": facts.policy,
        "domain": facts.domain,
        "outcome": facts.outcome,
        "failure": facts.failure,
        "end": facts.end_reason,
        "kappa": None if facts.kappa is None else round(facts.kappa, 4),
        "bucket": bucket(facts),
        "rewards": {name: _rounded(facts.rewards[name]) for name in ordered(facts.rewards)},
        "reward": _rounded(facts.reward),
        "calls": facts.usage.get("tool_calls", 0),
        "prompt": cut(str(episode.task["prompt"]), _ROW_CHARS),
        "target": target or "",
        "answer": "" if episode.answer is None else cut(episode.answer["prompt"], _ROW_CHARS),
        "thumb": thumb,
    }


class Record:
    """Writes the details of a run's episodes.

    Args:
        run: The run.
        thumbnails: Where pictures are asked for.
        chars: The longest text, in characters.
        timings: Whether to tell seconds, which differ from replay to replay.
    """

    def __init__(self, run: Run, thumbnails: Thumbnails, chars: int, timings: bool) -> None:
        self._run = run
        self._thumbnails = thumbnails
        self._chars = chars
        self._timings = timings

    def thumb(self, episode: Episode) -> int | None:
        """Returns the picture that stands for an episode: what was drawn, or its first reference."""
        if episode.drawn is not None:
            return self._thumbnails.small(self._run.store, episode.drawn["digest"])
        if episode.answer is None or not episode.answer["references"]:
            return None
        first = episode.answer["references"][0]
        return self._thumbnails.small(self._run.store, next(row["source"] for row in episode.images if row["id"] == first))

    def details(self, episode: Episode, facts: Facts) -> Json:
        """Returns everything of an episode."""
        answer = None if episode.answer is None else {**episode.answer, "prompt": cut(episode.answer["prompt"], self._chars)}
        details: Json = {
            "task": {**episode.task, "prompt": cut(str(episode.task["prompt"]), self._chars)},
            "target": self._run.known.target(episode.task_id),
            "rubric": list(self._run.known.rubric(episode.task_id)),
            "policy": episode.policy,
            "seed": episode.seed,
            "web": episode.web[:12],
            "failure": episode.failure,
            "kind": facts.failure,
            "images": self._images(episode),
            "answer": answer,
            "truth": self._truth(episode),
            "drawn": self._drawn(episode),
            "verdicts": [self._verdict(verdict) for verdict in episode.verdicts],
            "usage": episode.usage,
            "opening": [self._opening(message) for message in episode.messages[:2] if message["role"] != "assistant"],
            "turns": list(self._turns(episode)),
        }
        if self._timings:
            details["seconds"] = sum(episode.timings)
        return details

    def _images(self, episode: Episode) -> Json:
        """Returns the pictures by id; those that matter most get a large form, and the first ones a thumbnail."""
        store = self._run.store
        references = set() if episode.answer is None else set(episode.answer["references"])
        parents = {row["parent"] for row in episode.images if row["parent"] is not None}
        shown: Json = {}
        for number, row in enumerate(episode.images):
            close = row["id"] in references or row["id"] in parents or row["parent"] is not None
            shown[row["id"]] = {
                "small": self._thumbnails.small(store, row["digest"]) if number < self._thumbnails.sizes.each else None,
                "large": self._thumbnails.large(store, row["source"]) if close else None,
                "size": row["size"],
                "parent": row["parent"],
                "box": row["box"],
                "url": cut(row["url"], 300),
                "page": cut(row["page"], 300),
                "title": cut(row["title"], 200),
            }
        return shown

    def _truth(self, episode: Episode) -> list[int]:
        drawn = None if episode.drawn is None else episode.drawn["digest"]
        told = [digest for digest in episode.judged_pictures() if digest != drawn]
        if told:
            return [self._thumbnails.large(self._run.store, digest) for digest in told]
        picture = self._run.known.ground_truth(episode.task_id)
        if picture is None:
            return []
        memory = ImageStore()
        return [self._thumbnails.large(memory, memory.put(picture))]

    def _drawn(self, episode: Episode) -> Json | None:
        if episode.drawn is None:
            return None
        return {**episode.drawn, "large": self._thumbnails.large(self._run.store, episode.drawn["digest"])}

    def _verdict(self, verdict: Mapping[str, Any]) -> Json:
        evidence = json.dumps(verdict["evidence"], indent=1, sort_keys=True, ensure_ascii=False) if verdict["evidence"] else ""
        return {
            "judge": verdict["judge"],
            "value": _rounded(verdict["value"]),
            "reason": cut(verdict["reason"], self._chars),
            "parts": {name: _rounded(value) for name, value in verdict.get("parts", {}).items()},
            "evidence": cut(evidence, self._chars),
            "usage": verdict["usage"],
        }

    def _opening(self, message: Mapping[str, Any]) -> Json:
        text = "\n".join(block["text"] for block in message["content"] if block["type"] == "text")
        return {"role": message["role"], "text": cut(text, self._chars)}

    def _turns(self, episode: Episode) -> Iterator[Json]:
        """Yields the assistant's turns with their calls, replies, and what the cutoff decided."""
        steps, messages = _Steps(episode), episode.messages
        for number, message in enumerate(messages):
            if message["role"] != "assistant":
                continue
            following = _following(messages, number)
            calls = []
            for call in message.get("tool_calls", []):
                reply = next((one for one in following if one.get("tool_call_id") == call["id"]), None)
                calls.append(self._call(episode, call, reply, steps))
            said = "\n".join(block["text"] for block in message["content"] if block["type"] == "text")
            turn: Json = {"said": cut(said, self._chars), "calls": calls}
            if not calls:
                step, seconds = steps.take("")
                turn["unreadable"] = self._step(step, seconds) if step is not None else None
            yield turn

    def _call(self, episode: Episode, call: Mapping[str, Any], reply: Mapping[str, Any] | None, steps: _Steps) -> Json:
        function = call["function"]
        step, seconds = steps.take(call["id"])
        decisions = [decision for decision in episode.decisions if decision["call"] == call["id"]]
        removed = [decision for decision in decisions if not decision["kept"]]
        return {
            "name": function["name"],
            "arguments": {
                name: cut(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), self._chars)
                for name, value in function["arguments"].items()
            },
            "step": None if step is None else self._step(step, seconds),
            "reply": [] if reply is None else [self._block(block) for block in reply["content"]],
            "kept": len(decisions) - len(removed),
            "undated": sum(decision["kept"] and decision["published"] is None for decision in decisions),
            "removed": [{"url": cut(one["url"], 300), "reason": one["reason"]} for one in removed[:_DECISIONS]],
            "more": max(0, len(removed) - _DECISIONS),
        }

    def _step(self, step: Mapping[str, Any], seconds: float) -> Json:
        told: Json = {
            "ok": step["ok"],
            "error": cut(step["error"], self._chars),
            "notes": [cut(note, 400) for note in step["notes"]],
        }
        if self._timings:
            told["seconds"] = seconds
        return told

    def _block(self, block: Mapping[str, Any]) -> Json:
        return {"image": block["id"]} if block["type"] == "image" else {"text": cut(block["text"], self._chars)}


class _Steps:
    """The steps of an episode, taken in order; an accepted answer has none."""

    def __init__(self, episode: Episode) -> None:
        self._left = list(zip(episode.steps, episode.timings, strict=True))

    def take(self, call: str) -> tuple[Mapping[str, Any] | None, float]:
        if not self._left or self._left[0][0]["call"] != call:
            return None, 0.0
        return self._left.pop(0)


def cut(text: str, chars: int) -> str:
    """Returns a text of at most `chars` characters, and says how many are left out."""
    return text if len(text) <= chars else f"{text[:chars]} … [{len(text) - chars:,} more characters in the episode]"


def _following(messages: Sequence[Mapping[str, Any]], number: int) -> Sequence[Mapping[str, Any]]:
    """Returns the replies between a turn and the next one."""
    end = next((later for later in range(number + 1, len(messages)) if messages[later]["role"] == "assistant"), len(messages))
    return messages[number + 1 : end]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
