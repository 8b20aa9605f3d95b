"""Plays a batch of rollouts turn by turn: one generation for all that are still running, then all their tools at once.

TRL 1.16 runs the tools of a batch one after the other, so that a turn costs the sum of their latencies. Here each environment is
stepped in a thread of its own, and a turn costs the slowest of them.

The ids a model drew are kept and never encoded again (see `trainers.rl.trace`); what follows them comes from the encoder that
supervised training and evaluation use. A tool's thread that outlives its rollout's deadline is left behind with its environment.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any, Protocol

from agents.encode import Encoded, TrajectoryEncoder
from agents.transcript import turn_seed
from trainers.rl.trace import Trace, Turn
from wildenv.adapters.trl import Session
from wildenv.errors import ConfigError, told


class Generate(Protocol):
    """Draws the next turn of each rollout, with a seed each."""

    def __call__(self, traces: Sequence[Trace], seeds: Sequence[int]) -> list[Turn]: ...


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a rollout may go.

    Attributes:
        max_length: Tokens of the whole chat.
        max_new_tokens: Tokens of a turn.
        deadline_s: Seconds of its tools and of drawing; None sets no limit.
        concurrency: Environments stepped at once; None is all of them.
    """

    max_length: int
    max_new_tokens: int
    deadline_s: float | None = None
    concurrency: int | None = None


class Roller:
    """Plays rollouts.

    Args:
        encoder: Of the model that is trained.
        generate: Draws turns.
        limits: How far a rollout may go.
        any_rank: Says whether any rank still plays, given whether this one does; for backends whose calls all ranks must join.

    Raises:
        ConfigError: If a limit is out of range.
    """

    def __init__(
        self,
        encoder: TrajectoryEncoder,
        generate: Generate,
        limits: Limits,
        any_rank: Callable[[bool], bool] = bool,
    ) -> None:
        if not 0 < limits.max_new_tokens < limits.max_length:
            raise ConfigError(
                f"rollout.max_new_tokens={limits.max_new_tokens} must be above 0 and below trainer.max_length={limits.max_length}"
            )
        if limits.concurrency is not None and limits.concurrency < 1:
            raise ConfigError(f"rollout.concurrency={limits.concurrency} must be at least 1; null is all rollouts at once")
        if limits.deadline_s is not None and not limits.deadline_s > 0:
            raise ConfigError(f"rollout.deadline_s={limits.deadline_s} must be above 0; null sets no limit")
        self._encoder = encoder
        self._generate = generate
        self._limits = limits
        self._any_rank = any_rank

    def play(self, sessions: Sequence[Session], seeds: Sequence[int]) -> list[Trace]:
        """Plays started episodes to their ends.

        Args:
            sessions: Each with an episode that has just been started.
            seeds: Of the draws of each.

        Returns:
            A trace each, in order.

        Raises:
            ConfigError: If a first prompt leaves no room for a turn, naming the setting.
        """
        traces = [Trace(session, seed) for session, seed in zip(sessions, seeds, strict=True)]
        for trace in traces:
            self._hear(trace)
            if len(trace) + self._limits.max_new_tokens > self._limits.max_length:
                raise ConfigError(
                    f"the first prompt of {trace.session.episode.task_id} has {len(trace)} tokens, which leaves no room for a "
                    f"turn of rollout.max_new_tokens={self._limits.max_new_tokens}; raise "
                    f"trainer.max_length={self._limits.max_length}"
                )
        running = list(traces)
        # Of this roll: a thread that is left behind keeps its place.
        places = threading.Semaphore(max(1, min(self._limits.concurrency or len(traces), len(traces))))
        drawing = 0.0
        while self._any_rank(bool(running)):
            began = time.monotonic()
            turns = self._generate(running, [turn_seed(trace.seed, len(trace.turns) + 1) for trace in running])
            drawing += time.monotonic() - began
            for trace, turn in zip(running, turns, strict=True):
                trace.say(turn, self._encoder.tokenizer.eos_token_id)
            self._step(places, running, drawing)
            running = [trace for trace in running if not trace.session.ended and self._next(trace)]
        return traces

    def _step(self, places: threading.Semaphore, running: Sequence[Trace], drawing: float) -> None:
        """Steps all environments at once. Each has its own clock: drawing, which all share, and its own tools."""
        began = time.monotonic()
        steps = {_start(places, trace, self._encoder.decode(trace.turns[-1])): trace for trace in running}
        left = {step: self._left(trace, drawing) for step, trace in steps.items()}
        waiting = set(steps)
        while waiting:
            gone = time.monotonic() - began
            limit = min(left[step] for step in waiting)
            done, waiting = wait(waiting, None if limit == math.inf else max(0.0, limit - gone), FIRST_COMPLETED)
            for step in done:
                _raise(step)
            for step in [step for step in waiting if time.monotonic() - began >= left[step]]:
                waiting.discard(step)
                step.cancel()
                self._abandon(steps[step])
        for trace in running:
            if self._left(trace, drawing) <= 0:
                self._abandon(trace)

    def _left(self, trace: Trace, drawing: float) -> float:
        return math.inf if self._limits.deadline_s is None else self._limits.deadline_s - drawing - trace.seconds

    def _abandon(self, trace: Trace) -> None:
        if not trace.session.ended:
            limit = self._limits.deadline_s
            trace.session.abandon(f"more than {limit} s; see rollout.deadline_s and env.tool_deadline_s")

    def _next(self, trace: Trace) -> bool:
        """Lets a rollout hear the replies, unless no turn would fit behind them."""
        piece = self._piece(trace)
        if len(trace) + len(piece) + self._limits.max_new_tokens > self._limits.max_length:
            trace.session.env.stop("context")
            return False
        self._hear(trace, piece)
        return True

    def _piece(self, trace: Trace) -> Encoded:
        session = trace.session
        return self._encoder.encode_next(session.episode.messages, session.tools, session.store)

    def _hear(self, trace: Trace, piece: Encoded | None = None) -> None:
        if not self._encoder.vision:
            pictures: list[str] = []
        else:
            shown = [b["digest"] for m in trace.session.episode.messages for b in m["content"] if b["type"] == "image"]
            pictures = shown[len(trace.pictures) :]
        trace.hear(piece or self._piece(trace), pictures)


def _start(places: threading.Semaphore, trace: Trace, text: str) -> Future[None]:
    """Steps an environment in a thread of its own, which the process does not wait for when it ends."""
    step: Future[None] = Future()

    def work() -> None:
        with places:
            if not step.set_running_or_notify_cancel():
                return
            began = time.perf_counter()
            try:
                trace.session.say(text)
            except BaseException as error:  # noqa: BLE001 - raised where the step is waited for
                step.set_exception(error)
            else:
                trace.seconds += time.perf_counter() - began
                step.set_result(None)

    threading.Thread(target=work, name="rollout", daemon=True).start()
    return step


def _raise(step: Future[Any]) -> None:
    """A step of an environment records what fails in it; what it raises is a fault of ours or of the configuration."""
    error = step.exception()
    if error is not None:
        raise RuntimeError(f"a rollout could not be stepped: {told(error)}") from error
