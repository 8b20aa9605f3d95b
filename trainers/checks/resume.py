"""Whether there is something to go on from."""

from __future__ import annotations

from collections.abc import Iterator

from trainers.checks.finding import Finding, Spared, Status
from trainers.checks.subject import Subject


def resume(subject: Subject) -> Iterator[Finding]:
    """Whether the checkpoint to go on from is there and whole."""
    asked = subject.trainer["resume"]
    if asked is None:
        raise Spared("trainer.resume is null")
    # Brings TRL along.
    from trainers.arguments import last_checkpoint

    yield Finding("resume", Status.PASSED, f"goes on from {last_checkpoint(asked)}")
