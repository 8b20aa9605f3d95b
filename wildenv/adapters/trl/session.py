"""One rollout behind the tools: an environment without a reward, played by a trainer and scored with its batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wildenv.env import WildEnv
from wildenv.episode import Episode
from wildenv.errors import ConfigError
from wildenv.images import ImageStore
from wildenv.judges.base import Submission
from wildenv.messages import Block, Message
from wildenv.rewards.base import RewardReport
from wildenv.task import Task


class Session:
    """Plays one episode at a time; begins anew with `start`.

    Args:
        make_env: Makes an environment without a reward: rollouts are scored when all of a batch have ended. Called once, and
            again after an episode was abandoned.

    Raises:
        ConfigError: If the environment has a reward of its own.

    Attributes:
        report: What the reward said of the ended episode; None before.
    """

    def __init__(self, make_env: Callable[[], WildEnv]) -> None:
        self._make_env = make_env
        self.env = make_env()
        if self.env.reward is not None:
            raise ConfigError("the environment of a TRL session must be made with reward=null: rewards are asked by the batch")
        self.report: RewardReport | None = None
        self._abandoned: Episode | None = None

    @property
    def episode(self) -> Episode:
        """The record so far."""
        return self._abandoned or self.env.episode

    @property
    def store(self) -> ImageStore:
        """Where the episode's pictures are."""
        return self.env.store

    @property
    def tools(self) -> list[dict[str, Any]]:
        """JSON schemas of the tools and the answer."""
        return self.env.tools_schema()

    @property
    def task(self) -> Task:
        """The task, with its hidden half: for rewards, never for the model."""
        return self.env.tasks.by_id(self.episode.task_id)

    @property
    def submission(self) -> Submission | None:
        """What was answered."""
        return self.env.submission

    @property
    def ended(self) -> bool:
        """Whether the episode has ended."""
        return self._abandoned is not None or self.env.ended

    def start(self, task_id: str, seed: int = 0, system_prompt: str | None = None, policy: str = "trl") -> str:
        """Starts an episode.

        Returns:
            The user's message.

        Raises:
            ConfigError: If there is no such task.
        """
        self.report = None
        if self._abandoned is not None:
            self.env, self._abandoned = self._make_env(), None
        observation, _ = self.env.reset(seed=seed, options={"task_id": task_id, "system_prompt": system_prompt, "policy": policy})
        return observation["text"]

    def say(self, action: str | dict[str, Any]) -> list[Message]:
        """Plays one assistant turn and returns the messages that reply to it, in canonical form.

        Raises:
            UsageError: If the episode has ended.
        """
        # By name: an abandoned step may end after another episode has begun.
        env = self.env
        before = len(env.episode.messages)
        env.step(action)
        return [message for message in env.episode.messages[before:] if message["role"] != "assistant"]

    def blocks(self, messages: list[Message]) -> list[Block]:
        """Returns the blocks of messages as TRL takes them from a tool: texts, and pictures as PIL images."""
        return [
            {"type": "image", "image": self.store.get(block["digest"])} if block["type"] == "image" else dict(block)
            for message in messages
            for block in message["content"]
        ]

    def abandon(self, failure: str) -> None:
        """Ends the episode at its deadline, though a thread may still be in one of its tools: the environment is left to it."""
        self._abandoned = self.env.episode.failed("deadline", failure)

    def settle(self, report: RewardReport) -> None:
        """Scores the ended episode."""
        self.report = report
        self.env.settle(report)
