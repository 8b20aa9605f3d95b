from __future__ import annotations

import asyncio

import pytest

from tests.fakes import tasks
from tests.rewards.fakes_reward import submission
from wildenv.errors import ConfigError
from wildenv.rewards.cost import CostComponent
from wildenv.rewards.format import FormatComponent

TASK = tasks()[0]


@pytest.mark.parametrize(("turns", "unreadable", "share"), [(4, 0, 1.0), (4, 1, 0.75), (2, 2, 0.0)])
def test_format_is_the_share_of_readable_turns(turns: int, unreadable: int, share: float) -> None:
    assert asyncio.run(FormatComponent().score(TASK, submission(turns=turns, unreadable=unreadable))).value == share


@pytest.mark.parametrize(("used", "share"), [(0, 1.0), (2, 0.75), (8, 0.0), (9, 0.0)])
def test_cost_is_the_unused_share_of_calls(used: int, share: float) -> None:
    assert asyncio.run(CostComponent(8).score(TASK, submission(tool_calls=used))).value == share


def test_without_counts_they_are_unscored() -> None:
    assert asyncio.run(FormatComponent().score(TASK, submission())).value is None
    assert asyncio.run(CostComponent(8).score(TASK, submission())).value is None


def test_cost_needs_a_budget() -> None:
    with pytest.raises(ConfigError, match=r"env\.limits\.tool_calls=0"):
        CostComponent(0)
