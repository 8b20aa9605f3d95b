"""What a roll says and leaves of what it asked the web for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agents.roll import roll, web_line
from wildenv.errors import ConfigError, InfrastructureError

SETTINGS: dict[str, Any] = {"tasks": "miniweb:test", "limit": 3, "concurrency": 1, "deadline_s": 60, "max_failed": None}


def report(mode: str, **failures: dict[str, int]) -> dict[str, object]:
    return {"mode": mode, "usage": {"fetch_page": {"calls": 2, "hits": 1}}, "failures": failures, "services": {}}


def test_gaps_are_told_with_the_setting_that_closes_them() -> None:
    line = web_line(report("record", fetch_page={"gap": 2, "timeout": 1}))
    assert "not had: 2 gap, 1 timeout; web.retry_gaps=true asks again" in line
    assert "web.mode=record web.retry_gaps=true" in web_line(report("replay", fetch_image={"gap": 1}))
    assert "retry_gaps" not in web_line(report("record", fetch_page={"timeout": 1}))


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("limit", True, "limit=True must be a whole number of at least 1; null is all tasks"),
        ("concurrency", "abc", "concurrency='abc' must be a whole number of at least 1"),
        ("concurrency", None, "concurrency=None must be a whole number of at least 1"),
        ("deadline_s", "abc", "deadline_s='abc' must be a number above 0; null is no limit"),
        ("deadline_s", float("nan"), "deadline_s=nan must be a number above 0"),
        ("max_failed", "abc", "max_failed='abc' must be a number from 0 to 1; null is never to stop"),
        ("max_failed", 50, "max_failed=50 must be a number from 0 to 1"),
    ],
)
def test_a_setting_of_the_wrong_type_is_told_before_anything_is_written(tmp_path: Path, name: str, value: Any, says: str) -> None:
    agent = {"_target_": "agents.baselines.direct_search.DirectSearch", "name": "direct_search"}
    with pytest.raises(ConfigError, match=says):
        roll(agent, {"web": "miniweb"}, {**SETTINGS, name: value}, tmp_path / "new", 0)
    assert not (tmp_path / "new").exists()


def test_a_roll_that_ends_with_an_error_leaves_its_line_on_the_web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def stopped(make_env: Any, *_: Any, **__: Any) -> None:
        make_env().web.text_search("kit", 3, None)
        raise InfrastructureError("too many episodes failed")

    monkeypatch.setattr("agents.executors.local.rollout", stopped)
    agent = {"_target_": "agents.baselines.direct_search.DirectSearch", "name": "direct_search"}
    with pytest.raises(InfrastructureError, match="too many"):
        roll(agent, {"web": "miniweb", "world": {"events": 60}}, SETTINGS, tmp_path, 0)
    (line,) = (tmp_path / "web.jsonl").read_text(encoding="utf-8").splitlines()
    assert sum(usage["calls"] for usage in json.loads(line)["usage"].values()) == 1
