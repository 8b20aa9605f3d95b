from __future__ import annotations

import time

import pytest

from wildenv.errors import DeadlineExceeded
from wildenv.web.deadline import overdue, remaining, tool_deadline


def test_without_a_deadline_all_of_it_may_be_waited() -> None:
    assert remaining(7.5) == 7.5
    assert not overdue()
    with tool_deadline(None):
        assert remaining(7.5) == 7.5


def test_the_earlier_of_two_deadlines_holds() -> None:
    with tool_deadline(1.0):
        with tool_deadline(60.0):
            assert 0.5 < remaining(10.0) <= 1.0
        with tool_deadline(0.2):
            assert remaining(10.0) <= 0.2
        assert remaining(10.0) > 0.5
    assert remaining(10.0) == 10.0


def test_a_passed_deadline_is_named() -> None:
    with tool_deadline(0.01):
        time.sleep(0.02)
        assert overdue()
        with pytest.raises(DeadlineExceeded, match=r"longer than 0\.01 s; raise env\.tool_deadline_s"):
            remaining(1.0)
