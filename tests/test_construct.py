from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

import pytest

from wildenv.construct import construct
from wildenv.errors import ConfigError


@dataclass
class Lamp:
    count: int
    watts: float = 5.0
    lit: bool = False
    colour: str | None = None
    since: date | None = None
    parts: list[str] | None = None
    key: str = "hidden"


def lamp(given: Any) -> Any:
    return construct(Lamp, "lamp", given, hidden=("key",))


def test_settings_become_an_object() -> None:
    assert lamp({"count": 1, "watts": 3, "since": "2026-07-04", "parts": "as it is"}) == Lamp(
        1, 3, since=date(2026, 7, 4), parts="as it is"
    )
    assert construct(Lamp, "lamp", {"count": 2, "since": None}) == Lamp(2)
    assert construct(dict, "any", None) == {}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"count": 1, "wats": 3}, "lamp.wats is no setting; there are lamp.count, lamp.watts, lamp.lit, lamp.colour, lamp.since"),
        ({"count": 1, "key": "x"}, "lamp.key is no setting"),
        ({}, "lamp.count is missing; set it"),
        ({"count": "many"}, "lamp.count='many' must be a whole number"),
        ({"count": True}, "lamp.count=True must be a whole number"),
        ({"count": 1.5}, "lamp.count=1.5 must be a whole number"),
        ({"count": 1, "watts": "much"}, "lamp.watts='much' must be a number"),
        ({"count": 1, "watts": None}, "lamp.watts=None must be a number"),
        ({"count": 1, "lit": "yes"}, "lamp.lit='yes' must be true or false"),
        ({"count": 1, "colour": 3}, "lamp.colour=3 must be text or null"),
        ({"count": 1, "since": "20260704"}, "lamp.since='20260704' is no date; write YYYY-MM-DD"),
        ({"count": 1, "since": "2026-02-30"}, "lamp.since='2026-02-30' is no date; write YYYY-MM-DD"),
        ({"count": 1, "since": 3}, "lamp.since=3 must be a date, YYYY-MM-DD or null"),
        (5, "lamp=5 must be a group of settings, lamp.NAME"),
        ([1], "lamp=[1] must be a group of settings, lamp.NAME"),
    ],
)
def test_a_wrong_setting_is_named_and_what_would_be_right(given: Any, says: str) -> None:
    with pytest.raises(ConfigError) as told:
        lamp(given)
    assert str(told.value).startswith(says)


def test_what_the_maker_raises_is_passed_on() -> None:
    def broken(count: int = 0) -> None:
        raise TypeError("a fault of its own")

    with pytest.raises(TypeError, match="a fault of its own"):
        construct(broken, "lamp", {"count": 1})
