"""Lengths, counted in tokens of the model's own tokenizer."""

from __future__ import annotations

import re

from tests.trainers.preflight.conftest import Check, Make
from trainers.checks.all import run_check
from trainers.checks.finding import Status


def test_the_defaults_fit(check: Check) -> None:
    for kind in ("grpo", "sft"):
        for name in ("length", "budget of the environment", "positions"):
            assert check(name, kind=kind).status is Status.PASSED


def test_a_length_without_room_for_a_search_is_refused(check: Check) -> None:
    found = check("length", "trainer.max_length=900")
    assert found.status is Status.REFUSED
    for setting in ("trainer.max_length=900", "rollout.max_new_tokens", "env.limits.chars_per_result", "images_per_search"):
        assert setting in found.reason


def test_each_part_counts(check: Check) -> None:
    def least(*overrides: str) -> int:
        found = re.search(r"about (\d+) tokens", check("length", "trainer.max_length=1", *overrides).reason)
        assert found is not None
        return int(found[1])

    base = least()
    assert least("rollout.max_new_tokens=260") == base + 2 * 100
    # A 224x224 picture of the default policy is shown as 112x112: sixteen cells of 28x28.
    assert least("env.limits.images_per_search=7") == base + 2 * 16
    assert least("env.limits.chars_per_result=8000") > base + 500
    assert least("system_prompt=" + "word" * 100) != base


def test_supervised_turns_take_no_room_of_their_own(check: Check) -> None:
    found = check("length", "trainer.max_length=900", kind="sft")
    assert found.status is Status.REFUSED
    assert "rollout" not in found.reason


def test_rows_that_are_there_are_fitted_later(check: Check) -> None:
    assert check("length", "data.path=somewhere", kind="sft").status is Status.NOT_APPLICABLE
    assert check("length", "data=jsonl", "data.path=rows.jsonl", kind="sft").status is Status.NOT_APPLICABLE


def test_an_environment_that_ends_at_its_first_reply_is_refused(check: Check) -> None:
    found = check("budget of the environment", "env.limits.tokens=600")
    assert found.status is Status.REFUSED
    assert "env.limits.tokens=600" in found.reason


def test_more_tokens_than_positions_are_refused(check: Check) -> None:
    found = check("positions", "trainer.max_length=40000")
    assert found.status is Status.REFUSED
    assert "32768 positions" in found.reason
    assert "lower trainer.max_length" in found.reason


def test_without_tasks_the_length_is_not_checked(make: Make) -> None:
    subject = make("tasks=nowhere")
    (found,) = run_check("length", subject)
    assert found.status is Status.NOT_CHECKED
    assert "tasks" in found.reason
