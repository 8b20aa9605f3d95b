"""One session: OpenEnv's environment over a `WildEnv`, one episode at a time.

A session is used by one thread at a time, as the server sees to. Whatever is raised here is sent to the client in words: errors
of the client's own making as they are, anything else as `INTERNAL`, with the details in the server's log only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import EnvironmentMetadata

import wildenv.policy
from wildenv.adapters.openenv.models import WildAction, WildObservation, WildState, WirePicture
from wildenv.env import WildEnv
from wildenv.errors import ConfigError, UsageError
from wildenv.messages import storable
from wildenv.secrets import logger
from wildenv.task import Task

NAME = "wildenv"
"""What OpenEnv's clients call the environment."""

INTERNAL = "the server failed; its log says why"

_log = logger(__name__)


class WildSession(Environment):  # type: ignore[misc] # openenv is untyped
    """A session of the server.

    Args:
        make_env: Makes the environment, which nobody else uses; its web, tasks and reward may be shared.
        split: What its tasks are called.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, make_env: Callable[[], WildEnv], split: str) -> None:
        super().__init__()
        self._env = make_env()
        self._split = split
        self._state = WildState(tools=self._env.tools_schema())
        self._closed = False

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        task_id: str | None = None,
        split: str | None = None,
        index: int | None = None,
        system_prompt: str | None = None,
        policy: str | None = None,
        **unknown: Any,
    ) -> WildObservation:
        """Starts an episode.

        Args:
            seed: Draws the task; the same seed draws the same one.
            episode_id: Comes back in the state.
            task_id: Names the task instead.
            split: With `index`, names the task by its place.
            index: Its place among the tasks.
            system_prompt: Replaces the first message of the recorded chat.
            policy: Name of the policy in the record.

        Raises:
            ConfigError: If an argument is wrong.
            UsageError: If the session is closed.
        """
        with self._told():
            if unknown:
                raise ConfigError(f"reset has no argument {sorted(unknown)[0][:40]!r}")
            for name, value in (("seed", seed), ("index", index)):
                if value is not None and (type(value) is not int or value < 0):
                    raise ConfigError(f"{name} must be a whole number, 0 or more")
            given = {"task_id": task_id, "system_prompt": system_prompt, "policy": policy}
            for name, text in (*given.items(), ("episode_id", episode_id), ("split", split)):
                if text is not None and not isinstance(text, str):
                    raise ConfigError(f"{name} must be a string")
            if index is not None:
                if task_id is not None:
                    raise ConfigError("give task_id or index, not both")
                given["task_id"] = self._at(split or self._split, index).id
            elif task_id is not None:
                self._check_task(task_id)
            observation, info = self._env.reset(seed=seed, options={name: one for name, one in given.items() if one is not None})
            self._state = WildState(
                episode_id=episode_id,
                task_id=info["task_id"],
                task_prompt=storable(self._env.task_prompt),
                calls_left=observation["calls_left"],
                tools=self._env.tools_schema(),
            )
            first = self._observed(observation, info, None, False)
            first.task_prompt, first.tools = self._state.task_prompt, self._state.tools
            return first

    def step(self, action: WildAction, timeout_s: float | None = None, **unknown: Any) -> WildObservation:
        """Plays one assistant message; tools have time limits of their own, so that `timeout_s` is refused.

        Raises:
            ConfigError: If an argument is wrong.
            UsageError: Before the first reset, after the end of an episode, and if the session is closed.
        """
        with self._told():
            if unknown or timeout_s is not None:
                raise ConfigError("step takes a message and nothing else")
            if not self._state.task_id:
                raise UsageError("call reset before step: this session, which lasts as long as its connection, has no episode")
            observation, reward, terminated, truncated, info = self._env.step(action.message)
            self._state.step_count += 1
            self._state.calls_left = observation["calls_left"]
            self._state.end_reason = info["end_reason"]
            if info["failure"]:
                _log.warning("task %s ended by a failure: %s", info["task_id"], info["failure"])
            return self._observed(observation, info, reward, terminated or truncated)

    @property
    def state(self) -> WildState:
        """Where the episode is."""
        return self._state

    def get_metadata(self) -> EnvironmentMetadata:
        """Returns what the environment is called and what it is."""
        return EnvironmentMetadata(
            name=NAME, description="Find references for an image generator on a web with four tools, then answer."
        )

    def list_splits(self) -> list[dict[str, str]]:
        """Returns the one split there is."""
        kind = self._split if self._split in ("train", "validation", "test") else "validation"
        return [{"name": self._split, "type": kind}]

    def num_tasks(self, split: str) -> int:
        """Returns how many tasks there are."""
        self._check_split(split)
        return len(self._env.tasks)

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        """Returns the public half of a task; raises IndexError if there is none."""
        if not 0 <= index < self.num_tasks(split):
            raise IndexError(index)
        return self._env.tasks[index].public()

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[dict[str, Any]]:
        """Returns the public halves of a slice of the tasks."""
        return [self._env.tasks[index].public() for index in range(self.num_tasks(split))[start:stop]]

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        """Returns the public halves of all tasks."""
        return self.get_task_range(split)

    def close(self) -> None:
        """Ends the session: it can play no more."""
        self._closed = True
        self._env.close()

    def _observed(
        self, observation: wildenv.policy.Observation, info: dict[str, Any], reward: float | None, done: bool
    ) -> WildObservation:
        return WildObservation(
            text=storable(observation["text"]),
            images=[WirePicture.of(pixels) for pixels in observation["images"]],
            calls_left=observation["calls_left"],
            done=done,
            reward=reward,
            reward_valid=info["reward_valid"],
            rewards=info["rewards"],
            end_reason=info["end_reason"],
            failure=_kind(info),
            digest=info["digest"],
            task_id=info["task_id"],
        )

    def _at(self, split: str, index: int) -> Task:
        self._check_split(split)
        count = len(self._env.tasks)
        if index >= count:
            raise ConfigError(f"index {index}: there are {count} tasks")
        return self._env.tasks[index]

    def _check_split(self, split: str) -> None:
        if split != self._split:
            raise ConfigError(f"there is no split {split[:40]!r}; the tasks served are called {self._split!r}")

    def _check_task(self, task_id: str) -> None:
        try:
            self._env.tasks.by_id(task_id)
        except ConfigError:
            # A source's own words name the file it was read from.
            raise ConfigError(f"there is no task {task_id[:80]!r}; POST /{NAME}/tasks lists those there are") from None

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Lets errors of the client's making pass, and keeps all others on this side."""
        if self._closed:
            raise UsageError("this session is closed; connect again")
        try:
            yield
        except (ConfigError, UsageError):
            raise
        except Exception:  # noqa: BLE001 - told to the log, and to the client without its words
            _log.exception("a session failed")
            raise RuntimeError(INTERNAL) from None


def _kind(info: dict[str, Any]) -> str:
    """Returns what failed and how, without the words of the failure: they may name files and addresses of the server."""
    if not info["failure"]:
        return ""
    if info["end_reason"] == "judge":
        return "judge"
    return ": ".join(info["failure"].split(": ")[:2])
