"""What a judge is given and what it returns.

A judge that cannot decide returns an *unscored* verdict. Unscored is not zero: it leaves the denominator of every mean and
makes the reward of an episode invalid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

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
class Submission:
    """What an episode answered: the refined prompt, the references, and where their pixels are."""

    prompt: str
    references: tuple[Reference, ...]
    store: ImageStore


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judge's decision.

    Attributes:
        judge: Id of the judge.
        value: 0..1, or None for unscored.
        reason: One sentence.
        evidence: JSON values the decision rests on; may name hidden things, so it never goes to the agent.
        usage: Tokens, calls and cost, where there are any.
    """

    judge: str
    value: float | None
    reason: str
    evidence: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    usage: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))

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
        }


@runtime_checkable
class SearchJudge(Protocol):
    """Decides whether the references let a generator draw the target (Savanna, appendix D.1)."""

    id: str

    async def judge(self, task: Task, submission: Submission) -> Verdict:
        """Returns 1 for pass, 0 for fail, or an unscored verdict; raises nothing for a failure of its own service."""
        ...
