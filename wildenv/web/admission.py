"""What may enter a store: answers, and emptiness that was confirmed. Errors never.

An empty answer (no hits, a page without text, a thing that is not there) is often a service having a bad moment, so it is asked
for a second time and stored only if the second answer is empty in the same way. This module cannot tell a service that is
wrong twice from one that is right.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Answer:
    """What a provider said, in the form it is stored in.

    Attributes:
        response: JSON values: ``{"results": [...]}``, ``{"page": {...}}``, ``{"blob": digest, ...}``, or ``{"absent": why}`` for
            something that the provider says does not exist.
        blob: The bytes that ``response["blob"]`` names.
        media_type: Of the blob.
    """

    response: Mapping[str, Any]
    blob: bytes | None = None
    media_type: str = ""

    @property
    def emptiness(self) -> str | None:
        """How it is empty; None if it is not."""
        if "absent" in self.response:
            return "absent"
        if self.response.get("results") == []:
            return "no results"
        page = self.response.get("page")
        return "no text" if page is not None and not page["text"].strip() else None


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of the answers so far.

    Attributes:
        admitted: Answers that were not empty.
        confirmed: Empty answers that a second asking confirmed.
        revised: Empty answers that a second asking turned into something else.
        refused: Empty answers that were not stored, because the second asking was empty in another way.
    """

    admitted: int = 0
    confirmed: int = 0
    revised: int = 0
    refused: int = 0


class Admission:
    """Asks, asks again where an answer is empty, and decides what may be stored. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts = dict.fromkeys(Counts.__slots__, 0)

    @property
    def counts(self) -> Counts:
        """The counts so far."""
        with self._lock:
            return Counts(**self._counts)

    def obtain(self, ask: Callable[[], Answer]) -> tuple[Answer, bool]:
        """Asks once or twice.

        Returns:
            The answer, and whether it may be stored; one that may not be is no answer to act on either.

        Raises:
            Exception: Whatever an asking raises. Emptiness that could not be confirmed is a failure, not an answer.
        """
        first = ask()
        if first.emptiness is None:
            return self._rule("admitted", first)
        second = ask()
        if second.emptiness is None:
            return self._rule("revised", second)
        return self._rule("confirmed" if second.emptiness == first.emptiness else "refused", first)

    def _rule(self, count: str, answer: Answer) -> tuple[Answer, bool]:
        with self._lock:
            self._counts[count] += 1
        return answer, count != "refused"
