from __future__ import annotations

from typing import Any

import pytest

from wildenv.budget import Budget, Limits
from wildenv.errors import ConfigError
from wildenv.images import PixelPolicy


@pytest.mark.parametrize(
    "wrong",
    [
        {"tool_calls": 0},
        {"images": -1},
        {"spare_turns": -1},
        {"tokens": 0},
        {"chars_per_result": "many"},
        {"references": 2.5},
        {"images_per_search": True},
    ],
)
def test_a_limit_that_makes_no_sense_is_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=rf"env\.limits\.{next(iter(wrong))}"):
        Limits(**wrong)


def test_the_paper_s_limits_are_the_defaults() -> None:
    assert (Limits().tool_calls, Limits().images_per_search, Limits().references) == (8, 5, 5)
    assert Limits(spare_turns=0).spare_turns == 0


def test_what_was_spent_is_counted() -> None:
    budget = Budget(Limits(tool_calls=3, spare_turns=1, images=4), PixelPolicy())
    budget.tool_calls, budget.turns = 2, 2
    budget.spend_text("a" * 400)
    budget.spend_image(112, 56)
    assert (budget.calls_left, budget.turns_left, budget.images_left) == (1, 3, 3)
    assert budget.tokens == 100 + 8
    assert budget.usage() == {
        "tool_calls": 2,
        "turns": 2,
        "unreadable": 0,
        "images": 1,
        "pixels": 6272,
        "chars": 400,
        "tokens": 108,
    }


def test_a_cut_is_announced() -> None:
    budget = Budget(Limits(chars_per_result=10), PixelPolicy())
    assert budget.cut("a" * 10, "ask less") == ("a" * 10, 0)
    assert budget.cut("a" * 25, "ask less") == ("a" * 10 + "\n[cut: 15 more characters; ask less]", 15)
