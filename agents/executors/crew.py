"""The workers of a run and who plays what.

A task is with one worker at a time, and it is done when its episode has come back; what a dead worker had is given to another.
Which of several tasks killed it nobody knows: each of them is played again by a worker that has nothing else, so that only a task
that kills its worker by itself is given up, never its neighbours.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from agents.executors.worker import Played
from wildenv.errors import ConfigError, InfrastructureError, WildenvError
from wildenv.secrets import logger

_LOG = logger(__name__)
_LOOK_S = 1.0
_LAST_WORD_S = 30.0
_DETAIL = re.compile(r"Worker exit detail: (.*?)(?: Some common causes|$)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Rules:
    """How a crew works.

    Attributes:
        workers: How many.
        at_once: Tasks a worker is given at a time.
        retries: How often a task whose worker died is given to another.
        max_restarts: Dead workers that are replaced in the whole run.
        start_s: Seconds within which one worker must be ready.
    """

    workers: int
    at_once: int
    retries: int
    max_restarts: int
    start_s: float


@dataclass(frozen=True, slots=True)
class Lost:
    """A task that is given up.

    Attributes:
        task_id: The task.
        reason: Why.
    """

    task_id: str
    reason: str


@dataclass(slots=True)
class _Task:
    id: str
    deaths: int = 0


@dataclass(slots=True, eq=False)
class _Hand:
    """A worker, from its start to its end."""

    actor: Any
    opening: Any
    tasks: dict[Any, _Task] = field(default_factory=dict)
    ready: bool = False
    alone: bool = False
    report: dict[str, Any] | None = None
    heard: int = 0


class Crew:
    """Plays tasks on actors.

    Args:
        ray: The module, connected.
        hire: Starts an actor of `agents.executors.worker.Worker`; returns it and the reference of what its `open` returns.
        web: Digest of the web that every worker must play in.
        rules: How it works.
    """

    def __init__(self, ray: ModuleType, hire: Callable[[], tuple[Any, Any]], web: str, rules: Rules) -> None:
        self._ray = ray
        self._hire = hire
        self._web = web
        self._rules = rules
        self._hands: list[_Hand] = []
        self._todo: deque[_Task] = deque()
        self._suspects: deque[_Task] = deque()
        self._settled: deque[Played | Lost] = deque()
        self._gone: list[dict[str, Any]] = []
        self._restarts = 0
        self._stillborn = 0
        self._idle_since: float | None = None

    def reports(self) -> list[dict[str, Any]]:
        """Returns the last report of each worker; what a dead one asked for after that is not known."""
        return [*self._gone, *(hand.report for hand in self._hands if hand.report is not None)]

    def play(self, task_ids: Sequence[str]) -> Iterator[Played | Lost]:
        """Plays the tasks, each once, and gives them in the order they end.

        Raises:
            ConfigError: If a worker finds that a setting is wrong.
            InfrastructureError: If workers do not start, or more than `max_restarts` died.
        """
        self._todo.extend(_Task(task_id) for task_id in task_ids)
        try:
            for _ in range(min(self._rules.workers, len(self._todo))):
                self._start()
            while self._todo or self._suspects or any(hand.tasks for hand in self._hands):
                self._feed()
                self._wait()
                while self._settled:
                    yield self._settled.popleft()
        finally:
            for hand in self._hands:
                self._ray.kill(hand.actor)

    def _start(self) -> None:
        actor, opening = self._hire()
        self._hands.append(_Hand(actor, opening))

    def _feed(self) -> None:
        ready = [hand for hand in self._hands if hand.ready]
        for hand in ready:
            if hand.tasks:
                continue
            hand.alone = bool(self._suspects)
            if hand.alone:
                self._give(hand, self._suspects.popleft())
        open_to_more = [hand for hand in ready if not hand.alone]
        while self._todo and open_to_more:
            # Evenly, so that at the end none has tasks waiting while another has none.
            hand = min(open_to_more, key=lambda one: len(one.tasks))
            if len(hand.tasks) >= self._rules.at_once:
                return
            self._give(hand, self._todo.popleft())

    def _give(self, hand: _Hand, task: _Task) -> None:
        hand.tasks[hand.actor.play.remote(task.id)] = task

    def _wait(self) -> None:
        if any(hand.ready for hand in self._hands):
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = time.monotonic()
        owners = {ref: hand for hand in self._hands for ref in (*hand.tasks, *(() if hand.ready else (hand.opening,)))}
        done, _ = self._ray.wait(list(owners), num_returns=1, timeout=_LOOK_S)
        if done:
            self._take(owners[done[0]], done[0])
        elif self._idle_since is not None and time.monotonic() - self._idle_since > self._rules.start_s:
            raise InfrastructureError(
                f"no worker was ready within executor.start_s={self._rules.start_s:g} s; the cluster has "
                f"{_resources(self._ray.available_resources())} to give: lower "
                "executor.cpus_per_worker or executor.gpus_per_worker, or wait longer"
            )

    def _take(self, hand: _Hand, ref: Any) -> None:
        errors = self._ray.exceptions
        try:
            value = self._ray.get(ref, timeout=_LAST_WORD_S)
        except errors.RayTaskError as error:
            # What the worker itself raised ends the run, as it would in this process.
            raise error.cause if isinstance(error.cause, WildenvError) else error from error
        except errors.RayError as error:
            self._bury(hand, error)
            return
        if ref is hand.opening:
            self._welcome(hand, value)
        else:
            self._keep(hand, ref, value)

    def _welcome(self, hand: _Hand, web: str) -> None:
        if web != self._web:
            raise ConfigError(
                f"a worker plays in web {web[:12]} and this process in {self._web[:12]}: web.store must be the same "
                "file on every machine"
            )
        hand.ready = True
        self._stillborn = 0

    def _keep(self, hand: _Hand, ref: Any, played: Played) -> None:
        del hand.tasks[ref]
        if played.number > hand.heard:
            hand.heard, hand.report = played.number, played.report
        self._settled.append(played)

    def _bury(self, hand: _Hand, error: Exception) -> None:
        """Takes a dead worker out, keeps what it had finished, and sees to the rest."""
        self._ray.kill(hand.actor)
        reason = _reason(error)
        lost: list[_Task] = []
        for ref, task in list(hand.tasks.items()):
            try:
                self._keep(hand, ref, self._ray.get(ref, timeout=_LAST_WORD_S))
            except self._ray.exceptions.RayTaskError:
                raise
            except self._ray.exceptions.RayError:
                lost.append(task)
        self._hands.remove(hand)
        if hand.report is not None:
            self._gone.append(hand.report)
        self._restarts += 1
        self._stillborn += not hand.ready
        # On its own line: a progress bar may be on this one.
        _LOG.warning("a worker died (%s); of the tasks it had, %d are played again", reason, len(lost))
        for task in lost:
            task.deaths += 1
            if task.deaths > self._rules.retries:
                self._settled.append(Lost(task.id, f"{task.deaths} workers died while they played it; the last: {reason}"))
            else:
                self._suspects.append(task)
        if self._restarts > self._rules.max_restarts:
            raise InfrastructureError(
                f"more than executor.max_restarts={self._rules.max_restarts} workers died; the last: {reason}. "
                "What was finished is kept"
            )
        if self._stillborn > self._rules.retries:
            raise InfrastructureError(
                f"{self._stillborn} workers in a row died before they were ready; the last: {reason}. "
                "Lower executor.workers if memory is short"
            )
        if self._todo or self._suspects or not self._hands:
            self._start()


def _reason(error: Exception) -> str:
    text = str(error)
    found = _DETAIL.search(text)
    return " ".join((found[1] if found else text.strip().splitlines()[-1] if text.strip() else type(error).__name__).split())


def _resources(found: dict[str, float]) -> str:
    return f"{found.get('CPU', 0):g} CPUs and {found.get('GPU', 0):g} GPUs"
