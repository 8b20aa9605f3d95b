"""Batches, groups and tasks."""

from __future__ import annotations

import pytest

from tests.trainers.preflight.conftest import Check
from trainers.checks.finding import Status


def test_the_defaults_come_out_even(check: Check) -> None:
    assert "2 passes of 6 x 1 ranks" in check("batch").reason
    assert check("batch", kind="sft").status is Status.PASSED
    assert "6 passes of 1 x 8 ranks" in check("batch", "experiment=gen_searcher", "scale=cluster_grpo").reason


@pytest.mark.parametrize(
    ("kind", "overrides", "settings"),
    [
        ("grpo", ("trainer.micro_batch=5",), ("trainer.group x trainer.prompts = 6 x 2", "trainer.micro_batch=5")),
        ("grpo", ("launch.processes=4",), ("launch.processes", "4 ranks")),
        ("sft", ("trainer.effective_batch=3",), ("trainer.effective_batch = 3", "trainer.micro_batch=2")),
    ],
)
def test_an_uneven_batch_is_refused(check: Check, kind: str, overrides: tuple[str, ...], settings: tuple[str, ...]) -> None:
    found = check("batch", *overrides, kind=kind)
    assert found.status is Status.REFUSED
    assert all(setting in found.reason for setting in settings)


def test_a_launcher_decides_the_ranks(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "5")
    assert "5 ranks" in check("batch").reason


def test_groups(check: Check) -> None:
    assert check("group").status is Status.PASSED
    assert check("group", kind="sft").status is Status.NOT_APPLICABLE
    found = check("group", "trainer.min_valid=7")
    assert found.status is Status.REFUSED
    assert "lower trainer.min_valid" in found.reason


def test_tasks_for_an_update(check: Check) -> None:
    assert check("tasks", "limit=2").status is Status.PASSED
    found = check("tasks", "limit=1")
    assert found.status is Status.REFUSED
    assert "trainer.prompts=2" in found.reason
    assert "limit" in found.reason


@pytest.mark.parametrize(("kind", "setting"), [("grpo", "tasks"), ("sft", "collect.tasks")])
def test_tasks_that_are_not_there_are_refused(check: Check, kind: str, setting: str) -> None:
    found = check("tasks", f"{setting}=nowhere", kind=kind)
    assert found.status is Status.REFUSED
    assert "tasks='nowhere'" in found.reason
    assert check("tasks", "data.path=rows", kind="sft").status is Status.NOT_APPLICABLE
