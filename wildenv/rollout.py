"""Runs many episodes at once: a deadline for each, a record of each, and a resume that rolls only what is missing or failed.

A failed episode is data: it is recorded with its reason and does not stop the others. Episodes are appended in the order
they end; readers that need a fixed order use `wildenv.episode.LatestEpisodes`. A tool that hangs past its episode's deadline
keeps its thread until it returns. A policy whose `act` blocks instead of awaiting stops all episodes, and the deadline with them.

The deadline is the agent's: for its turns and its tools. What it answered in time is drawn and judged however long that takes;
generators and judges have time limits of their own, and one without holds up its episode.
"""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wildenv.env import WildEnv
from wildenv.episode import MODEL_USAGE, Episode
from wildenv.errors import ConfigError, told
from wildenv.harvest import Harvest
from wildenv.harvest import RolloutSummary as RolloutSummary
from wildenv.harvest import episode_seed as episode_seed
from wildenv.lock import only_writer
from wildenv.policy import Policy


async def play(env: WildEnv, policy: Policy, task_id: str, seed: int, deadline_s: float | None = None, name: str = "") -> Episode:
    """Plays one episode to its end.

    Args:
        env: An environment nobody else is using.
        policy: A policy nobody else is using.
        task_id: The task.
        seed: For the environment and the policy.
        deadline_s: Seconds of wall clock for the agent's turns and its tools; None for no limit.
        name: Name of the policy in the record.

    Returns:
        The record. A policy that raises, or runs out of time, ends the episode as a failure with its reason.

    Raises:
        ConfigError: If the policy's ``usage`` is not what `wildenv.policy.Policy` says.
    """
    slot = _Slot(env)
    try:
        return await _play(slot, policy, task_id, seed, deadline_s, name or type(policy).__name__)
    finally:
        slot.threads.shutdown(wait=False)


async def rollout(
    make_env: Callable[[], WildEnv],
    make_policy: Callable[[], Policy],
    task_ids: Sequence[str],
    folder: str | Path,
    *,
    seed: int = 0,
    concurrency: int = 8,
    deadline_s: float | None = 300.0,
    max_failed: float | None = None,
    resume: bool = True,
    name: str = "",
    progress: bool = True,
    description: str = "episodes",
) -> RolloutSummary:
    """Plays a task each and appends the episodes to a folder.

    Args:
        make_env: Makes an environment; called once for each of `concurrency` slots, and again after a deadline passed.
        make_policy: Makes a policy; called once an episode, and once to learn the name if there is nothing to play.
        task_ids: What to play.
        folder: Where episodes go.
        seed: Seed of the run.
        concurrency: Episodes at once.
        deadline_s: Wall clock of an episode in seconds, scoring excepted.
        max_failed: Share of failed episodes above which the rollout stops, looked at from the twentieth episode on.
        resume: Keep what the folder holds already and roll only missing and failed episodes; without it the folder must be
            empty.
        name: Name of the policy in the records; its class by default.
        progress: Whether to say how far it is, on standard error.
        description: Its label.

    Raises:
        ConfigError: If a setting is out of range, the folder cannot be written, it holds episodes and `resume` is off, it
            holds episodes of another policy or web, another run is writing it, or the policy's ``usage`` is not what
            `wildenv.policy.Policy` says.
        InfrastructureError: If more than `max_failed` of the episodes failed; the message gives the last reason.
    """
    if concurrency < 1:
        raise ConfigError(f"concurrency={concurrency} must be at least 1")
    if deadline_s is not None and not deadline_s > 0:
        raise ConfigError(f"deadline_s={deadline_s} must be above 0; null sets no limit")
    with only_writer(folder):
        env, policies = make_env(), [make_policy()]
        name = name or type(policies[0]).__name__
        harvest = Harvest(
            Path(folder),
            task_ids,
            seed,
            name,
            env.web.digest,
            max_failed=max_failed,
            resume=resume,
            progress=progress,
            description=description,
        )
        todo = harvest.todo
        slots = [_Slot(env), *(_Slot(make_env()) for _ in range(min(concurrency, len(todo)) - 1))]
        free, writing = asyncio.Semaphore(len(slots)), asyncio.Lock()

        async def one(task_id: str) -> None:
            slot = slots.pop()
            try:
                policy = policies.pop() if policies else make_policy()
                episode = await _play(slot, policy, task_id, episode_seed(seed, task_id), deadline_s, name)
                async with writing:
                    await asyncio.to_thread(harvest.write, episode, slot.env.store)
            finally:
                if slot.stuck:
                    slot.threads.shutdown(wait=False)
                    slot = _Slot(make_env())
                slots.append(slot)
                free.release()
            harvest.count(episode)

        try:
            async with asyncio.TaskGroup() as group:
                for task_id in todo:
                    await free.acquire()
                    group.create_task(one(task_id))
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        finally:
            harvest.close()
            for slot in slots:
                slot.threads.shutdown(wait=False)
        return harvest.summary


@dataclass(slots=True)
class _Slot:
    """An environment and the thread it runs in. It is stuck once a deadline has passed: the thread may still be in a tool."""

    env: WildEnv
    threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(max_workers=1))
    stuck: bool = False


async def _play(slot: _Slot, policy: Policy, task_id: str, seed: int, deadline_s: float | None, name: str) -> Episode:
    loop, env = asyncio.get_running_loop(), slot.env
    options = {"task_id": task_id, "system_prompt": getattr(policy, "system_prompt", None), "policy": name}
    observation, _ = await loop.run_in_executor(slot.threads, lambda: env.reset(seed=seed, options=options))
    step: asyncio.Future[Any] | None = None
    try:
        async with asyncio.timeout(deadline_s):
            started = ended = False
            while not ended:
                try:
                    if not started:
                        policy.reset(env.task_prompt, env.tools_schema(), seed)
                    started = True
                    turn = policy.act(observation)
                    if not inspect.isawaitable(turn):
                        raise TypeError("act must be async, so that many episodes are played at once; write `async def act`")
                    action = await turn
                except (Exception, asyncio.CancelledError) as error:
                    # A policy may raise anything; it becomes the recorded failure.
                    current = asyncio.current_task()
                    if isinstance(error, asyncio.CancelledError) and current is not None and current.cancelling():
                        # The deadline passed, or the whole rollout ends: not the policy's doing.
                        raise
                    env.fail("policy", told(error))
                    break
                step = loop.run_in_executor(slot.threads, env.step, action)
                observation, _, terminated, truncated, _ = await asyncio.shield(step)
                ended = terminated or truncated
    except TimeoutError:
        if step is None or not env.scoring:
            slot.stuck = True
            return _told(env.episode.failed("deadline", f"more than {deadline_s} s"), policy)
        await step
    finally:
        if step is not None:
            step.cancel()
    return _told(env.episode, policy)


def _told(episode: Episode, policy: Policy) -> Episode:
    """Writes what the policy tells of its model into the usage of an episode that has ended."""
    usage = getattr(policy, "usage", None)
    if usage is None:
        return episode
    told = {name: usage[said] for name, said in MODEL_USAGE.items() if said in usage} if isinstance(usage, Mapping) else None
    if told is None or not all(type(count) in (int, float) and 0 <= count < math.inf for count in told.values()):
        raise ConfigError(
            f"{type(policy).__name__}.usage must be a mapping of numbers, 0 or more, such as {{'calls': 3}}, not {usage!r}"
        )
    episode.usage = {**episode.usage, **told}
    return episode
