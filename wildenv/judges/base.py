"""What a judge is given and what it returns.

A judge that cannot decide returns an *unscored* verdict. Unscored is not zero: it leaves the denominator of every mean and
makes the reward of an episode invalid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

from PIL import Image

from wildenv.images import Box, ImageStore
from wildenv.task import Task


@dataclass(frozen=True, slots=True)
class Reference:
    """A picture the agent hands to the generator.

    Attributes:
        id: Its id in the episode.
        digest: The pixels that are handed on, before the pixel policy.
        root: Digest of the downloaded picture it is, or was cropped from.
        url: Where that picture was downloaded from.
        box: The part of `root` it shows, in 0..1000.
    """

    id: str
    digest: str
    root: str
    url: str
    box: Box = (0, 0, 1000, 1000)


@dataclass(frozen=True, slots=True)
class Drawn:
    """The picture a generator made of an answer.

    Attributes:
        digest: Of its pixels.
        generator: Id of the generator.
        seed: It was asked for with.
    """

    digest: str
    generator: str
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON values."""
        return {"digest": self.digest, "generator": self.generator, "seed": self.seed}


@dataclass(frozen=True, slots=True)
class Submission:
    """What an episode answered.

    Attributes:
        prompt: The refined prompt.
        references: In the order they are handed on.
        store: Where pixels are.
        usage: What the episode spent, `wildenv.budget.Budget.usage`.
        drawn: What a generator made of it; None before, or if nothing asks for it.
    """

    prompt: str
    references: tuple[Reference, ...]
    store: ImageStore
    usage: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    drawn: Drawn | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judge's decision.

    Attributes:
        judge: Id of the judge.
        value: 0..1, or None for unscored.
        reason: One sentence.
        parts: What the value is made of, by name, each 0..1 or None for unscored; empty if it is all of one piece.
        evidence: JSON values the decision rests on; may name hidden things, so it never goes to the agent. Digests of pictures
            under ``ground_truth`` are kept beside the episode.
        usage: Tokens, calls and cost, where there are any.
    """

    judge: str
    value: float | None
    reason: str
    evidence: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    usage: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    parts: Mapping[str, float | None] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def unscored(self) -> bool:
        """Whether the judge could not decide."""
        return self.value is None

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON values."""
        return {
            "judge": self.judge,
            "value": self.value,
            "reason": self.reason,
            "evidence": dict(self.evidence),
            "usage": dict(self.usage),
            "parts": dict(self.parts),
        }


class Truth(Protocol):
    """Whoever holds the ground truth of tasks."""

    def pictures(self, task: Task) -> list[Image.Image]:
        """Returns the pictures that show the target; raises `DataError` if there are none."""
        ...


@runtime_checkable
class Judge(Protocol):
    """Judges what an episode answered.

    Attributes:
        id: Names the judge and the version of its rules; verdicts are kept under it.
    """

    id: str

    async def judge(self, task: Task, submission: Submission) -> Verdict:
        """Returns a verdict, an unscored one if it cannot decide; raises nothing for a failure of its own service."""
        ...
