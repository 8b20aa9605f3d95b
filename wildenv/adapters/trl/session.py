"""One rollout behind the tools: an environment without a reward, played by a trainer and scored with its batch."""

from __future__ import annotations

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
        env: An environment nobody else is using, without a reward: rollouts are scored when all of a batch have ended.

    Raises:
        ConfigError: If the environment has a reward of its own.

    Attributes:
        report: What the reward said of the ended episode; None before.
    """

    def __init__(self, env: WildEnv) -> None:
        if env.reward is not None:
            raise ConfigError("the environment of a TRL session must be made with reward=null: rewards are asked by the batch")
        self.env = env
        self.report: RewardReport | None = None
        self._heard = 0

    @property
    def episode(self) -> Episode:
        """The record so far."""
        return self.env.episode

    @property
    def store(self) -> ImageStore:
        """Where the episode's pictures are."""
        return self.env.store

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
        return self.env.ended

    def start(self, task_id: str, seed: int = 0, system_prompt: str | None = None, policy: str = "trl") -> str:
        """Starts an episode.

        Returns:
            The user's message.

        Raises:
            ConfigError: If there is no such task.
        """
        self.report = None
        observation, _ = self.env.reset(seed=seed, options={"task_id": task_id, "system_prompt": system_prompt, "policy": policy})
        self._heard = len(self.episode.messages)
        return observation["text"]

    def say(self, action: str | dict[str, Any]) -> list[Message]:
        """Plays one assistant turn and returns the messages that reply to it, in canonical form.

        Raises:
            UsageError: If the episode has ended.
        """
        self.env.step(action)
        said = self.episode.messages[self._heard :]
        self._heard = len(self.episode.messages)
        return [message for message in said if message["role"] != "assistant"]

    def blocks(self, messages: list[Message]) -> list[Block]:
        """Returns the blocks of messages as TRL takes them from a tool: texts, and pictures as PIL images."""
        return [
            {"type": "image", "image": self.store.get(block["digest"])} if block["type"] == "image" else dict(block)
            for message in messages
            for block in message["content"]
        ]

    def settle(self, report: RewardReport) -> None:
        """Scores the ended episode."""
        self.report = report
        self.env.settle(report)
