"""Room for what a run writes, and something to go on from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.trainers.preflight.conftest import Check, Make
from trainers.checks import disk
from trainers.checks.finding import Status


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Bytes that are free."""
    left = {"bytes": 1e12}
    monkeypatch.setattr(disk, "free_bytes", lambda place: left["bytes"])
    return left


def test_a_run_that_fits_passes_and_one_that_does_not_is_refused(check: Check, free: dict[str, float]) -> None:
    assert check("disk space").status is Status.PASSED
    free["bytes"] = 50e6
    for kind in ("grpo", "sft"):
        found = check("disk space", kind=kind)
        assert found.status is Status.REFUSED
        assert "hydra.run.dir" in found.reason
    assert "trainer.keep_rollouts" in check("disk space").reason


def test_each_part_counts(make: Make) -> None:
    def weight(*overrides: str, kind: str = "sft") -> int:
        subject = make(*overrides, kind=kind)
        weights = subject.parameters * 4
        return disk._checkpoint(subject, weights) // weights

    assert weight() == 3
    # Adapters and their states alone.
    assert weight("trainer.peft=lora", "trainer.lora.r=4") < 1
    # Of each weight twice 4 bytes, and 12 more for its copy and its states.
    assert weight("deepspeed=zero2") == 5
    few, many = make("trainer.keep_rollouts=1"), make("trainer.keep_rollouts=4")
    assert disk._rollouts(many) == 4 * disk._rollouts(few)
    assert disk._rollouts(make("trainer.max_steps=-1", "trainer.epochs=2")) > disk._rollouts(make("trainer.max_steps=1"))


def test_a_checkpoint_to_go_on_from_must_be_there(check: Check, tmp_path: Path) -> None:
    assert check("resume").status is Status.NOT_APPLICABLE
    found = check("resume", f"trainer.resume={tmp_path}")
    assert found.status is Status.REFUSED
    assert "trainer.resume" in found.reason
    (tmp_path / "trainer_state.json").write_text("{}", encoding="utf-8")
    assert check("resume", f"trainer.resume={tmp_path}").status is Status.PASSED
