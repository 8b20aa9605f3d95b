"""What a model was asked and what that cost.

Tokens are counted as the endpoint reports them; a reply without a report is counted as unmetered, not as free. Money is tokens
times the prices that are set: it is only as right as they are, and knows no discounts but the one for cached prompts.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from wildenv.errors import ConfigError
from wildenv.web.net.fields import count


@dataclass(frozen=True, slots=True)
class Usage:
    """What one or many replies took.

    Attributes:
        calls: Replies that the endpoint gave, also those that could not be used.
        cached: Replies that came from the store, or from a concurrent identical request; they cost nothing.
        prompt_tokens: Tokens read.
        cached_prompt_tokens: Those of them that the endpoint had read before.
        completion_tokens: Tokens written, reasoning included.
        unmetered: Replies that said nothing about their tokens.
        cost: Money at the prices set; 0 where no prices are.
    """

    calls: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    cached_prompt_tokens: int = 0
    completion_tokens: int = 0
    unmetered: int = 0
    cost: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))

    def counts(self) -> dict[str, int]:
        """Returns everything but the cost, which depends on prices, as JSON values."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "cost"}

    def to_dict(self) -> dict[str, int | float]:
        """Returns JSON values."""
        return {**self.counts(), "cost": self.cost}

    @classmethod
    def of_reply(cls, reported: Any) -> Usage:
        """Reads the ``usage`` of a reply; what is missing or of another form counts as unmetered."""
        row = reported if isinstance(reported, Mapping) else {}
        prompt, completion = count(row.get("prompt_tokens")), count(row.get("completion_tokens"))
        if prompt is None or completion is None:
            return cls(calls=1, unmetered=1)
        details = row.get("prompt_tokens_details")
        known = count(details.get("cached_tokens")) if isinstance(details, Mapping) else None
        return cls(1, 0, prompt, min(known or 0, prompt), completion)


@dataclass(frozen=True, slots=True)
class Prices:
    """Money per million tokens, in whatever currency.

    Attributes:
        prompt: For tokens read.
        completion: For tokens written.
        cached_prompt: For tokens read that the endpoint had read before; as `prompt` if None.
    """

    prompt: float = 0.0
    completion: float = 0.0
    cached_prompt: float | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and not 0 <= value < math.inf:
                raise ConfigError(f"{field.name}={value} must be 0 or a positive price per million tokens")

    def priced(self, usage: Usage) -> Usage:
        """Returns the usage with its cost."""
        cached = self.prompt if self.cached_prompt is None else self.cached_prompt
        fresh = usage.prompt_tokens - usage.cached_prompt_tokens
        cost = fresh * self.prompt + usage.cached_prompt_tokens * cached + usage.completion_tokens * self.completion
        return replace(usage, cost=cost / 1_000_000)


class Meter:
    """A sum of usages. Safe for threads; the order of adding changes nothing, since only whole numbers are added."""

    def __init__(self, prices: Prices) -> None:
        self._prices = prices
        self._lock = threading.Lock()
        self._total = Usage()

    @property
    def total(self) -> Usage:
        """The sum so far, with its cost."""
        with self._lock:
            return self._prices.priced(self._total)

    def add(self, usage: Usage) -> None:
        """Adds to the sum; a cost is not added but derived."""
        with self._lock:
            self._total += replace(usage, cost=0.0)
