"""Writes episodes as a log of inspect_ai, through its Python API: ``inspect view`` then shows them.

Episodes hold no wall clock and no hidden task fields: times in the log count the seconds that tools took, from the task's issue
day on, and targets are empty. Tokens are the environment's estimates. Pictures go into the log, and a log is held in memory while
it is written. Needs the ``inspect`` extra, imported when it is used.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from wildenv.episode import INFRASTRUCTURE, Episode
from wildenv.errors import ConfigError
from wildenv.files import check_free, new_file
from wildenv.images import ImageStore
from wildenv.messages import Block, Message, data_url, text_of

if TYPE_CHECKING:
    from inspect_ai.event import Event
    from inspect_ai.log import EvalLog, EvalSample, EvalSampleLimit
    from inspect_ai.model import ChatMessage
    from inspect_ai.scorer import Score

REWARD = "reward"
_LIMITS: dict[str, tuple[Any, str]] = {
    "budget": ("custom", "tool_calls"),
    "turns": ("turn", "turns"),
    "context": ("context", "tokens"),
}
"""End reasons that are limits: inspect_ai's kind of limit, and which count of the episode reached it."""

_SUFFIXES = (".eval", ".json")


def write_inspect_log(
    episodes: Sequence[Episode], store: ImageStore, path: str | Path, task: str = "wildenv", force: bool = False
) -> Path:
    """Writes episodes into one log file.

    Args:
        episodes: In the order they are shown; a task that is there several times gets an epoch for each.
        store: Where their pictures are.
        path: Ends with ``.eval`` or ``.json``.
        task: Name of the benchmark.
        force: Whether a log that is there is replaced.

    Returns:
        The file.

    Raises:
        ConfigError: If inspect_ai is not installed, the path has another ending, is there or cannot be written, or there is no
            episode.
        DataError: If a picture is missing.
    """
    path = Path(path)
    if path.suffix not in _SUFFIXES:
        raise ConfigError(f"--out {path}: a log of inspect_ai ends with {' or '.join(_SUFFIXES)}")
    check_free(path, "--out", force)
    log = inspect_log(episodes, store, task)
    from inspect_ai.log import write_eval_log

    with new_file(path, "--out", force) as part:
        # A log names the place it was written to.
        write_eval_log(log.model_copy(update={"location": str(path)}), str(part))
    return path


def inspect_log(episodes: Sequence[Episode], store: ImageStore, task: str = "wildenv") -> EvalLog:
    """Returns the log of episodes; arguments and errors as in `write_inspect_log`."""
    try:
        from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSpec, EvalStats
    except ImportError as error:
        raise ConfigError(f"exporting to inspect_ai needs `pip install 'wildenv[inspect]'` ({error})") from error
    if not episodes:
        raise ConfigError("there is no episode to export; name another folder of episodes")
    epochs: Counter[str] = Counter()
    samples = []
    for episode in tqdm(episodes, desc="export inspect", unit="episode", disable=None, leave=False):
        epochs[episode.task_id] += 1
        samples.append(_Sample(episode, store).build(epochs[episode.task_id]))
    name = sha256("".join(episode.digest() for episode in episodes).encode()).hexdigest()
    created = min(_began(episode) for episode in episodes).isoformat()
    policies = sorted({episode.policy for episode in episodes})
    return EvalLog(
        status="success",
        eval=EvalSpec(
            eval_id=name[:22],
            run_id=name[22:44],
            task_id=name[:22],
            created=created,
            task=task,
            dataset=EvalDataset(name=task, samples=len(epochs), sample_ids=list(epochs), shuffled=False),
            model="+".join(policies) or "unknown",
            config=EvalConfig(epochs=max(epochs.values())),
            metadata={"policies": policies, "webs": sorted({episode.web for episode in episodes})},
        ),
        results=_results(samples),
        stats=EvalStats(started_at=created, completed_at=created),
        samples=samples,
    )


def _results(samples: Sequence[EvalSample]) -> Any:
    """Returns the mean of each score over the samples that have one; unscored ones are counted apart."""
    from inspect_ai.log import EvalMetric, EvalResults, EvalScore

    scores = []
    for name in dict.fromkeys(name for sample in samples for name in sample.scores or {}):
        given = [sample.scores[name].as_float() for sample in samples if sample.scores and name in sample.scores]
        values = [value for value in given if value == value]
        metrics = {"mean": EvalMetric(name="mean", value=sum(values) / len(values))} if values else {}
        counts: dict[str, Any] = {"scored_samples": len(values), "unscored_samples": len(given) - len(values)}
        scores.append(EvalScore(name=name, scorer=name, reducer="mean", metrics=metrics, **counts))
    completed = sum(sample.error is None for sample in samples)
    return EvalResults(total_samples=len(samples), completed_samples=completed, scores=scores)


def _began(episode: Episode) -> datetime:
    return datetime.fromisoformat(episode.task["issued"]).replace(tzinfo=UTC)


class _Sample:
    """Builds the sample of one episode."""

    def __init__(self, episode: Episode, store: ImageStore) -> None:
        self._episode = episode
        self._store = store
        self._id = episode.digest()[:16]
        self._began = _began(episode)
        self._written: dict[str, str] = {}

    def build(self, epoch: int) -> EvalSample:
        """Returns the sample."""
        from inspect_ai.log import EvalError, EvalSample

        episode = self._episode
        failed = episode.end_reason in INFRASTRUCTURE
        error = EvalError(message=f"{episode.end_reason}: {episode.failure}", traceback="", traceback_ansi="") if failed else None
        return EvalSample(
            id=episode.task_id,
            epoch=epoch,
            uuid=self._id,
            input=str(episode.task["prompt"]),
            target="",
            messages=[self._message(number, message) for number, message in enumerate(episode.messages)],
            output=self._output(),
            scores=_scores(episode),
            events=list(self._events()),
            limit=_limit(episode),
            error=error,
            total_time=sum(episode.timings),
            metadata={
                "task": {name: value for name, value in episode.task.items() if name != "prompt"},
                "seed": episode.seed,
                "policy": episode.policy,
                "web": episode.web,
                "end_reason": episode.end_reason,
                "answer": episode.answer,
                "usage": episode.usage,
                "digest": episode.digest(),
            },
        )

    def _message(self, number: int, message: Message) -> ChatMessage:
        from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageTool, ChatMessageUser
        from inspect_ai.tool import ToolCall

        own: dict[str, Any] = {"id": f"{self._id}-{number}", "content": self._content(message["content"])}
        if message["role"] == "assistant":
            calls = [
                ToolCall(id=call["id"], function=call["function"]["name"], arguments=call["function"]["arguments"])
                for call in message.get("tool_calls", [])
            ]
            return ChatMessageAssistant(
                **{**own, "content": text_of(message)}, tool_calls=calls or None, model=self._episode.policy
            )
        if message["role"] == "tool":
            return ChatMessageTool(**own, tool_call_id=message["tool_call_id"], function=message["name"])
        return ChatMessageSystem(**own) if message["role"] == "system" else ChatMessageUser(**own)

    def _content(self, blocks: Sequence[Block]) -> list[Any]:
        from inspect_ai.model import ContentText

        return [
            ContentText(text=block["text"]) if block["type"] == "text" else self._picture(block["digest"]) for block in blocks
        ]

    def _picture(self, digest: str) -> Any:
        from inspect_ai.model import ContentImage

        if digest not in self._written:
            self._written[digest] = data_url(self._store.png(digest), "image/png")
        return ContentImage(image=self._written[digest])

    def _output(self) -> Any:
        from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant, ContentText, ModelOutput

        answer, drawn = self._episode.answer, self._episode.drawn
        if answer is None:
            return ModelOutput(model=self._episode.policy)
        said: list[Any] = [ContentText(text=json.dumps(answer, ensure_ascii=False))]
        if drawn is not None:
            said.append(self._picture(drawn["digest"]))
        message = ChatMessageAssistant(id=f"{self._id}-answer", content=said, model=self._episode.policy)
        return ModelOutput(model=self._episode.policy, choices=[ChatCompletionChoice(message=message, stop_reason="stop")])

    def _events(self) -> Iterator[Event]:
        """Yields one event a tool call or unreadable turn, and one for what the cutoff removed from its results."""
        from inspect_ai.event import InfoEvent, ToolEvent
        from inspect_ai.tool import ToolCallError

        episode, elapsed = self._episode, 0.0
        calls = _Calls(episode)
        for number, (step, seconds) in enumerate(zip(episode.steps, episode.timings, strict=True)):
            own: dict[str, Any] = {
                "uuid": f"{self._id}-step-{number}",
                "timestamp": self._began + timedelta(seconds=elapsed),
                "working_start": elapsed,
            }
            elapsed += seconds
            if not step["name"]:
                yield InfoEvent(**own, source="unreadable turn", data=step["error"])
                continue
            arguments, reply = calls.next(step["call"])
            error = ToolCallError(type="unknown", message=step["error"]) if step["error"] else None
            yield ToolEvent(
                **own,
                id=step["call"],
                function=step["name"],
                arguments=arguments,
                result=[] if reply is None else self._content(reply["content"]),
                error=error,
                failed=not step["ok"],
                completed=self._began + timedelta(seconds=elapsed),
                working_time=seconds,
                metadata={"notes": step["notes"]} if step["notes"] else None,
            )
            removed: list[Any] = [one for one in episode.decisions if one["call"] == step["call"] and not one["kept"]]
            if removed:
                yield InfoEvent(**{**own, "uuid": f"{own['uuid']}-cutoff"}, source="removed by the cutoff", data=removed)


class _Calls:
    """The calls of an episode with their replies, in the order they were made; ids may come again in a later turn."""

    def __init__(self, episode: Episode) -> None:
        self._left: list[tuple[str, dict[str, Any], Message | None]] = []
        for message in episode.messages:
            if message["role"] == "assistant":
                made = message.get("tool_calls", [])
                self._left += [(call["id"], call["function"]["arguments"], None) for call in made]
            elif message["role"] == "tool":
                place = max(
                    n for n, (call_id, _, reply) in enumerate(self._left) if call_id == message["tool_call_id"] and reply is None
                )
                self._left[place] = (*self._left[place][:2], message)

    def next(self, call_id: str) -> tuple[dict[str, Any], Message | None]:
        """Returns arguments and reply of the next call of that id."""
        place = next(number for number, (one, _, _) in enumerate(self._left) if one == call_id)
        _, arguments, reply = self._left[place]
        del self._left[: place + 1]
        return arguments, reply


def _limit(episode: Episode) -> EvalSampleLimit | None:
    from inspect_ai.log import EvalSampleLimit

    if episode.end_reason not in _LIMITS:
        return None
    kind, count = _LIMITS[episode.end_reason]
    reached = float(episode.usage.get(count, 0))
    return EvalSampleLimit(type=kind, limit=reached, reason=f"{count.replace('_', ' ')} used up without an answer")


def _scores(episode: Episode) -> dict[str, Score]:
    """Returns the reward and its components; unscored is unscored there, too."""
    from inspect_ai.scorer import Score

    scores = {}
    total = episode.reward if episode.reward_valid else None
    for name, value in (*episode.rewards.items(), (REWARD, total)):
        reasons = [f"{one['judge']}: {one['reason']}" for one in _verdicts(episode, name)]
        explanation = "\n".join(reasons) or episode.failure or ("not valid" if value is None else None)
        answer = None if episode.answer is None else str(episode.answer["prompt"])
        if value is None:
            scores[name] = Score.unscored(reason="scoring_failed", explanation=explanation, answer=answer)
        else:
            scores[name] = Score(value=value, answer=answer, explanation=explanation)
    return scores


def _verdicts(episode: Episode, component: str) -> Sequence[dict[str, Any]]:
    """Returns the verdicts a component rests on: those of the judge named like it, else all."""
    named = {"identity": "generation", "context": "generation", "checklist_strict": "checklist"}.get(component, component)
    return [one for one in episode.verdicts if str(one["judge"]).startswith(named)] or episode.verdicts
