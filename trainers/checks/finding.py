"""What a check finds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    WARNING = "warning"
    """The run may go on, and may do something else than is expected."""
    REFUSED = "refused"
    """The run would fail late, or train wrongly without a word."""
    NOT_APPLICABLE = "not applicable"
    NOT_CHECKED = "not checked"
    """It cannot be known here; nothing is said about it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check.

    Attributes:
        check: What was looked at.
        status: How it ended.
        reason: One sentence; of a refusal, with the setting to change.
    """

    check: str
    status: Status
    reason: str


class Unknown(Exception):
    """Something that a check needs cannot be known here; the message says why."""


class Spared(Exception):
    """The check does not apply to this run; the message says why."""
