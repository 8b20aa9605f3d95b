"""What a web client gives to tools: results the agent may see, with the cutoff's decisions about all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

from wildenv.web.cutoff import Decision
from wildenv.web.results import Page, Result


@dataclass(frozen=True, slots=True)
class Found(Generic[Result]):
    """What a search found.

    Attributes:
        results: Hits the agent may see, best first.
        decisions: One for every hit of the provider's answer, in its order.
        cached: True if the provider was not asked for this call. Depends on timing: keep it out of what is compared exactly.
    """

    results: tuple[Result, ...]
    decisions: tuple[Decision, ...]
    cached: bool


@dataclass(frozen=True, slots=True)
class Fetched:
    """A page the agent may see; `decisions` holds the one about it, `cached` is as in `Found`."""

    page: Page
    decisions: tuple[Decision, ...]
    cached: bool
