"""The date cutoff: what the agent may see of what a provider returned, and why.

A result whose date is certainly after the cutoff is removed; one dated on the cutoff day is kept; one without a readable or
unambiguous date is kept or dropped as `env.undated` says. The cutoff trusts the dates it is given: it cannot know that a page was
edited after its date, or that an undated page is new.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, Protocol, TypeVar, get_args

from wildenv.errors import ConfigError, ToolError
from wildenv.web.dates import parse_published, published_span

__all__ = ["Decision", "PageWithheld", "Undated", "apply_cutoff", "check_undated", "parse_published"]

Undated = Literal["keep", "drop"]


class _Dated(Protocol):
    @property
    def url(self) -> str: ...

    @property
    def published(self) -> str | None: ...


Item = TypeVar("Item", bound=_Dated)


@dataclass(frozen=True, slots=True)
class Decision:
    """What the cutoff did with one result. Recorded in the episode, never shown to the agent.

    Attributes:
        url: Address of the result.
        published: The day it was published; None if that is unknown or ambiguous.
        kept: Whether the agent may see it.
        reason: Why, for a reader.
    """

    url: str
    published: date | None
    kept: bool
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON values."""
        published = None if self.published is None else self.published.isoformat()
        return {"url": self.url, "published": published, "kept": self.kept, "reason": self.reason}

    @classmethod
    def from_dict(cls, row: dict[str, Any]) -> Decision:
        """Reads `to_dict` back."""
        published = row["published"]
        return cls(**{**row, "published": None if published is None else date.fromisoformat(published)})


class PageWithheld(ToolError):
    """A page exists but the cutoff hides it. The message is for the agent and says no more than that it gets no page.

    Attributes:
        decision: Why; for the episode, not for the agent.
    """

    def __init__(self, decision: Decision) -> None:
        super().__init__(f"the page {decision.url} is not available")
        self.decision = decision

    def __reduce__(self) -> tuple[type[PageWithheld], tuple[Decision]]:
        return type(self), (self.decision,)


def check_undated(value: str) -> Undated:
    """Returns the value if it is one of the valid ones.

    Raises:
        ConfigError: If it is not.
    """
    for valid in get_args(Undated):
        if value == valid:
            return valid  # type: ignore[no-any-return]
    raise ConfigError(f"env.undated={value!r} is not one of {', '.join(get_args(Undated))}")


def apply_cutoff(
    results: Sequence[Item], cutoff: date | None, undated: str = "keep", reference: date | None = None
) -> tuple[list[Item], list[Decision]]:
    """Removes what was published after the cutoff.

    Args:
        results: In rank order.
        cutoff: Last visible day; None hides nothing.
        undated: ``keep`` (the paper's choice) or ``drop`` results whose date is unknown or ambiguous.
        reference: When the results were obtained, for dates such as "2 days ago".

    Returns:
        What is kept, in the same order, and one decision for every result.

    Raises:
        ConfigError: If `undated` is neither value.
    """
    rule = check_undated(undated)
    decisions = [_decide(item, cutoff, rule, reference) for item in results]
    kept = [item for item, decision in zip(results, decisions, strict=True) if decision.kept]
    return kept, decisions


def _decide(item: _Dated, cutoff: date | None, undated: Undated, reference: date | None) -> Decision:
    span = published_span(item.published, reference)
    day = None if span is None or span[0] != span[1] else span[0]
    if cutoff is None:
        return Decision(item.url, day, True, "no cutoff is set")
    if day is not None:
        kept = day <= cutoff
        return Decision(item.url, day, kept, f"published {day}, {'not after' if kept else 'after'} the cutoff {cutoff}")
    said = repr((item.published or "")[:60])
    if span is not None and span[0] > cutoff:
        return Decision(item.url, None, False, f"{said} is ambiguous, but after the cutoff {cutoff} in every reading")
    what = f"{said} is ambiguous" if span else f"{said} is not a readable date" if item.published else "no date"
    kept = undated == "keep"
    return Decision(item.url, None, kept, f"{what}: {'kept' if kept else 'dropped'} because env.undated={undated}")
