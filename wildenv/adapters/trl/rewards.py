"""A reward as TRL's batch functions: one for each component that carries weight.

Each function is given the whole batch and scores it at once; however many functions there are, an answer is drawn and judged
once, and the means of all components, those without weight too, are logged. All functions return None, which TRL calls
abstaining, for a rollout whose episode failed for no fault of the agent's or of which one component is unscored: TRL 1.16 adds up
what the functions of a rollout return as if a None among numbers were a 0.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from wildenv.adapters.trl.environment import WildTools, session_of
from wildenv.adapters.trl.session import Session
from wildenv.errors import ConfigError
from wildenv.rewards.base import Reward, RewardReport
from wildenv.rewards.combined import CombinedReward
from wildenv.rewards.settings import IMAGE, SUFFICIENCY
from wildenv.scoring import ask

BatchReward = Callable[..., Awaitable[list[float | None]]]

IMAGE_REWARD, TEXT_REWARD = "image_reward", "text_reward"
BONUS_REWARD = "bonus_reward"
REWARD = "reward_value"


@dataclass(frozen=True, slots=True)
class RewardFunction:
    """One of TRL's ``reward_funcs``.

    Attributes:
        name: Under which TRL logs it: ``image_reward`` and ``text_reward`` for the two sides of the dual reward.
        weight: For ``reward_weights``: 1-α and α.
        function: Async; takes ``environments`` and returns one number or None for each.
    """

    name: str
    weight: float
    function: BatchReward


def reward_functions(reward: Reward, concurrency: int = 16) -> list[RewardFunction]:
    """Splits a reward into TRL's functions, so that their weighted sum is its value.

    Args:
        reward: A combined reward gives one function for each judged component that carries weight, and one more for its
            bonuses, which are earned in proportion to the others; any other reward gives a single function, ``reward_value``.
        concurrency: Rollouts drawn and judged at once.

    Raises:
        ConfigError: If `concurrency` is below 1.
    """
    if concurrency < 1:
        raise ConfigError(f"trainer.judge_concurrency={concurrency} must be at least 1")
    asked = _Scored(reward, concurrency)
    if not isinstance(reward, CombinedReward):
        return [_function(REWARD, 1.0, asked, lambda report: report.value)]
    judged = {
        component.name: reward.weights[component.name]
        for component in reward.components
        if reward.weights.get(component.name) and not component.bonus
    }
    functions = [_function(_name(name), weight, asked, _earned(name)) for name, weight in judged.items()]
    if any(component.bonus and reward.weights.get(component.name) for component in reward.components):
        functions.append(_function(BONUS_REWARD, 1.0, asked, lambda report: report.value - _sum(report, judged)))
    return functions


class _Scored:
    """Asks the reward once for each episode, whoever wants to know."""

    def __init__(self, reward: Reward, concurrency: int) -> None:
        self._reward = reward
        self._concurrency = concurrency
        self._running: dict[int, asyncio.Task[None]] = {}
        self._free: asyncio.Semaphore | None = None
        self._logged: list[RewardReport] = []

    async def all(self, sessions: Sequence[Session]) -> None:
        """Scores the sessions that have not been scored yet."""
        # A semaphore belongs to the loop it is first used in, which is TRL's.
        self._free = self._free or asyncio.Semaphore(self._concurrency)
        for session in sessions:
            if session.report is None and id(session) not in self._running:
                self._running[id(session)] = asyncio.create_task(self._one(session, self._free))
        waited = [self._running[id(session)] for session in sessions if id(session) in self._running]
        await asyncio.gather(*waited)
        for session in sessions:
            self._running.pop(id(session), None)

    def log(self, sessions: Sequence[Session], log_metric: Callable[[str, float], None]) -> None:
        """Logs the mean of every component of a batch, parts included, over the answers it was scored for; once a batch."""
        reports = [session.report for session in sessions if session.report is not None]
        if len(reports) == len(self._logged) and all(one is other for one, other in zip(reports, self._logged, strict=True)):
            return
        self._logged = reports
        for name in sorted({name for report in reports for name in report.components}):
            values = [value for report in reports if (value := report.components.get(name)) is not None]
            if values:
                log_metric(f"components/{name}", sum(values) / len(values))

    async def _one(self, session: Session, free: asyncio.Semaphore) -> None:
        if not session.ended:
            session.env.stop("turns")
        if session.episode.failure is None:
            async with free:
                session.settle(await ask(self._reward, session.task, session.submission))


def _function(name: str, weight: float, asked: _Scored, read: Callable[[RewardReport], float | None]) -> RewardFunction:
    async def function(
        environments: Sequence[WildTools], log_metric: Callable[[str, float], None] | None = None, **_: Any
    ) -> list[float | None]:
        sessions = [session_of(environment) for environment in environments]
        await asked.all(sessions)
        if log_metric is not None:
            asked.log(sessions, log_metric)
        return [_read(session.report, read) for session in sessions]

    function.__name__ = function.__qualname__ = name
    return RewardFunction(name, weight, function)


def _read(report: RewardReport | None, read: Callable[[RewardReport], float | None]) -> float | None:
    return None if report is None or not report.valid else read(report)


def _earned(name: str) -> Callable[[RewardReport], float | None]:
    return lambda report: report.earned[name]


def _sum(report: RewardReport, weights: dict[str, float]) -> float:
    return sum(weight * (report.earned[name] or 0.0) for name, weight in weights.items())


def _name(component: str) -> str:
    if component in IMAGE:
        return IMAGE_REWARD
    return TEXT_REWARD if component == SUFFICIENCY else f"{component}_reward"
